"""Spans over OTLP/gRPC, from messages of an unchanged exporter."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.exports import binary, export, span
from tests.server.serving import serving
from tests.spans.otlp import test_log_records as records

grpc: Any = pytest.importorskip("grpc")

TOKEN = "a-token-of-the-user"
METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def configured(repo: Path, port: int) -> None:
    config = repo.parent / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[traces]\ngrpc_port = {port}\nmax_request = "2MB"\n')


def send(port: int, body: bytes, token: str | None = None, method: str = METHOD) -> Any:
    """The code and the answer of an export, with a foreign client."""
    with grpc.insecure_channel(f"127.0.0.1:{port}", compression=grpc.Compression.Gzip) as channel:
        call = channel.unary_unary(method)
        metadata = [("authorization", f"Bearer {token}")] if token else None
        try:
            return "OK", call(body, timeout=20, metadata=metadata)
        except grpc.RpcError as error:
            return error.code().name, error.details()


async def test_spans_over_grpc_are_stored(repo: Path) -> None:
    port = free_port()
    configured(repo, port)
    async with serving(repo) as served:
        token = served.token
        code, answer = await asyncio.to_thread(send, port, binary(export(span(1))), token)
        assert (code, answer) == ("OK", b"")
        listed = await served.get("/spans")
        assert [each["span_id"] for each in listed["data"]] == [f"{1:016x}"]
        assert (await asyncio.to_thread(send, port, b"\xff\xff", token))[0] == "INVALID_ARGUMENT"
        large = binary(export(span(2, text="x" * 3_000_000)))
        assert (await asyncio.to_thread(send, port, large, token))[0] == "RESOURCE_EXHAUSTED"
        logs = records.protobuf(records.request(records.record("gen_ai.user.message", "Hi")))
        assert await asyncio.to_thread(send, port, logs, token, LOGS) == ("OK", b"")
        assert len((await served.get("/spans"))["data"]) == 2
        assert await asyncio.to_thread(send, port, b"", token, METRICS) == ("OK", b"")
        health = (await served.get("/health"))["traces"]
        assert health["recorder"] == "on"
        assert health["size_bytes"] > 0
        assert (health["lost"], health["pending_bytes"]) == (0, 0)


async def test_grpc_needs_the_token_on_every_address(repo: Path) -> None:
    port = free_port()
    configured(repo, port)
    body = binary(export(span(1)))
    async with serving(repo):
        assert (await asyncio.to_thread(send, port, body))[0] == "UNAUTHENTICATED"
    async with serving(repo, "--host", "0.0.0.0", TREADLE_SERVE_TOKEN=TOKEN) as served:
        assert (await asyncio.to_thread(send, port, body))[0] == "UNAUTHENTICATED"
        assert (await asyncio.to_thread(send, port, body, "wrong"))[0] == "UNAUTHENTICATED"
        assert (await asyncio.to_thread(send, port, body, TOKEN))[0] == "OK"
        here = f"http://127.0.0.1:{served.address.rpartition(':')[2]}"
        async with httpx2.AsyncClient(base_url=here) as http:
            listed = await http.get("/api/v1/spans", headers={"X-Treadle-Token": TOKEN})
            assert len(listed.json()["data"]) == 1
