"""A server between a client and Treadle. It forwards every request and keeps the exports."""

import base64
import gzip
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.clients import scenario

_HOP = {"host", "content-length", "connection", "transfer-encoding", "content-encoding"}
_IDS = ("traceId", "spanId", "parentSpanId")
_PROGRAM = (
    "service.name", "service.version", "langfuse.release", "telemetry.sdk.language",
    "telemetry.sdk.name",
)  # fmt: skip
"""The recorded attributes of the program. The others describe the machine."""
_INSTALLED = re.compile(
    r'(?<=File \\")/[^"\\]*/(?=site-packages/|bench/|python3)'
    r"|(?<=file://)/[^\s\"\\]*?/(?=node_modules/|\w+\.mjs)"
)
"""The folder of the packages, in the traces of exceptions."""
_UPLOADED = re.compile(r"@@@langfuseMedia:[^@]*@@@|http://127\.0\.0\.1:\d+/v2/images/[\w-]+\.png")
"""The references to the image of the scenario. The server replaces them by the uploaded image."""
_PORT = re.compile(r"127\.0\.0\.1(:\d+|\\?\", port: \d+)")


@dataclass(slots=True)
class Exports:
    """The exports of one client, and the answers of Treadle that were not a success."""

    url: str = ""
    traces: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of the exports of spans, as OTLP/JSON."""
    logs: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of the exports of log records, as OTLP/JSON."""
    refused: list[str] = field(default_factory=list)

    def as_fixture(self) -> dict[str, Any]:
        """All exports as one request for each signal, without details of the machine."""
        fixture = {"request": _merged(self.traces, "resourceSpans")}
        if self.logs:
            fixture["logs"] = _merged(self.logs, "resourceLogs")
        text = json.dumps(fixture, ensure_ascii=False)
        text = _UPLOADED.sub(scenario.IMAGE, text)
        text = _PORT.sub("127.0.0.1", _INSTALLED.sub("", text)).replace(str(Path.cwd()), ".")
        return dict(json.loads(text))


@asynccontextmanager
async def forwarding(to: str) -> AsyncIterator[Exports]:
    """Serve on loopback, and forward every request to the server at `to`."""
    exports = Exports()
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def handle(request: web.Request) -> web.Response:
            body = await request.read()
            headers = {n: v for n, v in request.headers.items() if n.lower() not in _HOP}
            async with session.request(
                request.method, f"{to}{request.path_qs}", data=body, headers=headers
            ) as answer:
                content = await answer.read()
                kept = {n: v for n, v in answer.headers.items() if n.lower() not in _HOP}
            if answer.status >= 300:
                refusal = f"{request.method} {request.path}: {answer.status} {content[:200]!r}"
                exports.refused.append(refusal)
            if request.path.endswith("/traces"):
                message: Any = ExportTraceServiceRequest
                exports.traces.append(_decoded(body, request.content_type, message))
            elif request.path.endswith("/logs"):
                message = ExportLogsServiceRequest
                exports.logs.append(_decoded(body, request.content_type, message))
            return web.Response(status=answer.status, body=content, headers=kept)

        application = web.Application(client_max_size=100_000_000)
        application.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        exports.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield exports
        finally:
            await runner.cleanup()


def _merged(sent: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return {name: [_without_machine(each) for one in sent for each in one[name]]}


def _decoded(body: bytes, media_type: str, message_type: Any) -> dict[str, Any]:
    # aiohttp has removed the compression of the request.
    body = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
    if media_type == "application/json":
        return dict(json.loads(body))
    return dict(_with_hex_ids(MessageToDict(message_type.FromString(body))))


def _with_hex_ids(value: Any) -> Any:
    """OTLP/JSON has hexadecimal ids, unlike protobuf's own JSON."""
    if isinstance(value, list):
        return [_with_hex_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(each).hex()
        if key in _IDS and isinstance(each, str)
        else _with_hex_ids(each)
        for key, each in value.items()
    }


def _without_machine(sent: dict[str, Any]) -> dict[str, Any]:
    given: Sequence[dict[str, Any]] = sent.get("resource", {}).get("attributes", [])
    kept = [each for each in given if each["key"] in _PROGRAM]
    return {**sent, "resource": {"attributes": kept}}
