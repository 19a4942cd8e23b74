"""Over MCP a client reads only the records of the served repository."""

import asyncio
import json
from contextlib import closing
from pathlib import Path

import pytest
from mcp import Client

from tests.cli.command import treadle
from tests.experiments.world import world
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.mcp.serving import client, failure, ok, recorded
from tests.server.serving import serving
from tests.spans.runs import span
from treadle.experiments.store import ExperimentStore
from treadle.spans.span import SpanKind
from treadle.traces import TraceStore


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    return folder


@pytest.fixture
def other(tmp_path: Path, home: Path, repo: Path) -> str:
    """A run of another repository. A program without a repository sent a span too."""
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    (elsewhere / "secret.py").write_text("PLAN = 'acquire the competitor'\n")
    arguments = json.dumps({"path": "secret.py"})
    treadle("tools", "call", "read_file", "--args", arguments, home=home, repo=elsewhere)
    (run,) = recorded(home)
    treadle("tools", "call", "grep", "--args", '{"pattern": "add"}', home=home, repo=repo)
    path = home / "data" / "traces.db"
    with closing(TraceStore.open(path)) as store:
        store.write([span("program", kind=SpanKind.RUN, trace_id="9" * 32)]).result()
    return str(run["run_id"])


async def names(connected: Client) -> list[str]:
    found = ok(await connected.call_tool("fetch_runs", {}))
    return [run["name"] for run in found["data"]]


async def test_runs_of_other_repositories_and_programs_cannot_be_read(
    home: Path, repo: Path, other: str
) -> None:
    async with client(home, repo=repo, tools="traces") as connected:
        assert await names(connected) == ["execute_tool grep"]
        refused = failure(await connected.call_tool("get_run_details", {"runId": other}))
        summary = ok(await connected.call_tool("fetch_spans_summary", {"since": "1970-01-01"}))
        hits = ok(await connected.call_tool("search_spans", {"query": "competitor"}))
        labels = ok(await connected.call_tool("list_labels", {}))
        trace = json.loads(treadle("traces", "show", other, "--json", home=home).out)
        ids = {"spanIds": [trace["spans"][0]["span_id"]], "raw": True}
        content = ok(await connected.call_tool("get_span_content", ids))
    assert refused["kind"] == "not_found"
    assert summary["summary"]["total_spans"] == 1
    assert hits["data"] == []
    assert content["data"] == []
    assert labels["data"] == []


async def test_experiments_of_other_repositories_cannot_be_read(home: Path, repo: Path) -> None:
    async with FakeProvider([Answer("PLAN")]) as provider, world(home, provider) as made:
        secret = await made.recorded(messages=[{"role": "user", "content": "acquire them"}])
        experiment = await asyncio.to_thread(made.experiments.from_spans, [secret.span_id])
    (home / "traces.db").rename(home / "data" / "traces.db")
    with closing(ExperimentStore(home / "data" / "experiments.db")) as store:
        assert store.experiment(experiment.id).items
    calls = [
        ("is_valid_for_optimize", {"spanId": secret.span_id}),
        ("get_experiment_data", {"spanId": secret.span_id}),
        ("get_experiment_data", {"spanId": f"{secret.trace_id}/{secret.span_id}"}),
        ("get_experiment_data", {"spanId": secret.trace_id}),
        ("get_experiment_data", {"spanId": "LAST"}),
        ("get_experiment_data", {"experimentId": experiment.id}),
        ("get_experiment_data", {"experimentId": "LAST"}),
        ("evaluate_experiment_results", {"experimentId": experiment.id}),
    ]
    async with client(home, repo=repo, tools="experiments") as connected:
        answers = [str(await connected.call_tool(name, given)) for name, given in calls]
    assert not [each for each in answers if "acquire" in each or "PLAN" in each]
    async with client(home, repo=repo, tools="experiments", flags=["--all-traces"]) as connected:
        given = {"experimentId": experiment.id}
        assert "acquire them" in str(ok(await connected.call_tool("get_experiment_data", given)))


async def test_option_allows_all_traces(home: Path, repo: Path, other: str) -> None:
    async with client(home, repo=repo, tools="traces", flags=["--all-traces"]) as connected:
        assert len(await names(connected)) == 3
        assert ok(await connected.call_tool("get_run_details", {"runId": other}))


async def test_clients_over_http_read_one_repository(home: Path, repo: Path, other: str) -> None:
    async with serving(repo) as served:
        async with Client(f"{served.address}/mcp?tools=traces") as connected:
            assert await names(connected) == ["execute_tool grep"]
            refused = failure(await connected.call_tool("get_run_details", {"runId": other}))
        assert refused["kind"] == "not_found"
        assert (await served.get("/runs"))["pagination"]["total"] == 3


async def test_a_person_lists_the_runs_of_one_repository(home: Path, other: str) -> None:
    trace = json.loads(treadle("traces", "show", other, "--json", home=home).out)
    (label,) = trace["spans"][0]["labels"]
    wanted = label.removeprefix("treadle:")
    assert wanted.startswith("repository:")
    listed = json.loads(treadle("traces", "list", wanted, "--json", home=home).out)
    assert [run["run_id"] for run in listed["data"]] == [other]
    listed = json.loads(treadle("traces", "list", "NOT repository:*", "--json", home=home).out)
    assert [run["trace_id"] for run in listed["data"]] == ["9" * 32]


async def test_the_label_of_a_repository_is_in_no_list(home: Path, repo: Path, other: str) -> None:
    assert [run["labels"] for run in recorded(home)] == [[], [], []]
    async with serving(repo) as served:
        assert (await served.get("/labels"))["data"] == []
        assert (await served.get("/groups", group_by="label"))["data"] == []
        facets = await served.get("/facets", rows="spans")
        assert "treadle:repository" not in json.dumps(facets)
        listed = (await served.get("/spans"))["data"]
        assert {label for span in listed for label in span["labels"]} == set()
        summary = await served.get("/summary")
        assert "treadle:repository" not in json.dumps(summary)
