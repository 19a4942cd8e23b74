"""Limits the size of request bodies, and decompresses bodies within a limit."""

import zlib
from collections.abc import Callable, Iterator
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.errors import UsageError

_PIECE = 1_000_000
_READ = 64_000
"""The number of bytes that one call of zlib receives.

zlib copies the bytes that a call leaves over, so large inputs would be copied many times.
"""
_MEMBER = 1_000
"""The number of bytes that each member of a gzip body adds to the counted size.

An empty member therefore counts as well, which limits the number of members.
"""
_DRAINED = 16
"""The multiple of the size limit at which the server stops reading a body that is too large.

Up to this size it reads and discards the body, since a client that is still sending does not read a
response.
"""

_TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE

_WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
"""The `wbits` values of zlib for each encoding. `deflate` data may or may not have a header."""


class TooLargeError(UsageError):
    """A request body exceeds the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The body is larger than {limit:,} bytes.",
            hint="Send smaller requests, or raise traces.max_request.",
        )


class EncodingError(UsageError):
    """The `Content-Encoding` of a request is not supported."""


def unpack(body: bytes, encoding: str, limit: int, hold: Callable[[int], None]) -> bytes:
    """Decompress a body to at most `limit` bytes.

    The function calls `hold` with the size of every decompressed part. `hold` may raise an error to
    stop the decompression. Raises TooLargeError, EncodingError, and UsageError for invalid data. At
    any time, the memory holds at most `limit` bytes and one part.
    """
    encoding = encoding.strip().lower()
    if encoding in {"", "identity"}:
        return body
    if encoding not in _WINDOWS:
        raise EncodingError(
            f"The encoding {encoding[:40]!r} is not supported.", hint="Use gzip, deflate or none."
        )
    for window in _WINDOWS[encoding]:
        try:
            return b"".join(_inflate(body, window, limit, hold))
        except zlib.error:
            continue
    raise UsageError(f"The body is not {encoding}.", hint="Check its Content-Encoding.")


def _inflate(body: bytes, window: int, limit: int, hold: Callable[[int], None]) -> Iterator[bytes]:
    size = at = 0
    while at < len(body):  # a gzip body may have several members
        stream, rest = zlib.decompressobj(window), b""
        size += _MEMBER
        while not stream.eof:
            if not rest:
                rest, at = body[at : at + _READ], at + _READ
            given = len(rest)
            block = stream.decompress(rest, _PIECE)
            rest = stream.unconsumed_tail
            if not (given or block or stream.eof):
                raise zlib.error("it is truncated")
            hold(len(block))
            size += len(block)
            if size > limit:
                raise TooLargeError(limit)
            yield block
        at = min(at, len(body)) - len(stream.unused_data)
        if window != _WINDOWS["gzip"][0]:
            return


class BodyLimit:
    """Middleware that refuses request bodies of more than `limit` bytes.

    The size is measured before decompression. An application that reads a larger body gets a
    TooLargeError from `receive`. It may send its own response with the status 413. The middleware
    replaces any other response.
    """

    def __init__(self, app: ASGIApp, *, limit: int) -> None:
        self._app = app
        self._most = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count the bytes of its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        too_large = announced.isdecimal() and int(announced[:20]) > self._most
        body = _CountedBody(receive, send, self._most, too_large=too_large)
        try:
            await self._app(scope, body.receive, body.send)
        except TooLargeError:
            if body.answered:
                raise
        if body.refused and not body.answered:
            error = TooLargeError(self._most)
            answer = {"error": {"message": error.message, "hint": error.hint}}
            await JSONResponse(answer, status_code=_TOO_LARGE)(scope, receive, send)


class _CountedBody:
    """Wraps `receive` and `send` of one request, and enforces the limit."""

    def __init__(self, receive: Receive, send: Send, limit: int, *, too_large: bool) -> None:
        self._receive = receive
        self._send = send
        self._most = limit
        self._too_large = too_large
        self._read = 0
        self._ended = False
        self.refused = False
        self.answered = False

    async def receive(self) -> Message:
        if not self._too_large:
            message = await self._next()
            if self._read <= self._most:
                return message
        if not self.refused:
            self.refused = True
            # Discard the rest of the body, since a client that is still sending does not read a
            # response.
            while not self._ended and self._read < _DRAINED * self._most:
                await self._next()
        raise TooLargeError(self._most)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.answered = not self.refused or message["status"] == _TOO_LARGE
        if self.answered:
            await self._send(message)

    async def _next(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message
