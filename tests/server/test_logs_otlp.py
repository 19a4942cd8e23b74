"""Log records and metrics over OTLP/HTTP."""

import gzip
import json
from pathlib import Path
from typing import Any

from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # it has no types
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from tests.server.serving import Served, serving
from tests.spans.otlp import exports
from tests.spans.otlp import test_log_records as records
from tests.spans.otlp.exports import SPAN, TRACE

JSON, PROTOBUF = "application/json", "application/x-protobuf"
ASKED = records.record("gen_ai.user.message", {"content": "Hi"}, at=1)
ANSWERED = records.record("gen_ai.choice", {"index": 0, "message": {"content": "Ho"}}, at=2)


async def post(served: Served, path: str, body: bytes, kind: str = JSON, **headers: str) -> Any:
    return await served.http.post(path, content=body, headers={"Content-Type": kind, **headers})


async def test_messages_before_and_after_their_span_reach_it(repo: Path) -> None:
    zipped = {"Content-Encoding": "gzip"}
    async with serving(repo) as served:
        first = gzip.compress(records.protobuf(records.request(ASKED)))
        answer = await post(served, "/v1/logs", first, PROTOBUF, **zipped)
        assert (answer.status_code, answer.content) == (200, b"")
        alone = (await served.get(f"/spans/{TRACE}/{SPAN}"))["span"]
        assert (alone["status"], json.loads(alone["input"])[0]["content"]) == ("unfinished", "Hi")

        call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small"}
        spans = exports.as_json(exports.request(exports.span(attributes=call)))
        assert (await post(served, "/v1/traces", spans)).content == b"{}"
        last = gzip.compress(json.dumps(records.request(ANSWERED)).encode())
        assert (await post(served, "/v1/logs", last, **zipped)).content == b"{}"
        whole = (await served.get(f"/spans/{TRACE}/{SPAN}"))["span"]
        assert (whole["name"], whole["status"], whole["model"]) == ("work", "ok", "small")
        assert json.loads(whole["input"])[0]["content"] == "Hi"
        assert json.loads(whole["output"])[0]["content"] == "Ho"
        assert len((await served.get("/spans"))["data"]) == 1


async def test_other_and_malformed_logs_are_answered_in_their_encoding(repo: Path) -> None:
    other = records.request(records.record("app.started", "ready"))
    async with serving(repo) as served:
        partial = (await post(served, "/v1/logs", json.dumps(other).encode())).json()
        assert partial["partialSuccess"]["rejectedLogRecords"] == "1"
        answer = await post(served, "/v1/logs", records.protobuf(other), PROTOBUF)
        assert answer.status_code == 200
        found = ExportLogsServiceResponse.FromString(answer.content).partial_success
        assert found.rejected_log_records == 1
        assert "only the gen_ai events" in found.error_message
        for path in ("/v1/logs", "/v1/metrics"):
            answer = await post(served, path, b"\xff\xff", PROTOBUF)
            assert answer.status_code == 400
            assert Status.FromString(answer.content).code == 3
            assert (await post(served, path, b"[1")).status_code == 400
            assert (await post(served, path, b"{}", "text/plain")).status_code == 415
            broken = await post(served, path, b"plain", JSON, **{"Content-Encoding": "gzip"})
            assert broken.status_code == 400
            assert (await post(served, path, b"", PROTOBUF)).content == b""


async def test_metrics_are_declined_with_their_count(repo: Path) -> None:
    message = ExportMetricsServiceRequest()
    scope = message.resource_metrics.add().scope_metrics.add()
    scope.metrics.add(name="gen_ai.client.token.usage").histogram.data_points.add(count=3)
    points = scope.metrics.add(name="requests").sum.data_points
    points.add(as_int=1)
    points.add(as_int=2)
    point = {"asInt": "1"}
    in_json = {
        "resourceMetrics": [
            {"scopeMetrics": [{"metrics": [{"sum": {"dataPoints": [point, point]}}]}]},
            {"scope_metrics": [{"metrics": [{"gauge": {"data_points": [point]}}, {"name": "x"}]}]},
        ]
    }
    async with serving(repo) as served:
        answer = await post(served, "/v1/metrics", message.SerializeToString(), PROTOBUF)
        assert answer.status_code == 200
        found = ExportMetricsServiceResponse.FromString(answer.content).partial_success
        assert found.rejected_data_points == 3
        assert "does not store metrics" in found.error_message
        partial = (await post(served, "/v1/metrics", json.dumps(in_json).encode())).json()
        assert partial["partialSuccess"]["rejectedDataPoints"] == "3"
        assert (await served.get("/spans"))["data"] == []
