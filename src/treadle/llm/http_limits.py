"""Bounds on what a provider answers: size, compression and redirects.

A few compressed bytes can stand for gigabytes, a line may never end, and a redirect would send
prompt and key to another address. The hooks are for the clients of `httpx2`, whatever transport or
proxy they use.
"""

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

ANSWER_LIMIT = 64_000_000
"""Bytes of one answer, unpacked. The longest replies of models have some hundred thousand."""

ERROR_LIMIT = 1_000_000
"""Bytes of an answer with an error status; what follows is not read."""

_PIECE = 262_144
_READABLE = {"": None, "identity": None, "gzip": 47, "x-gzip": 47, "deflate": 47}
"""How zlib reads each encoding: 47 tells gzip and zlib apart by itself."""


class AnswerRefusedError(Exception):
    """An answer that is not read any further; its text says why, without a full stop."""


class _Unpacker:
    """Unpacks pieces of one answer, and counts what comes out."""

    def __init__(self, response: "httpx2.Response") -> None:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _READABLE:
            raise AnswerRefusedError(
                f"it has the encoding {encoding[:40]!r}, which was not requested"
            )
        bits = _READABLE[encoding]
        self._stream = None if bits is None else zlib.decompressobj(bits)
        self._failed = response.status_code >= 400
        self._left = ERROR_LIMIT if self._failed else ANSWER_LIMIT
        self.over = False
        # What the client sees is unpacked already.
        for name in ("content-encoding", "content-length"):
            if bits is not None and name in response.headers:
                del response.headers[name]

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        """The unpacked bytes of a piece, each as large as at most `_PIECE`."""
        while packed and not self.over:
            if self._stream is None:
                plain, packed = packed, b""
            else:
                try:
                    plain = self._stream.decompress(packed, _PIECE)
                except zlib.error as error:
                    raise AnswerRefusedError("its compressed data is damaged") from error
                packed = self._stream.unconsumed_tail
            self._left -= len(plain)
            if self._left < 0:
                self.over = True
                if not self._failed:
                    raise AnswerRefusedError(f"it is larger than {ANSWER_LIMIT // 1_000_000} MB")
                plain = plain[: self._left]
            yield plain


def _stream() -> type[Any]:
    """The class of bounded streams; it is created when the client library is loaded."""
    import httpx2

    class BoundedStream(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, unpacker: _Unpacker) -> None:
            self._stream, self._unpacker = stream, unpacker

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for packed in self._stream:
                for piece in self._unpacker.pieces(packed):
                    yield piece
                if self._unpacker.over:
                    return

        async def aclose(self) -> None:
            await self._stream.aclose()

    return BoundedStream


def bounds() -> dict[str, Any]:
    """Arguments for a client of `httpx2` that bound its answers."""
    kind = _stream()

    async def bound(response: "httpx2.Response") -> None:
        response.stream = kind(response.stream, _Unpacker(response))

    return {"follow_redirects": False, "event_hooks": {"response": [bound]}}


HEADERS = {"Accept-Encoding": "identity"}
"""What a request with bounds asks for."""
