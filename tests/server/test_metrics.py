"""The metrics of a server, read as Prometheus reads them."""

import asyncio
import sys
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.command import treadle
from tests.engines import NatsServer
from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Script
from tests.server.exports import export, span
from tests.server.identified import identified
from tests.server.serving import Served, serving
from treadle.gateway.measures import GatewayMeasures
from treadle.identity.identity import Role, Scope
from treadle.measures import MAX_NAMES, OTHER, Names
from treadle.server.measures import ServerMeasures
from treadle.server.metrics import MissingLibraryError, exposition

HI = [{"role": "user", "content": "Hi"}]


def configure(repo: Path, provider: FakeProvider) -> None:
    config = repo.parent / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[providers.fake]\nbase_url = "{provider.base_url}"\nmodels = ["m"]\n')


async def read(served: Served) -> dict[str, Metric]:
    answer = await served.http.get("/metrics")
    assert answer.status_code == 200, answer.text
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def value(families: dict[str, Metric], name: str, suffix: str = "", **labels: str) -> float:
    """The value of the sample with these labels; 0 if there is none."""
    found = [
        sample.value
        for sample in families[name].samples
        if sample.name == name + suffix and labels.items() <= sample.labels.items()
    ]
    return sum(found)


async def test_metrics_count_exports_requests_and_tool_calls(repo: Path) -> None:
    async with serving(repo) as served:
        for _ in range(2):
            await served.http.post("/v1/traces", json=export(span(1), span(2)))
        await served.http.post("/v1/traces", content=b"{", headers={"Content-Type": "text/plain"})
        malformed = {"Content-Type": "application/json"}
        await served.http.post("/v1/traces", content=b"{", headers=malformed)
        await served.post("/tools/grep/call", {"pattern": "add"})
        await served.http.get("/api/v1/traces/absent")
        await served.http.get("/absent/path")
        async with served.http.stream("GET", "/api/v1/events"):
            found = await read(served)
    assert value(found, "treadle_ingest_requests", "_total", outcome="accepted") == 2
    assert value(found, "treadle_ingest_requests", "_total", outcome="invalid") == 1
    assert value(found, "treadle_ingest_spans", "_total") == 4
    assert value(found, "treadle_ingest_bytes", "_total") > 100
    assert value(found, "treadle_ingest_commit_seconds", "_count") == 2
    assert value(found, "treadle_ingest_waiting_spans") == 0
    assert value(found, "treadle_event_streams_open") == 1
    requests = "treadle_http_request_seconds"
    sent = {"method": "POST", "route": "/v1/traces"}
    assert value(found, requests, "_count", **sent, status="200") == 2
    assert value(found, requests, "_count", **sent, status="415") == 1
    trace = "/api/v1/traces/{trace_id}"
    assert value(found, requests, "_count", route=trace, status="404") == 1
    assert value(found, requests, "_count", route=OTHER, status="404") == 1
    assert (
        value(found, "treadle_tool_call_seconds", "_count", tool="grep", outcome="completed") == 1
    )
    assert value(found, "process_resident_memory_bytes") > 1e6


async def test_metrics_count_gateway_calls_by_model(repo: Path) -> None:
    replies: list[Reply] = [Answer("Hello"), Script(status=400, steps=(b"{}",))]
    async with FakeProvider(replies) as provider:
        configure(repo, provider)
        async with serving(repo) as served:
            for model in ("fake/m", "fake/invented"):
                body = {"model": model, "messages": HI}
                await served.http.post("/v1/chat/completions", json=body)
            found = await read(served)
            while value(found, "treadle_gateway_calls", "_total") < 2:
                found = await read(served)
    known = {"provider": "fake", "model": "fake-model"}
    assert value(found, "treadle_gateway_calls", "_total", **known, status="ok") == 1
    assert value(found, "treadle_gateway_calls", "_total", model=OTHER, status="error") == 1
    assert value(found, "treadle_gateway_tokens", "_total", **known, direction="input") == 10
    requests = {"route": "/v1/chat/completions", "status": "200"}
    assert value(found, "treadle_http_request_seconds", "_count", **requests) == 1


async def test_metrics_report_the_state_of_nats(repo: Path, nats: NatsServer) -> None:
    env = {"TREADLE_BUS__URL": nats.url, "TREADLE_BUS__INGEST": "true"}
    async with serving(repo, **env) as served:
        ready = (await served.http.get("/readyz")).json()
        found = await read(served)
    assert {"name": "bus", "ready": True, "problem": None} in ready["parts"]
    assert value(found, "treadle_bus_connected") == 1
    assert value(found, "treadle_other_servers") == 0
    assert found["treadle_stream_exports_waiting"].samples[0].value == 0
    assert value(found, "treadle_traces_bytes") > 1_000


async def test_metrics_require_authentication(repo: Path) -> None:
    async with serving(repo, "--require-token") as served:
        assert (await served.http.get("/metrics")).status_code == 401
        words = ("keys", "create", "prometheus", "--scopes", "metrics")
        made = await asyncio.to_thread(treadle, *words, home=repo.parent / "home")
        key = {"Authorization": f"Bearer {made.out.strip()}"}
        for headers in ({"Authorization": f"Bearer {served.token}"}, key):
            assert (await served.http.get("/metrics", headers=headers)).status_code == 200
        assert (await served.http.get("/api/v1/runs", headers=key)).status_code == 403


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingLibraryError, match="prometheus-client") as raised:
        exposition(ServerMeasures(), {})
    assert "treadle[team]" in str(raised.value)


def test_names_beyond_the_limit_are_counted_together() -> None:
    names = Names()
    labels = {names.label(f"model-{number}") for number in range(MAX_NAMES + 50)}
    assert len(labels) == MAX_NAMES + 1
    assert OTHER in labels
    assert names.label("model-0") == "model-0"


def test_metrics_without_any_work_are_readable() -> None:
    written = exposition(ServerMeasures(), {"treadle_draining": ("The end.", 0.0)})
    text = written.content.decode()
    names = {family.name for family in text_string_to_metric_families(text)}
    assert {"treadle_ingest_spans", "treadle_draining", "treadle_build_info"} <= names
    assert GatewayMeasures().calls.items() == ()


async def test_only_the_scope_for_metrics_allows_reading_the_figures_of_all_projects(
    tmp_path: Path,
) -> None:
    async with identified(tmp_path) as server:
        server.store.projects.add("web", 1)
        others = set(Scope) - {Scope.METRICS}
        for project in ("default", "web"):
            key = server.key(*others, name="others", project=project)
            assert await server.status("/metrics", authorization=f"Bearer {key}") == 403
            session = server.session(f"{project}@example.com", Role.ADMIN, project)
            assert await server.status("/metrics", cookie=f"treadle_session={session}") == 403
