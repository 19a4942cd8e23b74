"""Security headers. They prevent other sites from reading, framing or running the responses."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_OF_DOCUMENTS = (
    (b"cross-origin-opener-policy", b"same-origin"),
    (
        b"permissions-policy",
        b"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
)
_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""The policy for responses that are not HTML pages. With it, a browser loads and runs nothing."""


def page_policy(nonce: str) -> str:
    """Return the Content-Security-Policy of a page whose style elements have the nonce.

    The policy prevents text from traces from becoming markup. `require-trusted-types-for` makes
    every conversion of a string to markup or code an error, unless a Trusted Types policy allows
    it. `trusted-types 'none'` forbids such policies.
    """
    return "; ".join((
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' 'nonce-{nonce}'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ))  # fmt: skip


class SecurityHeaders:
    """Middleware that adds missing security headers to every HTTP response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the missing headers to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _completed(message.get("headers", ()))
            await send(message)

        await self._app(scope, receive, add)


def _completed(headers: object) -> list[tuple[bytes, bytes]]:
    given: list[tuple[bytes, bytes]] = list(headers)  # type: ignore[call-overload]  # of ASGI
    known = {name.lower(): value for name, value in given}
    required = [*_ALWAYS, _POLICY]
    if known.get(b"content-type", b"").startswith(b"text/html"):
        required += _OF_DOCUMENTS
    return [*given, *(header for header in required if header[0] not in known)]
