"""Who may talk to the server: this machine's own pages and programs, or whoever has the token.

A page of another site can reach a server on loopback through its visitor's browser. It cannot
choose the Host that a request is for (which stops names that are made to mean this machine), nor
hide its Origin, nor say itself in Sec-Fetch-Site where a request comes from.
"""

from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.server.built_page import is_of_page
from treadle.server.notices import WRONG_TOKEN, notice
from treadle.server.token import Token, without_token

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})

_READING = frozenset({"GET", "HEAD"})


class Guard:
    """Refuses what is meant for another host, comes from another site, or lacks the token."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], token: str | None = None) -> None:
        """`hosts` are the names, without a port, by which the server may be called."""
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._token = None if token is None else Token(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with what is wrong."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        opens_page = scope["type"] == "http" and _opens_page(scope)
        refusal = self._foreign(headers, opens_page) or self._unknown(headers, scope, opens_page)
        if refusal is not None and scope["type"] == "websocket":
            await receive()  # closed before it is accepted: the client sees a 403
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[1]})
            return
        answer: Response | None = None
        if refusal is not None:
            answer = _answer(*refusal)
        elif opens_page and self._token is not None:
            answer = _admitted(headers, scope, self._token)
        await (answer or self._app)(scope, receive, send)

    def _foreign(self, headers: Headers, opens_page: bool) -> tuple[int, str, str] | None:
        """Status, message and hint of what is meant for another host or comes from another site."""
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            return 421, f"This server is not {host or 'without a name'}.", f"Call it {known}."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, f"Requests from pages of {origin} are refused.", "Open the page from here."
        # Requests that load images, scripts or frames have no Origin. A link may lead to the page.
        follows_link = opens_page and headers.get("sec-fetch-dest") == "document"
        site = headers.get("sec-fetch-site", "none")
        if site not in {"none", "same-origin"} and not follows_link:
            return 403, "Requests from other pages are refused.", "Open the page from here."
        return None

    def _unknown(
        self, headers: Headers, scope: Scope, opens_page: bool
    ) -> tuple[int, str, str] | None:
        """The same of what needs the token and lacks it; the page itself tells nothing."""
        if self._token is None or opens_page or self._token.is_known(headers, scope):
            return None
        hint = (
            "Send it as `Authorization: Bearer TOKEN`, or open the address with the token that "
            "`treadle serve` printed."
        )
        return 401, "The token is missing or wrong.", hint


def _opens_page(scope: Scope) -> bool:
    return scope["method"] in _READING and is_of_page(scope["path"])


def _admitted(headers: Headers, scope: Scope, token: Token) -> Response | None:
    """What turns the token in an address of the page into a cookie, and takes it from there."""
    address = without_token(scope)
    if address is None:
        return None
    if not token.is_known(headers, scope):
        return notice(WRONG_TOKEN, HTTPStatus.UNAUTHORIZED)
    admitted = RedirectResponse(address, HTTPStatus.SEE_OTHER, {"Cache-Control": "no-store"})
    admitted.set_cookie(token.cookie_name(scope), token.cookie, httponly=True, samesite="strict")
    return admitted


def _name(host: str) -> str:
    """The host of a Host header without its port, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _answer(status: int, message: str, hint: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "hint": hint}}, status_code=status)
