"""The five tools of experiments, called through the executor with a real gateway."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.world import World, world
from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Pause, Script, body, error, usage
from tests.gateway.running import eventually
from treadle.clock import SystemClock
from treadle.config.model import ApprovalSettings
from treadle.events import EventBus, Outcome
from treadle.events.types import ErrorKind, ToolCallCompleted, ToolProgress
from treadle.experiments.model import BatchState
from treadle.spans.span import SpanEvent
from treadle.tokens import estimate
from treadle.toolbox.experiments import experiment_tools
from treadle.tools.approvals.gate import Approvals
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor
from treadle.ui.messages import ExperimentData
from treadle.ui.service import Ui
from treadle.ui.state import Change
from treadle.ui.store import UiStore

ALLOWED = ApprovalSettings.model_validate({"allow": ["apply_experiment_data", "run_experiment"]})

WITHOUT_USAGE = body(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "b"},
                "finish_reason": "stop",
            }
        ],
    }
)


class Tools:
    """The tools behind the real executor, with an open page."""

    def __init__(self, w: World, root: Path, rules: ApprovalSettings, clock: FakeClock) -> None:
        self.bus = EventBus()
        self.world = w
        self.ui = Ui(UiStore(root / "ui.db"))
        self._registry = Registry(experiment_tools(w.experiments, self.ui))
        self._root = root
        self._rules = rules
        self._clock = clock

    async def outcome(self, name: str, **arguments: Any) -> Outcome:
        approvals = Approvals(self.bus, self._root, self._rules)
        serving = ToolExecutor(
            self.bus, self._registry, self._root, approvals=approvals, clock=self._clock
        )
        async with serving as executor:
            return await executor.call(name, json.dumps(arguments))

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        outcome = await self.outcome(name, **arguments)
        assert isinstance(outcome, ToolCallCompleted), outcome
        result: dict[str, Any] = json.loads(outcome.content)
        return result

    async def failed(self, name: str, **arguments: Any) -> tuple[ErrorKind, str | None]:
        outcome = await self.outcome(name, **arguments)
        assert not isinstance(outcome, ToolCallCompleted)
        return outcome.error.kind, outcome.error.field


@asynccontextmanager
async def tools(
    root: Path, provider: FakeProvider, *, rules: ApprovalSettings = ALLOWED, **gateway: Any
) -> AsyncIterator[tuple[Tools, FakeClock]]:
    clock = FakeClock()
    async with world(root, provider, **gateway) as w:
        yield Tools(w, root, rules, clock), clock


async def test_runnable_call_is_cached_for_five_minutes(
    tmp_path: Path,
) -> None:
    async with FakeProvider([Answer("a")]) as provider, tools(tmp_path, provider) as (t, clock):
        made = await t.world.recorded()
        first = await t.call("is_valid_for_optimize", spanId=made.span_id)
        await clock.advance(299)
        hit = await t.call("is_valid_for_optimize", spanId=made.span_id)
        await clock.advance(2)
        expired = await t.call("is_valid_for_optimize", spanId=made.span_id)
        # A new version of the span is checked again at once.
        span = t.world.store.span(made.trace_id, made.span_id)
        assert span is not None
        event = SpanEvent(span.start_us, "late")
        t.world.store.write([replace(span, events=(event,))]).result()
        changed = await t.call("is_valid_for_optimize", spanId=made.span_id)
    assert first["valid"] is True
    assert first["spanId"] == made.span_id
    assert first["operation_name"] == "chat"
    assert first["reason"] == "A chat request of 2 messages that can be run again."
    assert "_cached" not in first
    assert hit["_cached"] is True
    assert hit["_note"]
    assert {**hit, "_cached": 0, "_note": 0} == {**first, "_cached": 0, "_note": 0}
    assert expired == first
    assert changed == first


async def test_span_that_is_not_a_call_is_invalid_and_not_cached(tmp_path: Path) -> None:
    async with FakeProvider([]) as provider, tools(tmp_path, provider) as (t, _):
        for _ in range(2):
            unknown = await t.call("is_valid_for_optimize", spanId="nope")
            assert (unknown["valid"], unknown["operation_name"]) == (False, None)
            assert "_cached" not in unknown
        assert await t.failed("is_valid_for_optimize", span="x") == (ErrorKind.VALIDATION, "span")


async def test_experiment_from_span_to_verdict(tmp_path: Path) -> None:
    old, new = usage(100, 50), usage(100, 25)
    replies = [Answer("first"), *[Answer("old", usage=old), Answer("new", usage=new)] * 5]
    async with FakeProvider(replies) as provider, tools(tmp_path, provider) as (t, _):
        made = await t.world.recorded(temperature=1)
        data = await t.call("get_experiment_data", spanId=made.span_id)
        assert data["experimentData"]["parameters"] == {"temperature": 1}
        assert data["originalExperimentData"] is None
        assert (data["result"], data["running"], data["version"]) == (None, False, 0)
        assert "apply_experiment_data" in data["_next_step"]
        # Reading creates no experiment; the first change does.
        assert (data["experimentId"], data["link"]) == (None, None)
        assert t.world.experiments.list_experiments() == ([], 0)
        await t.call("apply_experiment_data", spanId=made.span_id, data={})
        assert t.world.experiments.list_experiments()[1] == 1
        none = await t.call("evaluate_experiment_results")
        assert (none["hasResults"], none["comparison"]) == (False, None)
        applied = await t.call(
            "apply_experiment_data",
            data={"system": "Answer in a word.", "parameters": {"temperature": 0, "seed": 1}},
        )
        assert applied["success"] is True
        assert applied["changed"] == [
            "messages[0].content", "parameters.temperature", "parameters.seed"
        ]  # fmt: skip
        with t.bus.subscribe(ToolProgress) as events:
            run = await t.call("run_experiment", n=5)
            heard = list[str]()
            while not heard or heard[-1] != "10 of 10 runs":
                event = (await anext(events)).event
                assert isinstance(event, ToolProgress)
                heard.append(event.text)
        evaluated = await t.call("evaluate_experiment_results")
        shown = await t.call("get_experiment_data")
    assert run["success"] is True
    assert (run["runs"], run["failed"], run["state"]) == (10, 0, "finished")
    assert run["result"]["content"] == "new"
    assert run["result"]["raw"] == [{"role": "assistant", "content": "new"}]
    comparison = evaluated["comparison"]
    assert evaluated["original"]["tokens"] == 150
    assert evaluated["new"]["tokens"] == 125
    # (125 - 150) / 150 = -16.67 %; (25 - 50) / 50 = -50 %
    assert comparison["tokens_change_percent"] == -16.67
    assert comparison["output_tokens_change_percent"] == -50
    assert comparison["cost_change_percent"] is None
    assert comparison["differences"]["tokens"] == {"n": 5, "mean": -25, "low": -25, "high": -25}
    assert comparison["output"]["diff"].splitlines()[-2:] == ["-old", "+new"]
    assert comparison["n"] == 5
    assert shown["result"]["content"] == "new"
    assert shown["originalExperimentData"]["messages"][0]["content"] == "Be brief."


async def test_invalid_change_is_refused_with_its_fields(
    tmp_path: Path,
) -> None:
    async with FakeProvider([Answer("a")]) as provider, tools(tmp_path, provider) as (t, _):
        experiment = await t.world.experiment()
        wrong = await t.call(
            "apply_experiment_data",
            experimentId=experiment.id,
            data={"parameters": {"temperature": 9}, "messages": [{"role": "x"}]},
        )
        nothing = await t.call("apply_experiment_data", experimentId=experiment.id, data={})
        unknown = await t.failed("apply_experiment_data", data={}, experimentId="nope")
        closed = await t.failed("get_experiment_data")
        extra = await t.failed("run_experiment", times=3)
    assert wrong["success"] is False
    assert wrong["changed"] == []
    assert [each["field"] for each in wrong["problems"]] == [
        "messages[0].role", "parameters.temperature"
    ]  # fmt: skip
    assert (nothing["success"], nothing["changed"], nothing["version"]) == (True, [], 0)
    assert unknown == (ErrorKind.NOT_FOUND, "experimentId")
    assert closed == (ErrorKind.NOT_FOUND, "experimentId")
    assert extra == (ErrorKind.VALIDATION, "times")


async def test_changes_and_runs_need_an_approval(tmp_path: Path) -> None:
    rules = ApprovalSettings()
    async with (
        FakeProvider([Answer("a")]) as provider,
        tools(tmp_path, provider, rules=rules) as (t, _),
    ):
        experiment = await t.world.experiment()
        for name, arguments in (
            ("apply_experiment_data", {"data": {"model": "x/y"}}),
            ("run_experiment", {}),
        ):
            kind, _field = await t.failed(name, experimentId=experiment.id, **arguments)
            assert kind in {ErrorKind.PERMISSION, ErrorKind.DENIED}
        assert t.world.experiments.get(experiment.id).current == 0
    assert len(provider.requests) == 1


async def test_answer_fits_its_tokens_and_reports_the_cut(tmp_path: Path) -> None:
    long = "word " * 20_000
    messages = [{"role": "user", "content": long}, {"role": "user", "content": "\u202eshort"}]
    async with FakeProvider([Answer(long)] * 2) as provider, tools(tmp_path, provider) as (t, _):
        experiment = await t.world.experiment(messages=messages)
        for tokens in (300, 1_500, 6_000):
            outcome = await t.outcome(
                "get_experiment_data", experimentId=experiment.id, maxTokens=tokens
            )
            assert isinstance(outcome, ToolCallCompleted)
            assert tokens / 2 < estimate(outcome.content) <= tokens
            said = json.loads(outcome.content)
            assert said["_note"].startswith("Truncated: 1 text; never write a truncated text back.")
            # Hidden characters are shown.
            assert said["experimentData"]["messages"][1]["content"] == "\\u{202e}short"
        await t.call("run_experiment", experimentId=experiment.id)
        evaluated = await t.outcome("evaluate_experiment_results", experimentId=experiment.id)
        assert isinstance(evaluated, ToolCallCompleted)
        assert estimate(evaluated.content) <= 1_500
        again = await t.outcome("evaluate_experiment_results", experimentId=experiment.id)
        assert isinstance(again, ToolCallCompleted)
        assert again.content == evaluated.content


async def test_single_run_is_compared_with_the_recorded_call(tmp_path: Path) -> None:
    replies = [Answer("a", usage=usage(10, 0)), Answer("b", usage=usage(20, 10))]
    async with FakeProvider(replies) as provider, tools(tmp_path, provider) as (t, _):
        experiment = await t.world.experiment()
        run = await t.call("run_experiment", experimentId=experiment.id)
        evaluated = await t.call("evaluate_experiment_results", experimentId=experiment.id)
    assert run["runs"] == 1
    assert evaluated["original"]["variant"] == "recorded"
    assert evaluated["original"]["output"] == "a"
    assert evaluated["comparison"]["tokens_change_percent"] == 200
    # The change from 0 to 10 tokens has no percentage.
    assert evaluated["comparison"]["output_tokens_change_percent"] is None
    assert evaluated["comparison"]["verdict"] == "not enough runs"


async def test_open_page_receives_changes_and_runs(tmp_path: Path) -> None:
    replies = [Answer("a"), Answer("b")]
    async with FakeProvider(replies) as provider, tools(tmp_path, provider) as (t, _):
        experiment = await t.world.experiment()
        store = UiStore(tmp_path / "ui.db")
        store.renew_pages(("tab",), SystemClock().now_us())
        change = {"parameters": {"temperature": 0.25}}
        for _again in range(2):  # a change without effect is not reported
            await t.call("apply_experiment_data", data=change, experimentId=experiment.id)
        await t.call("run_experiment", experimentId=experiment.id)
        told = [(asked.page, asked.request) for asked in store.requests_after(0)]
    assert told == [
        ("tab", {"type": "apply_experiment_data", "data": change}),
        ("tab", {"type": "run_experiment"}),
    ]


async def test_failed_run_reports_the_reason(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("a"), error(400, "no such thing")]) as provider,
        tools(tmp_path, provider) as (t, _),
    ):
        experiment = await t.world.experiment()
        run = await t.call("run_experiment", experimentId=experiment.id)
        evaluated = await t.call("evaluate_experiment_results", experimentId=experiment.id)
    assert (run["success"], run["failed"]) == (False, 1)
    assert "no such thing" in run["error"]
    assert evaluated["comparison"]["verdict"] == "failure"


async def test_cancelled_call_cancels_the_batch_and_keeps_its_runs(tmp_path: Path) -> None:
    replies: list[Reply] = [Answer("x"), Answer("1"), Script(before=(Pause(),))]
    async with FakeProvider(replies) as provider, tools(tmp_path, provider) as (t, _):
        experiment = await t.world.experiment()
        running = asyncio.create_task(t.outcome("run_experiment", experimentId=experiment.id, n=3))
        await provider.wait_for_requests(3)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        (batch,) = t.world.experiments.batches(experiment.id)
    assert batch.state is BatchState.CANCELLED
    assert [each.content for each in batch.outcomes.values()] == ["1"]


@pytest.mark.parametrize("answer", ["failed", "no figures"])
async def test_figures_of_one_side_are_shown_without_the_other(tmp_path: Path, answer: str) -> None:
    known = Answer("a", usage=usage(10, 5))
    new = error(400, "no") if answer == "failed" else WITHOUT_USAGE
    async with FakeProvider([known, new]) as provider, tools(tmp_path, provider) as (t, _):
        experiment = await t.world.experiment()
        await t.call("run_experiment", experimentId=experiment.id)
        found = await t.call("evaluate_experiment_results", experimentId=experiment.id)
    assert (found["original"]["tokens"], found["original"]["input_tokens"]) == (15, 10)
    assert found["original"]["duration_ms"] is not None
    assert found["new"]["tokens"] is None
    assert found["comparison"]["tokens_change_percent"] is None


async def test_figures_of_the_new_run_are_shown_without_recorded_ones(tmp_path: Path) -> None:
    replies: list[Reply] = [WITHOUT_USAGE, Answer("b", usage=usage(10, 5))]
    async with FakeProvider(replies) as provider, tools(tmp_path, provider) as (t, _):
        experiment = await t.world.experiment()
        await t.call("run_experiment", experimentId=experiment.id)
        found = await t.call("evaluate_experiment_results", experimentId=experiment.id)
    assert (found["original"]["tokens"], found["new"]["tokens"]) == (None, 15)
    assert found["comparison"]["tokens_change_percent"] is None


@pytest.mark.parametrize(
    ("model", "missing"),
    [
        ("nowhere/m", "There is no model 'nowhere/m'"),
        ("openai/gpt-x", "openai needs a key, and OPENAI_API_KEY is not set"),
        ("fake/gone", "The provider fake does not list a model 'gone'"),
        ("gone", "There is no model 'gone'"),
    ],
)
async def test_call_with_an_unavailable_model_is_invalid_with_a_reason(
    tmp_path: Path, model: str, missing: str
) -> None:
    async with (
        FakeProvider([Answer("a")]) as provider,
        tools(tmp_path, provider, models=("m", "small-2")) as (t, _),
    ):
        made = await t.world.recorded()
        span = t.world.store.span(made.trace_id, made.span_id)
        assert span is not None
        provider_name, _, name = model.rpartition("/")
        attributes = {**span.attributes, "gen_ai.request.model": name}
        attributes.pop("gen_ai.provider.name", None)
        other = replace(
            span,
            span_id="other",
            provider=provider_name or None,
            model=name,
            attributes=attributes,
        )
        t.world.store.write([other]).result()
        told = await t.call("is_valid_for_optimize", spanId="other")
        again = await t.call("is_valid_for_optimize", spanId="other")
    assert told["valid"] is False
    assert missing in told["reason"]
    assert "fake/m" in told["reason"]  # a model to choose instead
    assert "_cached" not in again


async def test_unsaved_input_in_the_open_form_is_read(
    tmp_path: Path,
) -> None:
    async with FakeProvider([Answer("a")]) as provider, tools(tmp_path, provider) as (t, _):
        experiment = await t.world.experiment()
        await t.ui.change(Change(experiment_id=experiment.id))
        saved = await t.call("get_experiment_data")
        typed = {**saved["experimentData"], "parameters": {"temperature": 0.75}}
        answer = ExperimentData(experimentData=typed)
        store = UiStore(tmp_path / "ui.db")
        store.renew_pages(("tab",), SystemClock().now_us())

        async def page() -> None:
            await eventually(lambda: bool(store.requests_after(0)))
            await t.ui.answer(store.requests_after(0)[0].id, answer)

        answering = asyncio.create_task(page())
        read = await t.call("get_experiment_data")
        await answering
    assert (saved["unsaved"], read["unsaved"]) == (False, True)
    assert read["experimentData"]["parameters"] == {"temperature": 0.75}
    assert read["version"] == 0
    assert "unsaved changes" in read["_note"]
