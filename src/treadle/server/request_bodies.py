"""Bodies of requests: how large they may be, and how compressed ones are unpacked within that."""

import zlib
from collections.abc import Callable, Iterator
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.errors import UsageError

_PIECE = 1_000_000
_READ = 64_000
"""Bytes that are handed to zlib at once: it copies what is left of them for each piece."""
_MEMBER = 1_000
"""What a member of a gzip body counts for beside its content, lest there be millions of them."""
_DRAINED = 16
"""How many times the limit is read on and thrown away, so that a client sees the answer."""

_TOO_LARGE = HTTPStatus.REQUEST_ENTITY_TOO_LARGE

_WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
"""How zlib is to read each encoding; `deflate` comes with and without a header."""


class TooLargeError(UsageError):
    """A body is larger than it may be."""

    def __init__(self, most: int) -> None:
        super().__init__(f"The body is larger than {most:,} bytes.", hint="Send smaller requests.")


class EncodingError(UsageError):
    """A body has a `Content-Encoding` that is not understood."""


def unpack(body: bytes, encoding: str, most: int, hold: Callable[[int], None]) -> bytes:
    """The body without its `Content-Encoding`, of at most `most` bytes.

    `hold` is told of every piece, and may refuse it by raising. Raises TooLargeError,
    EncodingError, and UsageError for what is not so encoded; there is never more of it than
    `most` and one piece.
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
            return b"".join(_inflate(body, window, most, hold))
        except zlib.error:
            continue
    raise UsageError(f"The body is not {encoding}.", hint="Check its Content-Encoding.")


def _inflate(body: bytes, window: int, most: int, hold: Callable[[int], None]) -> Iterator[bytes]:
    size = at = 0
    while at < len(body):  # gzip may have several members
        stream, rest = zlib.decompressobj(window), b""
        size += _MEMBER
        while not stream.eof:
            if not rest:
                rest, at = body[at : at + _READ], at + _READ
            given = len(rest)
            piece = stream.decompress(rest, _PIECE)
            rest = stream.unconsumed_tail
            if not (given or piece or stream.eof):
                raise zlib.error("it is truncated")
            hold(len(piece))
            size += len(piece)
            if size > most:
                raise TooLargeError(most)
            yield piece
        at = min(at, len(body)) - len(stream.unused_data)
        if window != _WINDOWS["gzip"][0]:
            return


class BodyLimit:
    """Refuses requests with more than `most` bytes in their body, as they come over the wire.

    Who reads such a body gets a TooLargeError, and may answer 413 in a form of its own; any other
    answer is replaced by one.
    """

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting what is read of its body."""
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
    """The two ends of one request, as its application gets them."""

    def __init__(self, receive: Receive, send: Send, most: int, *, too_large: bool) -> None:
        self._receive = receive
        self._send = send
        self._most = most
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
            # Read on and keep nothing: who still sends does not see an answer.
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
