"""A provider that answers every request at once, to measure the gateway before it.

Run: python -m bench.traces.fake_provider   (prints its port)

A raw protocol: it reads only the length from the head, and from the body whether to stream. A
stream has 20 chunks of text and one of usage, each written separately.
"""

import asyncio
import json

_COMMON = {"id": "chatcmpl-bench", "created": 1_791_000_000, "model": "bench-model"}
_USAGE = {"prompt_tokens": 20, "completion_tokens": 20, "total_tokens": 40}
CHUNKS = 20


def _head(kind: str, more: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{more}\r\n\r\n".encode()


def _whole() -> bytes:
    message = {"role": "assistant", "content": " ".join(["word"] * CHUNKS)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {**_COMMON, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
    data = json.dumps(body).encode()
    return _head("application/json", f"content-length: {len(data)}") + data


def _event(value: object) -> bytes:
    data = f"data: {json.dumps(value) if value is not None else '[DONE]'}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({**_COMMON, "object": "chat.completion.chunk", "choices": [choice]})


def _pieces() -> list[bytes]:
    texts = [_chunk({"content": "word "}) for _ in range(CHUNKS - 2)]
    usage = {**_COMMON, "object": "chat.completion.chunk", "choices": [], "usage": _USAGE}
    first = _head("text/event-stream", "transfer-encoding: chunked")
    first += _chunk({"role": "assistant", "content": ""})
    return [first, *texts, _chunk({}, "stop"), _event(usage) + _event(None) + b"0\r\n\r\n"]


WHOLE, PIECES = _whole(), _pieces()


class Provider(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._received[:end]).lower()
            _, _, rest = head.partition(b"content-length:")
            length = int(rest.partition(b"\r\n")[0] or 0)
            if len(self._received) < end + 4 + length:
                return
            body = bytes(self._received[end + 4 : end + 4 + length])
            del self._received[: end + 4 + length]
            if b'"stream":true' in body.replace(b" ", b""):
                for piece in PIECES:
                    self._transport.write(piece)
            else:
                self._transport.write(WHOLE)


async def serve() -> None:
    """Serve at a free loopback port until ended."""
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
