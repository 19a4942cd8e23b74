"""Limits on the answers of providers (S9): size, compression, redirects."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from functools import cache
from typing import Self

import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Script, body, error, whole
from tests.llm.asking import ask, fail
from treadle.gateway.upstream import Upstream
from treadle.llm.catalog import fetch_models
from treadle.llm.endpoint import Endpoint
from treadle.llm.http_limits import ANSWER_LIMIT
from treadle.llm.model_probe import probe
from treadle.llm.provider_errors import FaultKind, ProviderError

KEY = "sk-secret-key-of-mine"
JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}


@cache
def bomb(encoding: str, times: int = 150) -> bytes:
    """Hundreds of megabytes of spaces in less than one megabyte."""
    packer = zlib.compressobj(1, wbits=31 if encoding == "gzip" else 15)
    packed = [packer.compress(b" " * 1_000_000) for _ in range(times)]
    return b"".join([*packed, packer.flush()])


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as provider:
        yield provider


def endpoint(provider: FakeProvider) -> Endpoint:
    return Endpoint("fake", "m", provider.base_url, api_key=KEY, key_name="FAKE_API_KEY")


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_compressed_bomb_is_not_unpacked(
    provider: FakeProvider, encoding: str, status: int
) -> None:
    script = Script((bomb(encoding),), status, {**JSON, "content-encoding": encoding})
    await ask(provider, Answer("Hi"))  # the client library is loaded
    tracemalloc.start()
    try:
        caught, _ = await fail(provider, script)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * ANSWER_LIMIT
    if status == 200:
        assert caught.kind is FaultKind.PROTOCOL
        assert "larger than 64 MB" in caught.message
        assert not caught.retryable


async def test_a_compressed_answer_is_read(provider: FakeProvider) -> None:
    (content,) = body(whole(content="Hi")).steps
    assert isinstance(content, bytes)
    packed = Script((gzip.compress(content),), headers={**JSON, "content-encoding": "gzip"})
    reply, _ = await ask(provider, packed)
    assert reply.message.text == "Hi"
    assert provider.requests[0].headers["accept-encoding"] == "identity"


async def test_a_compressed_error_is_read(provider: FakeProvider) -> None:
    packed = gzip.compress(b'{"error": {"message": "It is odd."}}')
    script = Script((packed,), 400, {**JSON, "content-encoding": "gzip"})
    caught, _ = await fail(provider, script)
    assert "It is odd" in caught.message


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip"])
async def test_an_unrequested_encoding_is_refused(provider: FakeProvider, encoding: str) -> None:
    script = Script((b"\x00" * 100,), headers={**JSON, "content-encoding": encoding})
    caught, _ = await fail(provider, script)
    assert caught.kind is FaultKind.PROTOCOL
    assert encoding in caught.message


async def test_damaged_compression_is_an_error_of_the_provider(provider: FakeProvider) -> None:
    script = Script((b"no gzip at all",), headers={**JSON, "content-encoding": "gzip"})
    caught, _ = await fail(provider, script)
    assert "compressed data is damaged" in caught.message


@pytest.mark.slow
async def test_a_line_without_an_end_is_not_read_for_ever(provider: FakeProvider) -> None:
    line = Script((b"data: ", *[b"x" * 1_000_000] * 100), headers=STREAM)
    caught, _ = await fail(provider, line)
    assert "larger than 64 MB" in caught.message


@pytest.mark.slow
async def test_an_error_without_an_end_is_cut(provider: FakeProvider) -> None:
    script = Script((b"no ", *[b"x" * 1_000_000] * 100), 400, {"content-type": "text/plain"})
    caught, _ = await fail(provider, script)
    assert caught.status == 400
    assert len(caught.message) < 600


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(provider: FakeProvider, status: int) -> None:
    async with FakeProvider([Answer("Hi")]) as other:
        target = f"{other.base_url}/chat/completions"
        caught, _ = await fail(provider, Script((), status, {"location": target}))
        assert other.requests == []
        assert target.split("/")[2] in caught.message
    assert caught.status == status
    assert not caught.retryable
    assert "base_url" in (caught.hint or "")


@pytest.mark.parametrize("location", ["", "/elsewhere", "http://[", f"http://u:{KEY}@h/?k={KEY}"])
async def test_an_error_shows_only_the_host_of_a_redirect(
    provider: FakeProvider, location: str
) -> None:
    caught, _ = await fail(provider, Script((), 307, {"location": location}))
    assert "does not follow redirects" in caught.message
    assert KEY not in caught.message


@pytest.mark.parametrize("before", [0, 370, 390, 395, 1_590])
async def test_an_error_that_echoes_the_key_is_redacted_also_at_a_cut(
    provider: FakeProvider, before: int
) -> None:
    caught, asked = await fail(provider, error(401, "x" * before + f" Bad key {KEY} given"))
    for said in (caught.message, caught.body, str(asked.observer.finished)):
        assert KEY[:12] not in said


@pytest.mark.parametrize(
    "script",
    [
        Script((b"data: " + b"x" * 70 + KEY.encode() + b"\n\n",), headers=STREAM),
        Script((b"y" * 70 + KEY.encode(),), headers=JSON),
    ],
)
async def test_nonsense_that_echoes_the_key_is_redacted(
    provider: FakeProvider, script: Script
) -> None:
    caught, _ = await fail(provider, script)
    assert KEY[:6] not in caught.message


class Raw:
    """A server that answers each request with the same bytes and counts the requests."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self.asked = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            self.asked += 1
            for piece in self._pieces:
                writer.write(piece)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
LISTED = (HEAD, b'{"data": [{"id": "', *[b"m" * 1_000_000] * 80, b'"}]}')


@pytest.mark.slow
async def test_a_list_of_models_is_bounded() -> None:
    async with Raw(*LISTED) as server:
        with pytest.raises(ProviderError, match="larger than 64 MB"):
            await fetch_models(Endpoint("fake", "", server.base_url))
        assert await probe(server.base_url) is None
        async with Upstream() as upstream:
            with pytest.raises(ProviderError, match="larger than 16 MB"):
                await upstream.get(Endpoint("fake", "", server.base_url), "/models", seconds=60)


MOVED = b"HTTP/1.1 307 Moved\r\nLocation: %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


async def test_no_client_follows_a_redirect() -> None:
    async with Raw(HEAD, b'{"data": [{"id": "m"}]}') as other:
        async with Raw(MOVED % other.base_url.encode()) as server:
            with pytest.raises(ProviderError, match="does not follow redirects"):
                await fetch_models(Endpoint("fake", "", server.base_url))
            assert await probe(server.base_url) is None
            assert server.asked >= 2
        assert other.asked == 0
