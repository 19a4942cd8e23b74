"""Every tool of the analyst through four interfaces: command line, HTTP, MCP and a session.

The command runs in this process for each call, HTTP and MCP have their own servers over the same
home, and the model of the session plays a script. All answers have the same bytes, except for the
names of fences, which each process chooses.
"""

import asyncio
import contextlib
import io
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp import Client, types

from tests.fakes.model import FakeModel, Say
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.server.serving import Served, serving
from treadle.app.application import App, open_app
from treadle.cli.main import main
from treadle.events.types import Usage
from treadle.ids import new_id
from treadle.llm.messages import ToolMessage
from treadle.paths import HOME_VARIABLE
from treadle.session import Conversation, RequestSession
from treadle.session.role import Role
from treadle.spans.span import ANALYST_LABEL, Span, SpanKind, SpanStatus
from treadle.traces import TraceStore
from treadle.ui.service import Ui
from treadle.ui.state import Change

ANALYST_TOOLS = {
    "fetch_runs",
    "fetch_spans",
    "get_run_details",
    "fetch_groups",
    "fetch_spans_summary",
    "get_span_content",
    "list_labels",
    "search_spans",
    "analyze_with_llm",
    "is_valid_for_optimize",
    "get_experiment_data",
    "evaluate_experiment_results",
    "apply_experiment_data",
    "run_experiment",
    "get_collapsed_spans",
    "navigate_to",
    "navigate_to_experiment",
    "apply_label_filter",
}
BEGIN = 1_790_000_000_000_000
MANY = 260
REQUEST = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Flights?"}]
REPLY = [{"role": "assistant", "content": "No flight was found: undefined is not a function."}]
FENCE = re.compile(r"(?<=<recorded-)[0-9a-f]{12}(?= )|(?<=</recorded-)[0-9a-f]{12}(?=>)")
VERDICTS = '{"verdicts": []}'
REFUSED = '{"ok": false, "error": "Unknown airport ZZZ"}'


def recorded() -> Iterator[Span]:
    """Runs of an agent: a model call and a tool that fails, with ids of every kind."""
    for run in range(MANY):
        trace = f"trace {run:03}/ü" if run % 2 else f"{run + 1:032x}"
        began = BEGIN + run * 60_000_000
        about: dict[str, Any] = {
            "trace_id": trace,
            "run_id": f"run-{run}",
            "thread_id": f"thread-{run % 7}",
            "labels": ("checkout", f"team {run % 3}"),
        }
        root = f"root-{run}"
        yield Span(
            span_id=root, kind=SpanKind.RUN, operation="invoke_agent", name="agent",
            start_us=began, end_us=began + 900_000, status=SpanStatus.OK, **about,
        )  # fmt: skip
        yield Span(
            span_id=f"model-{run}", parent_id=root, kind=SpanKind.MODEL, operation="chat",
            name="chat small", model="small", provider="local", start_us=began,
            end_us=began + 400_000, status=SpanStatus.OK, tokens=Usage(100, 20, 10), cost=0.002,
            input=json.dumps(REQUEST), output=json.dumps(REPLY), **about,
        )  # fmt: skip
        yield Span(
            span_id=f"tool-{run}", parent_id=root, kind=SpanKind.TOOL, operation="execute_tool",
            name="search_flights", start_us=began + 400_000, end_us=began + 800_000,
            status=SpanStatus.ERROR if run % 5 == 0 else SpanStatus.OK,
            error="Unknown airport" if run % 5 == 0 else None,
            input='{"to": "ZZZ"}', output=REFUSED, **about,
        )  # fmt: skip


Case = tuple[str, dict[str, Any]]

READING: list[Case] = [
    ("fetch_runs", {}),
    ("fetch_runs", {"threadIds": ["thread-1"], "limit": 2, "offset": 1}),
    ("fetch_runs", {"period": "last_day"}),
    ("fetch_runs", {"limit": 0}),
    *(("fetch_spans", {"limit": limit, "maxTokens": 4_000}) for limit in (1, 100, 101, 250)),
    ("fetch_spans", {"spanIds": ["model-3"], "labels": ["checkout"]}),
    ("fetch_spans", {"status": ["error"], "operationNames": ["execute_tool"]}),
    ("fetch_spans", {"threadIds": ["no such thread"]}),
    ("fetch_spans", {"spanIDs": ["model-3"]}),
    ("get_run_details", {"runId": "run-5"}),
    ("get_run_details", {"runId": "no such run"}),
    ("fetch_groups", {"groupBy": "label"}),
    ("fetch_groups", {"groupBy": "time", "bucketSize": 7_200, "limit": 3}),
    ("fetch_spans_summary", {"labels": ["checkout"]}),
    ("fetch_spans_summary", {"threadIds": ["thread-2"], "maxTokens": 3_000}),
    ("fetch_spans_summary", {"runIds": ["no such run"]}),
    ("get_span_content", {"spanIds": ["tool-5", "model-5", "unknown"]}),
    ("get_span_content", {"spanIds": [f"tool-{number}" for number in range(6)]}),
    ("get_span_content", {"spanIds": ["model-7"], "raw": True}),
    ("list_labels", {}),
    ("list_labels", {"threadId": "thread-3", "limit": 1}),
    ("search_spans", {"query": "airport"}),
    ("search_spans", {"query": ""}),
    ("analyze_with_llm", {"spanIds": ["tool-10", "model-10"], "focus": "errors"}),
    ("analyze_with_llm", {"spanIds": []}),
]
SPEAKING: list[Case] = [
    ("get_collapsed_spans", {}),
    ("get_collapsed_spans", {"offset": 1, "maxTokens": 200}),
    ("navigate_to", {"url": "/threads/thread-1"}),
    ("navigate_to", {"url": "https://evil.example/"}),
    ("navigate_to_experiment", {"spanId": "model-1"}),
    ("navigate_to_experiment", {"spanId": "tool-1"}),
    ("navigate_to_experiment", {"spanId": "unknown"}),
    ("apply_label_filter", {"action": "set", "labels": ["checkout", "team 1"], "view": "spans"}),
    ("apply_label_filter", {"action": "add", "labels": ["team 2"], "view": "spans"}),
    ("apply_label_filter", {"action": "clear", "view": "spans"}),
    ("apply_label_filter", {"action": "remove", "labels": ["a"]}),
]
TRYING: list[Case] = [
    ("is_valid_for_optimize", {"spanId": "model-2"}),
    ("is_valid_for_optimize", {"spanId": "tool-2"}),
    ("is_valid_for_optimize", {"spanId": "unknown"}),
    ("get_experiment_data", {}),
    ("get_experiment_data", {"experimentId": "unknown"}),
    ("evaluate_experiment_results", {}),
    ("apply_experiment_data", {"data": {"parameters": {"temperature": 0.5}}}),
    ("apply_experiment_data", {"data": {"temperatur": 1}}),
    ("run_experiment", {"n": 0}),
]
EMPTY: list[Case] = [
    ("fetch_runs", {}),
    ("fetch_spans", {}),
    ("fetch_groups", {"groupBy": "model"}),
    ("fetch_spans_summary", {"labels": ["checkout"]}),
    ("get_run_details", {"runId": "run-1"}),
    ("get_span_content", {"spanIds": ["a"]}),
    ("list_labels", {}),
    ("search_spans", {"query": "airport"}),
    ("analyze_with_llm", {"spanIds": ["a"]}),
    ("get_collapsed_spans", {}),
]
"""Calls with arguments that an empty store accepts."""
WRONG: list[Case] = [("fetch_runs", {"limits": 3}), ("no_such_tool", {})]


@dataclass
class Interfaces:
    """One repository and home, and the four interfaces."""

    repo: Path
    app: App
    http: Served
    mcp: str

    async def by_command(self, name: str, arguments: str) -> str:
        words = ["tools", "call", name, "--args", arguments, "--json", "--repo", str(self.repo)]
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            await asyncio.to_thread(main, words)
        assert out.getvalue().endswith("\n")
        return out.getvalue()[:-1]

    async def by_http(self, name: str, arguments: str) -> str:
        answer = await self.http.http.post(f"/api/v1/tools/{name}/call", content=arguments)
        return answer.text

    async def by_mcp(self, name: str, arguments: str) -> str:
        async with Client(self.mcp) as client:
            result = await client.call_tool(name, json.loads(arguments))
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        return content.text

    async def by_session(self, name: str, arguments: str) -> str:
        conversation = Conversation(new_id(), str(self.repo), "fake/fake-model", 0, 0)
        model = FakeModel(Say(calls=((name, arguments),)), Say("Done."))
        session = RequestSession(
            executor=self.app.executor,
            model=model,
            registry=self.app.registry,
            conversation=conversation,
            role=Role("analyst", "Look.", labels=(ANALYST_LABEL,)),
        )
        await session.run("What is wrong?")
        (message,) = (m for m in model.requests[-1].messages if isinstance(m, ToolMessage))
        return message.content

    async def same(self, name: str, arguments: str) -> str:
        """The answer of all interfaces, which must be equal except for the names of fences."""
        said = {
            "session": await self.by_session(name, arguments),
            "command": await self.by_command(name, arguments),
            "http": await self.by_http(name, arguments),
            "mcp": await self.by_mcp(name, arguments),
        }
        assert len({FENCE.sub("fence", answer) for answer in said.values()}) == 1, said
        return said["session"]


@asynccontextmanager
async def opened(folder: Path, *spans: Span) -> AsyncIterator[Interfaces]:
    home, repo = folder / "home", folder / "repo"
    repo.mkdir()
    (repo / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text(
        "[traces]\nmodels_read = 'all'\n"
        '[approvals]\nallow = ["apply_experiment_data", "run_experiment"]\n'
    )
    store = TraceStore.open(home / "data" / "traces.db")
    store.write(spans).result()
    store.close()
    verdicts = [Answer(VERDICTS)] * 100
    async with FakeProvider(verdicts) as provider:
        variables = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "key"}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {HOME_VARIABLE: str(home), **variables}.items():
                patch.setenv(name, value)
            async with (
                serving(repo, **variables) as over_http,
                serving(repo, **variables) as over_mcp,
                open_app(repo) as app,
            ):
                yield Interfaces(repo, app, over_http, f"{over_mcp.address}/mcp?tools=all")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def interfaces(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Interfaces]:
    folder = tmp_path_factory.mktemp("interfaces")
    async with opened(folder, *recorded()) as ready:
        assert ready.app.experiments is not None
        trying = ready.app.experiments.experiments
        warmer = {"parameters": {"temperature": 0.5}}
        made = trying.edit(trying.for_span("model-4").id, warmer)
        assert made.current == 1
        shown = Change(experiment_id=made.id, collapse=("tool-1", "tool-2"))
        await Ui(ready.app.ui_store).change(shown)
        yield ready


def test_every_tool_of_the_analyst_has_a_case() -> None:
    assert {name for name, _ in [*READING, *SPEAKING, *TRYING]} == ANALYST_TOOLS


def tried() -> Iterator[Any]:
    """All cases. The first of each tool always runs, the others only in slow runs."""
    seen: set[str] = set()
    for name, arguments in [*READING, *SPEAKING, *TRYING, *WRONG]:
        marks = [pytest.mark.slow] if name in seen else []
        seen.add(name)
        yield pytest.param(name, arguments, marks=marks)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("name", "arguments"), list(tried()))
async def test_all_interfaces_answer_with_the_same_bytes(
    interfaces: Interfaces, name: str, arguments: dict[str, Any]
) -> None:
    said = json.loads(await interfaces.same(name, json.dumps(arguments)))
    assert said["ok"] in {True, False}
    assert said["ok"] or said["kind"] in {"validation", "not_found", "unknown_tool"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("arguments", ["", "null", "[1]", "{", '{"limit": "two"}'])
async def test_arguments_that_are_not_an_object_get_the_same_answer(
    interfaces: Interfaces, arguments: str
) -> None:
    # Other tests may still write spans; the labels stay the same.
    said = {
        await interfaces.by_session("list_labels", arguments),
        await interfaces.by_command("list_labels", arguments),
        await interfaces.by_http("list_labels", arguments),
    }  # MCP cannot send such arguments
    assert len(said) == 1, said


@pytest.mark.asyncio(loop_scope="module")
async def test_experiment_runs_through_every_interface(interfaces: Interfaces) -> None:
    said = []
    for ask in (
        interfaces.by_session,
        interfaces.by_command,
        interfaces.by_http,
        interfaces.by_mcp,
    ):
        answer = json.loads(await ask("run_experiment", "{}"))
        assert (answer["success"], answer["runs"], answer["state"]) == (True, 1, "finished")
        assert answer["result"]["content"] == VERDICTS
        said.append((answer.keys(), answer["experimentId"]))
    assert all(each == said[0] for each in said)


@pytest.mark.asyncio(loop_scope="module")
async def test_questions_do_not_change_the_answer(interfaces: Interfaces) -> None:
    async def asked() -> list[str]:
        return [
            await interfaces.by_session("fetch_spans_summary", '{"labels": ["checkout"]}'),
            await interfaces.by_http("list_labels", "{}"),
        ]

    before = await asked()
    assert await asked() == before
    assert "treadle:analyst" not in before[1]
    own = await interfaces.by_http("fetch_runs", '{"labels": ["treadle:analyst"], "limit": 1}')
    assert json.loads(own)["data"]


@pytest.mark.slow
async def test_empty_store_gets_the_same_answer(tmp_path: Path) -> None:
    async with opened(tmp_path) as interfaces:
        for name, arguments in EMPTY:
            said = json.loads(await interfaces.same(name, json.dumps(arguments)))
            assert said["ok"] or said["kind"] == "not_found", (name, said)
