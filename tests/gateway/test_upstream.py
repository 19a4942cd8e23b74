"""Connections to providers: proxies of the environment, invalid addresses."""

import asyncio
from pathlib import Path

import pytest

from tests.gateway.running import running, settings
from treadle.gateway.upstream import Upstream, _proxy_for
from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import FaultKind, ProviderError


def test_the_proxy_of_the_environment_is_used_with_its_exceptions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert _proxy_for("https://api.example/v1") == "http://proxy.example:3128"
    assert _proxy_for("https://inside.example/v1") is None
    assert _proxy_for("http://api.example/v1") is None


async def test_calls_use_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = asyncio.get_running_loop().create_future()

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request.set_result((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        writer.write(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")  # the test itself connects directly
        own = {"base_url": "http://far.example/v1", "models": ["m"], "max_retries": 0}
        config = settings().model_validate({"providers": {"far": own}})
        async with running(tmp_path, config) as gateway:
            answer = await gateway.chat(model="far/m")
    assert answer.status_code == 503
    assert await request == b"POST http://far.example/v1/chat/completions HTTP/1.1"


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:x/v1", "http://127.0.0.1:1/v1"])
async def test_an_unused_address_is_not_reachable(base_url: str) -> None:
    async with Upstream() as upstream:
        with pytest.raises(ProviderError) as failed:
            await upstream.send(Endpoint("p", "m", base_url), "/x", [], b"{}", stream=False)
    assert failed.value.kind is FaultKind.CONNECTION
