"""The tools that speak to the page, called as a session calls them, with and without a page."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from treadle.events import EventBus
from treadle.events.changes import UiRequested
from treadle.events.types import ErrorKind, ToolCallCompleted
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.tokens import estimate
from treadle.toolbox.ui import ui_tools
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor
from treadle.traces import TraceStore
from treadle.ui.feed import UiFeed
from treadle.ui.messages import CollapsedSpans, Done, UiAnswer
from treadle.ui.service import Ui
from treadle.ui.state import Change, View
from treadle.ui.store import UiStore

PATIENCE = 0.4


@pytest.fixture
def ui_store(tmp_path: Path) -> Iterator[UiStore]:
    store = UiStore(tmp_path / "ui.db")
    yield store
    store.close()


@pytest.fixture
def traces(tmp_path: Path) -> Iterator[TraceStore]:
    store = TraceStore.open(tmp_path / "traces.db")
    spans = [
        Span(
            trace_id="a trace/1", span_id=span_id, kind=kind, operation=operation,
            name=span_id, start_us=1_000, end_us=2_000, status=SpanStatus.OK,
        )
        for span_id, kind, operation in (
            ("call", SpanKind.MODEL, "chat"), ("tool", SpanKind.TOOL, "execute_tool"),
        )
    ]  # fmt: skip
    store.write(spans).result()
    yield store
    store.close()


class Tools:
    """The four tools behind the real executor."""

    def __init__(self, ui_store: UiStore, traces: TraceStore, root: Path) -> None:
        self.bus = EventBus()
        self.ui = Ui(ui_store, patience=PATIENCE)
        self.feed = UiFeed(ui_store, self.bus)
        self._registry = Registry(ui_tools(self.ui, traces))
        self._root = root

    @asynccontextmanager
    async def page(self, name: str, answer: UiAnswer | None) -> AsyncIterator[list[UiRequested]]:
        """A page that gives that answer to whatever it is asked; it keeps what that was."""
        asked: list[UiRequested] = []
        with self.bus.subscribe(UiRequested) as events:

            async def follow() -> None:
                async for envelope in events:
                    assert isinstance(envelope.event, UiRequested)
                    if envelope.event.page == name:
                        asked.append(envelope.event)
                        if answer is not None:
                            await self.ui.answer(envelope.event.ui_id, answer)

            async with self.feed.attended(name):
                following = asyncio.create_task(follow())
                yield asked
                following.cancel()

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        async with ToolExecutor(self.bus, self._registry, self._root) as executor:
            outcome = await executor.call(name, json.dumps(arguments))
        assert isinstance(outcome, ToolCallCompleted), outcome
        result: dict[str, Any] = json.loads(outcome.content)
        return result

    async def failed(self, name: str, **arguments: Any) -> tuple[ErrorKind, str]:
        async with ToolExecutor(self.bus, self._registry, self._root) as executor:
            outcome = await executor.call(name, json.dumps(arguments))
        assert not isinstance(outcome, ToolCallCompleted)
        return outcome.error.kind, outcome.error.message


@pytest.fixture
async def tools(ui_store: UiStore, traces: TraceStore, tmp_path: Path) -> AsyncIterator[Tools]:
    made = Tools(ui_store, traces, tmp_path)
    async with made.feed:
        yield made


async def test_last_used_page_opens_the_address(tools: Tools) -> None:
    went = Done(type="navigate_to_response", success=True)
    async with tools.page("first", went) as first, tools.page("last", went) as last:
        await tools.ui.change(Change(), by="last")
        result = await tools.call("navigate_to", url="/traces/a?span=b")
        assert (result["success"], result["navigated"], result["page"]) == (True, True, "last")
        assert result["message"] == "The page shows /traces/a?span=b."
        assert [each.request for each in last] == [
            {"type": "navigate_to", "url": "/traces/a?span=b"}
        ]
        assert first == []
        pages = await tools.ui.pages()
        assert (pages[0].id, pages[0].location) == ("last", "/traces/a?span=b")


async def test_address_is_saved_without_a_page(tools: Tools) -> None:
    result = await tools.call("navigate_to", url="/runs")
    assert (result["success"], result["navigated"]) == (True, False)
    assert result["message"] == "No page is connected, so nobody saw it: it opens at /runs."
    assert "page" not in result
    assert (await tools.ui.state()).location == "/runs"


async def test_silent_page_and_refusing_page_are_distinguished(tools: Tools) -> None:
    async with tools.page("silent", None):
        silent = await tools.call("navigate_to", url="/runs")
    assert (silent["success"], silent["navigated"], silent["page"]) == (True, False, "silent")
    assert "did not answer in time" in silent["message"]
    refused = Done(type="navigate_to_response", success=False, error="The form is not saved.")
    async with tools.page("busy", refused):
        await tools.ui.change(Change(), by="busy")
        kept = await tools.call("navigate_to", url="/threads")
    assert (kept["success"], kept["navigated"]) == (False, False)
    assert kept["message"] == "The form is not saved."
    assert (await tools.ui.state()).location == "/runs"


async def test_foreign_address_is_refused(tools: Tools) -> None:
    kind, message = await tools.failed("navigate_to", url="https://evil.example/traces")
    assert kind is ErrorKind.VALIDATION
    assert "not an address of the page" in message
    assert (await tools.ui.state()).location == "/"


async def test_experiment_needs_a_model_call(tools: Tools) -> None:
    url = "/experiments/new?trace=a%20trace%2F1&span=call"
    went = Done(type="navigate_to_experiment_response", success=True)
    async with tools.page("tab", went) as asked:
        result = await tools.call("navigate_to_experiment", spanId="call")
    assert (result["url"], result["navigated"]) == (url, True)
    assert asked[0].request == {"type": "navigate_to_experiment", "spanId": "call", "url": url}
    assert await tools.failed("navigate_to_experiment", spanId="nowhere") == (
        ErrorKind.NOT_FOUND,
        "There is no span 'nowhere'.",
    )
    assert await tools.failed("navigate_to_experiment", spanId="tool") == (
        ErrorKind.VALIDATION,
        "The span 'tool' is not a model call; its operation is execute_tool.",
    )


async def test_labels_are_set_added_and_cleared(tools: Tools) -> None:
    async def apply(action: str, *labels: str, **more: str) -> list[str]:
        result = await tools.call("apply_label_filter", action=action, labels=labels, **more)
        assert result["success"]
        assert result["action"] == action
        applied: list[str] = result["applied_labels"]
        return applied

    assert await apply("set", "b", "a", "b") == ["b", "a"]
    assert await apply("add", "c", "a") == ["b", "a", "c"]
    assert await apply("add", "x", view="threads") == ["x"]
    assert (await tools.ui.state()).label_filters == {
        View.THREADS: ("x",),
        View.RUNS: ("b", "a", "c"),
    }
    assert await apply("clear", "a", "unknown") == ["b", "c"]
    assert await apply("clear") == []
    await tools.ui.change(Change(location="/threads"))
    assert await apply("clear") == []
    assert (await tools.ui.state()).label_filters == {}


async def test_invalid_filter_is_refused(tools: Tools) -> None:
    for arguments in (
        {"action": "set"},
        {"action": "add", "labels": []},
        {"action": "drop", "labels": ["a"]},
        {"action": "set", "labels": [""]},
        {"action": "set", "labels": ["a"], "view": "nowhere"},
        {"action": "set", "labels": ["a"], "lables": ["b"]},
    ):
        kind, _ = await tools.failed("apply_label_filter", **arguments)
        assert kind is ErrorKind.VALIDATION
    many = [str(number) for number in range(40)]
    await tools.call("apply_label_filter", action="set", labels=many)
    more = [f"more {number}" for number in range(11)]
    kind, message = await tools.failed("apply_label_filter", action="add", labels=more)
    assert kind is ErrorKind.LIMIT
    assert "this filter would have 51" in message


async def test_page_receives_its_filter(tools: Tools) -> None:
    applied = Done(type="apply_label_filter_response", success=True, applied_labels=("a",))
    async with tools.page("tab", applied) as asked:
        result = await tools.call("apply_label_filter", action="set", labels=["a"], view="spans")
    assert result["message"] == "On the page spans are filtered by a."
    assert asked[0].request == {
        "type": "apply_label_filter",
        "labels": ["a"],
        "action": "set",
        "view": "spans",
    }


async def test_refused_filter_stays_unchanged(tools: Tools) -> None:
    await tools.call("apply_label_filter", action="set", labels=["old"], view="runs")
    refused = Done(type="apply_label_filter_response", success=False, error="The list is gone.")
    async with tools.page("tab", refused):
        for action, labels in (("set", ["new"]), ("add", ["new"]), ("clear", [])):
            result = await tools.call(
                "apply_label_filter", action=action, labels=labels, view="runs"
            )
            assert (result["success"], result["applied_labels"]) == (False, ["old"])
            assert result["message"] == (
                "The page did not change the filter of runs: The list is gone."
            )
    assert (await tools.ui.state()).label_filters == {View.RUNS: ("old",)}


async def test_an_experiment_is_opened_by_the_ids_that_lists_show(tools: Tools) -> None:
    for reference in ("call", "a trace/1/call"):
        result = await tools.call("navigate_to_experiment", spanId=reference)
        assert result["success"]
    assert (await tools.failed("navigate_to_experiment", spanId="other/call"))[0] is (
        ErrorKind.NOT_FOUND
    )


async def test_collapsed_spans_come_from_the_page_or_the_saved_state(tools: Tools) -> None:
    await tools.ui.change(Change(collapse=("known",)))
    without = await tools.call("get_collapsed_spans")
    assert without["collapsedSpanIds"] == ["known"]
    assert without["_note"].startswith("No page is connected")
    answer = CollapsedSpans(collapsedSpanIds=("x", "y"))
    async with tools.page("tab", answer):
        asked = await tools.call("get_collapsed_spans")
    assert (asked["collapsedSpanIds"], asked["total"], asked["page"]) == (["x", "y"], 2, "tab")
    assert "_note" not in asked
    async with tools.page("silent", None):
        await tools.ui.change(Change(), by="silent")
        silent = await tools.call("get_collapsed_spans")
    assert silent["collapsedSpanIds"] == ["known"]
    assert silent["_note"].startswith("The page did not answer in time")


async def test_many_collapsed_spans_are_paged(tools: Tools) -> None:
    ids = tuple(f"{number:016x}" for number in range(1_000))
    await tools.ui.change(Change(collapse=ids))
    seen: list[str] = []
    while True:
        part = await tools.call("get_collapsed_spans", offset=len(seen), maxTokens=2_000)
        assert estimate(json.dumps(part, separators=(",", ":"))) <= 2_000
        assert part["total"] == 1_000
        seen += part["collapsedSpanIds"]
        if "more" not in part:
            break
        assert part["more"].endswith(f"call again with offset {len(seen)}.")
    assert tuple(seen) == ids
