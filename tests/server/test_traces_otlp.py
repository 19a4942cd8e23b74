"""Spans over OTLP/HTTP: accepted and rejected exports."""

import asyncio
import gzip
import json
import os
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # it has no types
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.cli.command import AS_INTERPRETER
from tests.server.exports import binary, export, span
from tests.server.serving import Served, serving
from treadle.server.request_bodies import TooLargeError, unpack
from treadle.traces import TraceStore

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
PATH = "/v1/traces"


async def post(
    served: Served, body: bytes, kind: str = JSON, encoding: str | None = None
) -> httpx2.Response:
    headers = {"Content-Type": kind} | ({"Content-Encoding": encoding} if encoding else {})
    return await served.http.post(PATH, content=body, headers=headers)


def stored(repo: Path, trace: int = 1) -> list[str]:
    """The ids of the spans of a trace on disk, read by another process."""
    store = TraceStore.open(repo.parent / "home" / "data" / "traces.db")
    try:
        return [each.span_id for each in store.trace(f"{trace:032x}").spans]
    finally:
        store.close()


def ids(*numbers: int) -> list[str]:
    return [f"{number:016x}" for number in numbers]


def raw_deflate(body: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(body) + stream.flush()


async def test_every_encoding_is_answered_in_its_own_type(repo: Path) -> None:
    ways: list[tuple[str, str | None, Callable[[bytes], bytes]]] = [
        (JSON, None, bytes),
        ("application/json; charset=utf-8", "gzip", gzip.compress),
        (PROTOBUF, None, bytes),
        ("application/x-protobuf; charset=utf-8", "gzip", gzip.compress),
        ("Application/X-Protobuf", "deflate", zlib.compress),
        (PROTOBUF, "deflate", raw_deflate),
        (PROTOBUF, "identity", bytes),
    ]
    async with serving(repo) as served:
        for number, (kind, encoding, compress) in enumerate(ways, start=1):
            request = export(span(number))
            body = json.dumps(request).encode() if "json" in kind else binary(request)
            answer = await post(served, compress(body), kind, encoding)
            assert answer.status_code == 200, (kind, encoding, answer.text)
            assert answer.headers["content-type"] == kind.partition(";")[0].lower()
            assert answer.content == (b"{}" if "json" in kind else b"")
            assert f"{number:016x}" in stored(repo)  # at once, from another process
        for kind in (JSON, PROTOBUF):
            empty = await post(served, b"", kind)
            assert empty.status_code == 200
        assert (await post(served, b"{}")).content == b"{}"


async def test_official_sdk_sends_spans(repo: Path) -> None:
    async with serving(repo) as served:

        def run() -> int:
            exporter = OTLPSpanExporter(
                endpoint=f"{served.address}{PATH}", compression=Compression.Gzip
            )
            provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
            provider.add_span_processor(BatchSpanProcessor(exporter))
            tracer = provider.get_tracer("tests", "1.2")
            with tracer.start_as_current_span("checkout") as parent:
                parent.set_attribute("user.note", "résumé 🧵")
                with tracer.start_as_current_span("pay") as child:
                    child.add_event("charged", {"amount": 12})
            assert provider.force_flush()
            provider.shutdown()
            return parent.get_span_context().trace_id

        trace_id = await asyncio.to_thread(run)
        assert len(stored(repo, trace_id)) == 2


@pytest.mark.parametrize("kind", [JSON, PROTOBUF])
async def test_rejected_spans_are_counted_with_a_reason(repo: Path, kind: str) -> None:
    bad = span(2) | {"spanId": ""}
    request = export(span(1), bad, span(3))
    body = json.dumps(request).encode() if kind == JSON else binary(request)
    async with serving(repo) as served:
        answer = await post(served, body, kind)
        assert answer.status_code == 200
        if kind == JSON:
            partial = answer.json()["partialSuccess"]
            rejected, message = int(partial["rejectedSpans"]), partial["errorMessage"]
        else:
            told = ExportTraceServiceResponse.FromString(answer.content).partial_success
            rejected, message = told.rejected_spans, told.error_message
        assert rejected == 1
        assert "chat 2" in message
        assert stored(repo) == ids(1, 3)


async def test_invalid_text_does_not_affect_other_spans(repo: Path) -> None:
    good, bad = binary(export(span(1))), binary(export(span(2)))
    async with serving(repo) as served:
        answer = await post(served, good + bad.replace(b"chat 2", b"chat \xff"), PROTOBUF)
        assert answer.status_code == 200
        told = ExportTraceServiceResponse.FromString(answer.content).partial_success
        assert len(stored(repo)) + told.rejected_spans == 2
        assert ids(1)[0] in stored(repo)


STATUS_CASES: list[tuple[bytes, str, str | None, int]] = [
    (b"{", JSON, None, 400),
    (b"[]", JSON, None, 400),
    (b"\xff\xff\xff", PROTOBUF, None, 400),
    (b"no gzip", PROTOBUF, "gzip", 400),
    (gzip.compress(b"x" * 999)[:40], JSON, "gzip", 400),
    (b"", PROTOBUF, "br", 415),
    (b"", "text/plain", None, 415),
]


async def test_invalid_export_gets_a_status_in_its_own_type(repo: Path) -> None:
    async with serving(repo) as served:
        for body, kind, encoding, expected in STATUS_CASES:
            answer = await post(served, body, kind, encoding)
            assert answer.status_code == expected, (body, kind, encoding, answer.text)
            code, message = status_of(answer)
            assert code == 3
            assert message


def status_of(answer: httpx2.Response) -> tuple[int, str]:
    """The code and message of a google.rpc.Status."""
    if answer.headers["content-type"] == JSON:
        told = answer.json()
        return told["code"], told["message"]
    status = Status.FromString(answer.content)
    return status.code, status.message


def limited(repo: Path, size: str) -> None:
    config = repo.parent / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[traces]\nmax_request = "{size}"\n')


async def test_large_export_is_refused_within_bounded_memory(
    repo: Path,
) -> None:
    limited(repo, "4MB")
    bomb = gzip.compress(b"\x00" * 400_000_000, 1)
    async with serving(repo, **AS_INTERPRETER) as served:
        before = memory_of(served)
        for kind in (JSON, PROTOBUF):
            answers = [
                await post(served, bomb, kind, "gzip"),
                await post(served, b"x" * 4_000_001, kind),
                await served.http.post(
                    PATH, content=pieces(9_000_000), headers={"Content-Type": kind}
                ),
            ]
            for answer in answers:
                assert answer.status_code == 413
                assert answer.headers["content-type"] == kind
                assert status_of(answer)[0] == 8
                assert "raise traces.max_request" in status_of(answer)[1]
        assert memory_of(served) - before < 40_000_000
        other = await served.http.post("/api/v1/turns", content=b" " * 4_000_001)
        assert other.status_code == 413
        assert set(other.json()["error"]) == {"message", "hint"}
        assert (await post(served, json.dumps(export(span(1))).encode())).status_code == 200


def test_decompression_is_bounded_by_the_sent_size() -> None:
    members = gzip.compress(b"") * 200_000
    with pytest.raises(TooLargeError):
        unpack(members, "gzip", 50_000_000, lambda count: None)
    noise = random.Random(1).randbytes(300_000)
    parts = (noise, b"", bytes(3_000_000), noise)
    assert unpack(b"".join(map(gzip.compress, parts)), "gzip", 10**7, lambda count: None) == (
        b"".join(parts)
    )


async def pieces(size: int) -> Any:
    for _ in range(size // 100_000):
        yield b"x" * 100_000


def memory_of(served: Served) -> int:
    """The peak memory of the server process, in bytes."""
    status = Path(f"/proc/{served.pid}/status")
    if not status.exists():  # not Linux
        return 0
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


async def test_value_of_twenty_megabytes_is_stored(repo: Path) -> None:
    text = os.urandom(10_000_000).hex()
    async with serving(repo) as served:
        answer = await post(served, binary(export(span(1, text=text))), PROTOBUF)
        assert answer.status_code == 200
        assert stored(repo) == ids(1)


async def test_secrets_are_redacted_before_storage(repo: Path) -> None:
    key = "sk-aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYz"
    async with serving(repo) as served:
        body = binary(export(span(1, text=f"my key is {key}, the auth of the session")))
        assert (await post(served, body, PROTOBUF)).status_code == 200
    store = TraceStore.open(repo.parent / "home" / "data" / "traces.db")
    (one,) = store.trace(f"{1:032x}").spans
    assert "[redacted:api-key], the auth of the session" in str(one.attributes)
    assert store.redactions()["api-key"] >= 1
    store.close()
    for file in filter(Path.is_file, (repo.parent / "home" / "data").rglob("*")):
        assert key.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    "body",
    [
        b"\x00\x00",
        binary(export(span(1)))[2:],
        b"\x00\x00\x00\x00\x10" + binary(export(span(1))),
    ],
)
async def test_protobuf_without_an_export_is_a_400(repo: Path, body: bytes) -> None:
    async with serving(repo) as served:
        assert (await post(served, body, PROTOBUF)).status_code == 400


async def test_unusual_json_is_stored_or_refused(repo: Path) -> None:
    lines = b"\n".join(json.dumps(export(span(number))).encode() for number in (1, 2))
    snake = json.dumps(export(span(3))).replace("resourceSpans", "resource_spans")
    damaged = json.dumps(export(span(6, links=[{"traceId": 7}]))).encode()
    async with serving(repo) as served:
        for body in (lines, snake.encode(), json.dumps([span(4)]).encode()):
            answer = await post(served, body, JSON)
            assert (answer.status_code, answer.json()) == (200, {})
        answer = await post(served, json.dumps({"records": [span(5)]}).encode(), JSON)
        assert answer.status_code == 400
        assert "records" in answer.json()["message"]
        answer = await post(served, damaged, JSON)
        assert answer.json()["partialSuccess"]["rejectedSpans"] == "0"
        assert "its links" in answer.json()["partialSuccess"]["errorMessage"]
    assert stored(repo) == ids(1, 2, 3, 4, 6)
