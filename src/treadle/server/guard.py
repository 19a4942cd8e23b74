"""Who may talk to the server: this machine's own pages and programs, or whoever has the token.

A page of another site can reach a server on loopback through its visitor's browser. It cannot
choose the Host that a request is for (which stops names that are made to mean this machine), nor
hide its Origin.
"""

import hmac
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})


class Guard:
    """Refuses what is meant for another host, comes from another site, or lacks the token."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], token: str | None = None) -> None:
        """`hosts` are the names, without a port, by which the server may be called."""
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with what is wrong."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":  # closed before it is accepted: the client sees a 403
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[1]})
        else:
            await _answer(*refusal)(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        """Status, message and hint of what is not let in."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            return 421, f"This server is not {host or 'without a name'}.", f"Call it {known}."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, f"Requests from pages of {origin} are refused.", "Open the page from here."
        if self._token is not None and not self._knows_token(headers, scope):
            hint = "Send it as `Authorization: Bearer TOKEN`, or as `?token=TOKEN`."
            return 401, "The token is missing or wrong.", hint
        return None

    def _knows_token(self, headers: Headers, scope: Scope) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":  # a browser cannot add headers to a socket or event stream
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        assert self._token is not None
        return hmac.compare_digest(given.strip().encode(), self._token.encode())


def _name(host: str) -> str:
    """The host of a Host header without its port, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _answer(status: int, message: str, hint: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "hint": hint}}, status_code=status)
