"""Batches with a real gateway: requests, records, cancellation, killed processes, resumption."""

import asyncio
import itertools
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.world import MESSAGES, World, world
from tests.fakes.provider import FakeProvider, RecordedRequest, Reply
from tests.fakes.replies import Answer, Call, Pause, Script, error, usage
from tests.gateway.running import eventually
from treadle.errors import UsageError
from treadle.experiments.model import BatchState, Budget, Cell, Progress, run_id, thread_id
from treadle.experiments.service import InvalidRequestError
from treadle.spans.span import SpanStatus

pytestmark = pytest.mark.usefixtures("experiments_engine")


def told(prompt: int, completion: int) -> dict[str, Any]:
    return dict(usage(prompt, completion))


async def test_call_is_repeated_as_recorded(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Hi {{x}} é"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{oops"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": "no\ud800tes"},
    ]
    asked: dict[str, Any] = {
        "messages": messages,
        "temperature": 0.5,
        "max_completion_tokens": 99,
        "stop": ["END"],
        "seed": 4,
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_object"},
        "parallel_tool_calls": False,
        "user": "u",
        "tools": tools,
        "stream": True,
    }
    async with (
        FakeProvider([Answer("a")] * 2, strict=False) as provider,
        world(tmp_path, provider) as w,
    ):
        experiment = await w.experiment(**asked)
        batch = w.experiments.plan(experiment.id, repeats=1)
        await w.experiments.run_batch(batch.id)
    first, second = (request.body for request in provider.requests)
    assert second == first
    assert second["model"] == "m"


async def test_runs_alternate_between_variants_in_their_own_thread(
    tmp_path: Path,
) -> None:
    async with FakeProvider([Answer("a")] * 7) as provider, world(tmp_path, provider) as w:
        experiment = await w.experiment()
        patch = {"variables": {"topic": "Rust"}, "headers": {"X-Mine": "1"}}
        w.experiments.edit(experiment.id, patch)
        heard = list[Progress]()
        planned = w.experiments.plan(experiment.id, repeats=2, variants=["original", "v1@fake/n"])
        batch = await w.experiments.run_batch(planned.id, heard.append)
        spans = w.spans(thread_id(experiment.id))
        users = w.spans("thread")
    asked = [(r.body["model"], r.messages[1]["content"]) for r in provider.requests[1:]]
    assert asked == [("m", "What is {{topic}}?"), ("n", "What is Rust?")] * 2
    assert [r.headers.get("x-mine") for r in provider.requests[1:]] == [None, "1"] * 2
    assert [(progress.done, progress.total) for progress in heard] == [(n, 4) for n in range(5)]
    assert batch.state is BatchState.FINISHED
    assert len(spans) == 4
    assert len(users) == 1  # the users' thread does not contain these calls
    assert {span.run_id for span in spans} == {run_id(batch, cell) for cell in batch.outcomes}
    assert spans[1].labels == ("treadle:experiment", "treadle:experiment:v1 with fake/n")
    assert {outcome.span_id for outcome in batch.outcomes.values()} == {s.span_id for s in spans}


async def test_outcome_is_read_from_the_span(tmp_path: Path) -> None:
    replies: list[Reply] = [
        Answer("x"),
        Answer("ok", calls=[Call("f", {"a": 1})], usage=told(11, 7)),
    ]
    async with FakeProvider(replies, strict=False) as provider, world(tmp_path, provider) as w:
        experiment = await w.experiment()
        batch = w.experiments.plan(experiment.id, repeats=1)
        batch = await w.experiments.run_batch(batch.id)
        (outcome,) = batch.outcomes.values()
        span = w.store.span(outcome.trace_id, outcome.span_id)
    assert span is not None
    assert (outcome.content, outcome.error) == ("ok", None)
    assert [(use.name, json.loads(use.arguments)) for use in outcome.tool_calls] == [
        ("f", {"a": 1})
    ]
    assert (outcome.input_tokens, outcome.output_tokens, outcome.tokens) == (11, 7, 18)
    assert (outcome.duration_us, outcome.raw) == (span.duration_us, span.output)
    assert outcome.finish_reason == "tool_calls"


async def test_call_with_two_attempts_is_one_run_with_the_usage_of_both(tmp_path: Path) -> None:
    replies: list[Reply] = [Answer("x"), error(500), Answer("ok", usage=told(3, 4))]
    async with FakeProvider(replies) as provider, world(tmp_path, provider) as w:
        tables = w.caller._settings.providers["fake"]
        object.__setattr__(tables, "max_retries", 1)
        experiment = await w.experiment()
        batch = w.experiments.plan(experiment.id, repeats=1)
        batch = await w.experiments.run_batch(batch.id)
    (outcome,) = batch.outcomes.values()
    assert (outcome.content, outcome.error, outcome.tokens) == ("ok", None, 7)


async def test_failed_runs_are_stored_and_repeated_on_request(tmp_path: Path) -> None:
    replies: list[Reply] = [Answer("x"), error(400), Answer("a"), Answer("b")]
    async with FakeProvider(replies) as provider, world(tmp_path, provider) as w:
        experiment = await w.experiment()
        batch = w.experiments.plan(experiment.id, repeats=2)
        batch = await w.experiments.run_batch(batch.id)
        errors = [outcome.error is not None for outcome in batch.outcomes.values()]
        again = await w.experiments.run_batch(batch.id, retry_failed=True)
    assert errors == [True, False]
    assert [outcome.content for outcome in again.outcomes.values()] == ["b", "a"]
    assert len(provider.requests) == 4


async def test_unknown_model_is_a_failed_run(tmp_path: Path) -> None:
    async with FakeProvider([Answer("x")]) as provider, world(tmp_path, provider) as w:
        experiment = await w.experiment()
        batch = w.experiments.plan(experiment.id, repeats=1, models=["nowhere/x"])
        batch = await w.experiments.run_batch(batch.id)
    (outcome,) = batch.outcomes.values()
    assert outcome.error is not None
    assert "There is no model 'nowhere/x'" in outcome.error


async def test_run_ends_at_its_timeout(tmp_path: Path) -> None:
    never = Script(before=(Pause(),))
    async with (
        FakeProvider([Answer("x"), never, Answer("ok")]) as provider,
        world(tmp_path, provider) as w,
    ):
        experiment = await w.experiment()
        batch = w.experiments.plan(experiment.id, repeats=2, seconds_each=0.2)
        batch = await w.experiments.run_batch(batch.id)
        late, good = batch.outcomes.values()
        span = w.store.span(late.trace_id, late.span_id)
    assert (late.error, late.error_type) == ("It took longer than 0.2 s.", "timeout")
    assert good.error is None
    assert span is not None
    assert span.status is SpanStatus.CANCELLED
    assert provider.requests[1].hung_up.is_set()


async def test_budget_ends_a_batch_and_a_larger_budget_resumes_it(tmp_path: Path) -> None:
    replies: list[Reply] = [Answer("x"), *[Answer("a", usage=told(10, 10))] * 6]
    async with FakeProvider(replies) as provider, world(tmp_path, provider) as w:
        experiment = await w.experiment()
        batch = w.experiments.plan(experiment.id, repeats=6, budget=Budget(tokens=50))
        batch = await w.experiments.run_batch(batch.id)
        # 20, 40, 60: the third run starts at 40, and no run starts at 60.
        assert len(batch.outcomes) == 3
        assert batch.state is BatchState.OUT_OF_BUDGET
        assert batch.reason == "The budget of tokens is used up: 60 tokens."
        again = await w.experiments.run_batch(batch.id)
        assert len(again.outcomes) == 3
        last = await w.experiments.run_batch(batch.id, budget=Budget(tokens=1_000))
    assert (last.state, len(last.outcomes)) == (BatchState.FINISHED, 6)


async def test_cancelled_batch_keeps_its_runs_and_is_resumed(tmp_path: Path) -> None:
    replies: list[Reply] = [Answer("x"), Answer("1"), Answer("2"), Script(before=(Pause(),))]
    async with FakeProvider(replies) as provider, world(tmp_path, provider) as w:
        experiment = await w.experiment()
        planned = w.experiments.plan(experiment.id, repeats=4)
        running = asyncio.create_task(w.experiments.run_batch(planned.id))
        await provider.wait_for_requests(4)
        assert w.experiments.batch(planned.id).state is BatchState.RUNNING
        with pytest.raises(UsageError, match="running"):
            await w.experiments.run_batch(planned.id)
        with pytest.raises(UsageError, match="running"):
            w.experiments.delete(experiment.id)
        w.experiments.cancel(planned.id)
        cancelled = await running
        assert cancelled.state is BatchState.CANCELLED
        assert await asyncio.to_thread(provider.requests[3].hung_up.is_set)
        provider.add(Answer("3"), Answer("4"))
        resumed = await w.experiments.run_batch(planned.id)
    assert [each.content for each in cancelled.outcomes.values()] == ["1", "2"]
    assert [each.content for each in resumed.outcomes.values()] == ["1", "2", "3", "4"]
    kept = [resumed.outcomes[cell].span_id for cell in cancelled.outcomes]
    assert kept == [each.span_id for each in cancelled.outcomes.values()]


async def test_cancelling_the_task_cancels_the_batch(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("x"), Script(before=(Pause(),))]) as provider,
        world(tmp_path, provider) as w,
    ):
        experiment = await w.experiment()
        planned = w.experiments.plan(experiment.id, repeats=1)
        running = asyncio.create_task(w.experiments.run_batch(planned.id))
        await provider.wait_for_requests(2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        batch = w.experiments.batch(planned.id)
    assert batch.state is BatchState.CANCELLED
    assert batch.reason == "The program that ran it was terminated."


async def test_concurrent_runs_overlap_and_each_runs_once(tmp_path: Path) -> None:
    gate = asyncio.Event()
    slow = Script(before=(Pause(event=gate),), steps=Answer("a").script(stream=False).steps,
                  headers=Answer("a").script(stream=False).headers)  # fmt: skip
    async with FakeProvider([Answer("x"), *[slow] * 6]) as provider, world(tmp_path, provider) as w:
        experiment = await w.experiment()
        planned = w.experiments.plan(experiment.id, repeats=6, at_once=3)
        running = asyncio.create_task(w.experiments.run_batch(planned.id))
        await provider.wait_for_requests(4)
        await asyncio.sleep(0.1)
        assert len(provider.requests) == 4
        gate.set()
        batch = await running
    assert len(batch.outcomes) == 6
    assert len(provider.requests) == 7


async def _killed(home: Path, provider: FakeProvider, batch_id: str, requests: int) -> None:
    """Run a batch in a process, and kill it after that number of requests to the provider."""
    code = "import sys\nfrom tests.experiments.killed import main\nmain(*sys.argv[1:])"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(home), provider.base_url, batch_id
    )  # fmt: skip
    await provider.wait_for_requests(requests)
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()


async def test_killed_process_loses_and_repeats_no_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    replies: list[Reply] = [Answer("x"), Answer("1"), Answer("2"), Script(before=(Pause(),))]
    async with FakeProvider(replies) as provider, world(home, provider) as w:
        experiment = await w.experiment()
        planned = w.experiments.plan(experiment.id, repeats=4)
        await _killed(home, provider, planned.id, 4)
        provider.add(Answer("3"), Answer("4"))
        async with world(home, provider) as later:
            batch = later.experiments.batch
            await eventually(lambda: batch(planned.id).state is not BatchState.RUNNING)
            found = batch(planned.id)
            resumed = await later.experiments.run_batch(planned.id)
    assert found.state is BatchState.INTERRUPTED
    assert found.reason == "The program that ran it ended early."
    assert [each.content for each in found.outcomes.values()] == ["1", "2"]
    assert [each.content for each in resumed.outcomes.values()] == ["1", "2", "3", "4"]
    assert len(provider.requests) == 6  # the interrupted run is repeated


async def test_answer_recorded_before_the_kill_is_reused(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("x"), Answer("paid for"), Answer("2")]) as provider,
        world(tmp_path, provider) as w,
    ):
        experiment = await w.experiment()
        batch = w.experiments.plan(experiment.id, repeats=2)
        # The state after a kill between the trace record and the experiment file.
        cell = Cell(0, 0, 0)
        w.experiments._store.begin(batch.id, cell)
        await _asked_for(w, run_id(batch, cell))
        resumed = await w.experiments.run_batch(batch.id)
    assert [each.content for each in resumed.outcomes.values()] == ["paid for", "2"]
    assert len(provider.requests) == 3


async def _asked_for(w: World, run: str) -> None:
    from treadle.experiments.caller import CallRequest

    await w.caller.call(CallRequest({"model": "fake/m", "messages": MESSAGES}, "t", run))
    await eventually(lambda: bool(w.store.run(run).spans))


async def test_invalid_batch_is_refused_before_any_call(tmp_path: Path) -> None:
    async with FakeProvider([Answer("x")]) as provider, world(tmp_path, provider) as w:
        experiment = await w.experiment()
        for wrong in ({"variants": ["v1"]}, {"variants": ["x"]}, {"repeats": 0}, {"repeats": 101}):
            with pytest.raises(UsageError):
                w.experiments.plan(experiment.id, **wrong)
        with pytest.raises(InvalidRequestError) as caught:
            w.experiments.edit(experiment.id, {"parameters": {"temperature": 9}})
        assert caught.value.problems[0].field == "parameters.temperature"
        assert w.experiments.get(experiment.id).current == 0
    assert len(provider.requests) == 1


async def test_cached_answer_of_the_gateway_is_not_used_for_a_run(tmp_path: Path) -> None:
    numbers = itertools.count(1)

    def numbered(_request: RecordedRequest) -> Answer:
        return Answer(str(next(numbers)))

    async with (
        FakeProvider([numbered] * 4) as provider,
        world(tmp_path, provider, cache={"enabled": True}) as w,
    ):
        experiment = await w.experiment()
        batch = w.experiments.plan(experiment.id, repeats=3)
        batch = await w.experiments.run_batch(batch.id)
    assert [each.content for each in batch.outcomes.values()] == ["2", "3", "4"]


async def test_batch_with_an_error_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    async with (
        FakeProvider([Answer("x"), Answer("late")]) as provider,
        world(tmp_path, provider) as w,
    ):
        experiment = await w.experiment()
        planned = w.experiments.plan(experiment.id, repeats=1)
        with monkeypatch.context() as patch:
            patch.setattr(type(w.caller), "call", broken)
            with pytest.raises(RuntimeError):
                await w.experiments.run_batch(planned.id)
        left = w.experiments.batch(planned.id)
        resumed = await w.experiments.run_batch(planned.id)
    assert (left.state, left.reason) == (BatchState.INTERRUPTED, "a fault of ours")
    assert resumed.state is BatchState.FINISHED
