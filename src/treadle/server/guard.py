"""Decides who may send requests: this user, clients with the token, and the server's own page.

A request is authenticated by the token, by the page key, or by its connection. Over loopback, the
operating system reports whether the client process belongs to the same user.

The user's browser is such a process, so a page of another site could send requests through it. That
page cannot choose the Host header, omit the Origin header or change Sec-Fetch-Site, and the guard
checks all three. The check of the Host header blocks requests to foreign DNS names that resolve to
this machine.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.identity.identity import own_identity
from treadle.server.built_page import is_of_page
from treadle.server.credentials import SUBPROTOCOL, Credentials
from treadle.server.peers import OWN_PEER
from treadle.server.request_identity import set_identity

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})

PROBES = frozenset({"/healthz", "/readyz"})
"""The addresses that load balancers request.

They call the server by an address of theirs and have no key, so the guard refuses none of these
requests. The answers to unauthenticated requests contain no data.
"""
_READING = frozenset({"GET", "HEAD"})
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?", re.ASCII)
_FORWARDED = "x-forwarded-"
_FORWARDING = frozenset({
    "forwarded", "via", "x-real-ip", "x-client-ip", "client-ip", "true-client-ip", "x-remote-addr",
    "x-cluster-client-ip", "x-original-forwarded-for", "x-original-host",
    "x-envoy-external-address",
    "cf-connecting-ip", "fastly-client-ip", "fly-client-ip", "x-azure-clientip",
})  # fmt: skip
"""Headers that proxies add. A proxy on this machine may forward requests of other users."""


class _Refusal(NamedTuple):
    status: int
    message: str
    hint: str


class Guard:
    """Refuses requests for another host or from another site, and unauthenticated requests."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], credentials: Credentials) -> None:
        """Create the middleware. `hosts` are the names of the server, without a port."""
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._credentials = credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an allowed request to the application. Answer any other request with an error."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        opens_page = scope["type"] == "http" and _opens_page(scope)
        refusal = self._foreign(headers, opens_page) or self._stranger(headers, scope, opens_page)
        if refusal is None or scope["path"] in PROBES:
            await self._app(scope, receive, _choosing(scope, send))
        elif scope["type"] == "http":
            await _answer(refusal)(scope, receive, send)
        else:
            await _refuse_socket(refusal, scope, receive, send)

    def _foreign(self, headers: Headers, opens_page: bool) -> _Refusal | None:
        """Return the error for a request to another host or from another site, or None."""
        host = headers.get("host", "")
        if _name(host) not in self._hosts or len(headers.getlist("host")) != 1:
            known = ", ".join(sorted(self._hosts))
            shown = repr(host[:200]) if host else "without a name"
            return _Refusal(421, f"This server is not {shown}.", f"Call it {known}.")
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}", f"https://{host}"}:
            shown = repr(origin[:200])
            return _Refusal(
                403,
                f"Requests from pages of {shown} are refused.",
                "Open the page from this server.",
            )
        # A browser sends no Origin with a request for an image, a script or a frame, so
        # Sec-Fetch-Site is checked as well. A link on another site may open the page.
        follows_link = opens_page and headers.get("sec-fetch-dest") == "document"
        site = headers.get("sec-fetch-site", "none")
        if site not in {"none", "same-origin"} and not follows_link:
            return _Refusal(
                403, "Requests from other pages are refused.", "Open the page from this server."
            )
        return None

    def _stranger(self, headers: Headers, scope: Scope, opens_page: bool) -> _Refusal | None:
        """Return the error for an unauthenticated request, or None.

        The files of the page are public.
        """
        proven = self._credentials.check_and_remove(scope, headers)
        if proven or _is_own_peer(scope, headers):
            set_identity(scope, own_identity())
            return None
        if opens_page:
            return None
        return _Refusal(
            401,
            "This request is not authenticated.",
            "Send the token as `Authorization: Bearer TOKEN` (the API key of OpenAI's "
            "clients): `treadle serve` prints the file that contains it. In a browser open the "
            "link that `treadle serve` prints.",
        )


def _opens_page(scope: Scope) -> bool:
    return scope["method"] in _READING and is_of_page(scope["path"])


def _is_own_peer(scope: Scope, headers: Headers) -> bool:
    """Whether a process of this user sent the request directly and not through a proxy."""
    own = scope.get("state", {}).get(OWN_PEER) is True
    return own and not any(
        name in _FORWARDING or name.startswith(_FORWARDED)
        for name in headers.keys()  # noqa: SIM118
    )


def _name(host: str) -> str | None:
    """Return the host name of a Host header in lower case, or None if the header is invalid."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else None


def _answer(refusal: _Refusal) -> JSONResponse:
    error = {"message": refusal.message, "hint": refusal.hint}
    headers = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else None
    return JSONResponse({"error": error}, status_code=refusal.status, headers=headers)


def _choosing(scope: Scope, send: Send) -> Send:
    """Wrap `send` so that it accepts the subprotocol `treadle` if the client offers it."""
    if scope["type"] != "websocket" or SUBPROTOCOL not in scope.get("subprotocols", ()):
        return send

    async def choosing(message: Message) -> None:
        if message["type"] == "websocket.accept":
            message = {**message, "subprotocol": SUBPROTOCOL}
        await send(message)

    return choosing


async def _refuse_socket(refusal: _Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a WebSocket with an HTTP error. If the server cannot send one, close the WebSocket."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.message})
        return
    answer = _answer(refusal)
    start = {"status": answer.status_code, "headers": answer.raw_headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": answer.body})
