"""The cookie with which a browser proves that its user has signed in."""

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response

from treadle.identity.sessions import SESSION_SECONDS

_NAME = "treadle_session"
_SECURE_NAME = f"__Host-{_NAME}"
"""The name of the cookie over TLS. A browser accepts a cookie with this name only over TLS."""


class SessionCookies:
    """Reads and writes the cookie. `secure` states whether browsers reach the server over TLS."""

    def __init__(self, *, secure: bool) -> None:
        self.is_secure = secure
        self._name = _SECURE_NAME if secure else _NAME

    def secret(self, headers: Headers) -> str | None:
        """Return the secret of the session in the cookies of a request, or None."""
        return cookie_parser(headers.get("cookie", "")).get(self._name) or None

    def set(self, response: Response, secret: str) -> None:
        """Send the cookie of a session to the browser."""
        response.set_cookie(
            self._name,
            secret,
            max_age=SESSION_SECONDS,
            path="/",
            secure=self.is_secure,
            httponly=True,
            samesite="strict",
        )

    def delete(self, response: Response) -> None:
        """Delete the cookie in the browser."""
        response.delete_cookie(
            self._name, path="/", secure=self.is_secure, httponly=True, samesite="strict"
        )
