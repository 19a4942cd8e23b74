"""Limits on the answers of providers: size, compression and redirects.

Without limits, a few compressed bytes could become gigabytes, and a line could be endless. A
redirect would send the prompt and the API key to another address. The limits are event hooks of an
`httpx2` client, so they work with any transport or proxy.
"""

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

ANSWER_LIMIT = 64_000_000
"""The largest answer in bytes after decompression. Even long replies have less than a megabyte."""

ERROR_LIMIT = 1_000_000
"""The maximum number of bytes that are read of an answer with an error status."""

_BLOCK = 262_144
_READABLE = {"": None, "identity": None, "gzip": 47, "x-gzip": 47, "deflate": 47}
"""The window size parameter of zlib for each content encoding.

47 accepts gzip and zlib data. None means that the data is not compressed.
"""


class AnswerRefusedError(Exception):
    """An answer was refused before its end.

    The text is the reason, without a full stop.
    """


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
        # These headers describe the compressed bytes, but the client receives decompressed bytes.
        for name in ("content-encoding", "content-length"):
            if bits is not None and name in response.headers:
                del response.headers[name]

    def unpack(self, packed: bytes) -> Iterator[bytes]:
        """Yield the decompressed bytes of a part of the answer, in blocks of at most `_BLOCK`."""
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
    """Return a class of streams with a size limit.

    The class is created at the first call, because its base class is in the client library, which
    is imported late.
    """
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
    """Return arguments for an `httpx2` client that limit the size of its answers."""
    kind = _stream()

    async def bound(response: "httpx2.Response") -> None:
        response.stream = kind(response.stream, _Unpacker(response))

    return {"follow_redirects": False, "event_hooks": {"response": [bound]}}


HEADERS = {"Accept-Encoding": "identity"}
"""The headers of every request. They ask for an uncompressed answer."""
