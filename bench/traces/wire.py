"""An HTTP/1.1 client that costs next to nothing: prepared bytes out, the answer's bytes in.

It shares the cores with the measured server, so it parses only where an answer ends.
"""

import asyncio
import gzip
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as received. `first` and `last` are seconds from the request to its bytes."""

    status: int
    head: bytes
    raw: bytes
    first: float
    last: float

    @property
    def size(self) -> int:
        """Bytes of the body on the wire."""
        return len(self.raw)

    def text(self) -> str:
        """The body, joined and decompressed."""
        body = _joined(self.raw) if b"transfer-encoding: chunked" in self.head else self.raw
        return (gzip.decompress(body) if b"content-encoding: gzip" in self.head else body).decode()

    def json(self) -> Any:
        return json.loads(self.text())


def request(
    method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of a request to loopback."""
    lines = {"host": "127.0.0.1", "content-length": str(len(body))} | dict(headers or {})
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


class Connection(asyncio.Protocol):
    """One persistent connection; one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._answer: asyncio.Future[Answer] | None = None
        self._sent = self._first = 0.0
        self._head = b""
        self._length: int | None = None

    @classmethod
    async def open(cls, port: int) -> "Connection":
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(cls, "127.0.0.1", port)
        return connection

    async def send(self, data: bytes) -> Answer:
        """Send a request and wait for the complete answer. Raises ConnectionError if it breaks."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the server closed the connection")
        self._received.clear()
        self._first, self._head, self._length = 0.0, b"", None
        self._answer = asyncio.get_running_loop().create_future()
        self._sent = time.perf_counter()
        self._transport.write(data)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError(str(exc)))

    def data_received(self, data: bytes) -> None:
        self._first = self._first or time.perf_counter()
        self._received += data
        if not self._head:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            self._head = bytes(self._received[: end + 4]).lower()
            del self._received[: end + 4]
            _, found, rest = self._head.partition(b"\r\ncontent-length:")
            self._length = int(rest.partition(b"\r\n")[0]) if found else None
        if self._length is None:
            whole = self._received.endswith(b"0\r\n\r\n") and (
                len(self._received) == 5 or self._received.endswith(b"\r\n0\r\n\r\n")
            )
        else:
            whole = len(self._received) >= self._length
        if whole and self._answer is not None and not self._answer.done():
            now, sent = time.perf_counter(), self._sent
            status = int(self._head[9:12])
            raw = bytes(self._received)
            self._answer.set_result(Answer(status, self._head, raw, self._first - sent, now - sent))


def _joined(raw: bytes) -> bytes:
    """The data of a chunked body."""
    parts, at = list[bytes](), 0
    while True:
        end = raw.index(b"\r\n", at)
        size = int(raw[at:end].partition(b";")[0], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(raw[end + 2 : end + 2 + size])
        at = end + 2 + size + 2


def share(values: Sequence[float], part: float) -> float:
    """The value below which `part` of them are."""
    ordered = sorted(values)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)]
