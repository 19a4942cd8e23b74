"""Limits on the answers of providers: size, compression and redirects.

A few compressed bytes can become gigabytes, a line may never end, and a redirect would send prompt
and key to another address. The hooks work for `httpx2` clients with any transport or proxy.
"""

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

ANSWER_LIMIT = 64_000_000
"""The largest answer in bytes after decompression. Even long replies have less than a megabyte."""

ERROR_LIMIT = 1_000_000
"""The number of bytes that are read of an answer with an error status."""

_BLOCK = 262_144
_READABLE = {"": None, "identity": None, "gzip": 47, "x-gzip": 47, "deflate": 47}
"""The zlib parameter for each encoding. 47 detects gzip and zlib."""


class AnswerRefusedError(Exception):
    """The rest of an answer is not read. The text is the reason, without a full stop."""


class _Unpacker:
    """Decompresses the parts of one answer, and counts the decompressed bytes."""

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
        self.exhausted = False
        # The client already sees decompressed bytes.
        for name in ("content-encoding", "content-length"):
            if bits is not None and name in response.headers:
                del response.headers[name]

    def unpack(self, packed: bytes) -> Iterator[bytes]:
        """Yield the decompressed bytes of a part, at most `_BLOCK` bytes at a time."""
        while packed and not self.exhausted:
            if self._stream is None:
                plain, packed = packed, b""
            else:
                try:
                    plain = self._stream.decompress(packed, _BLOCK)
                except zlib.error as error:
                    raise AnswerRefusedError("its compressed data is damaged") from error
                packed = self._stream.unconsumed_tail
            self._left -= len(plain)
            if self._left < 0:
                self.exhausted = True
                if not self._failed:
                    raise AnswerRefusedError(f"it is larger than {ANSWER_LIMIT // 1_000_000} MB")
                plain = plain[: self._left]
            yield plain


def _stream() -> type[Any]:
    """The class of bounded streams. It is created when the client library is loaded."""
    import httpx2

    class BoundedStream(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, unpacker: _Unpacker) -> None:
            self._stream, self._unpacker = stream, unpacker

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for packed in self._stream:
                for block in self._unpacker.unpack(packed):
                    yield block
                if self._unpacker.exhausted:
                    return

        async def aclose(self) -> None:
            await self._stream.aclose()

    return BoundedStream


def limit_arguments() -> dict[str, Any]:
    """Arguments that limit the answers of an `httpx2` client."""
    kind = _stream()

    async def bound(response: "httpx2.Response") -> None:
        response.stream = kind(response.stream, _Unpacker(response))

    return {"follow_redirects": False, "event_hooks": {"response": [bound]}}


HEADERS = {"Accept-Encoding": "identity"}
"""Headers of every request: they ask for an uncompressed answer."""
