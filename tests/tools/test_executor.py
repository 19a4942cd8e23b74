import asyncio
import json
import logging
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.samples import (
    Echo,
    Gate,
    Needy,
    Raising,
    RaisingWriter,
    SessionCaller,
    serving,
)
from treadle.config.model import ToolSettings
from treadle.errors import NotFoundError, PathRefusedError, StoreError
from treadle.events import EventBus
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolCallRequested,
    ToolFailure,
)
from treadle.ids import new_id
from treadle.tools.approvals.question import Policy
from treadle.tools.contract import AnyTool, Registry, ToolEffect, ToolError
from treadle.tools.executor import ToolExecutor


async def failed_by(bus: EventBus, root: Path, tool: AnyTool) -> ToolFailure:
    async with serving(bus, root, tool) as caller:
        outcome = await caller.call(tool.name)
    assert isinstance(outcome, ToolCallFailed)
    return outcome.error


async def test_a_call_is_answered_with_its_key_ids_and_content(bus: EventBus, root: Path) -> None:
    async with serving(bus, root, Echo()) as caller:
        await caller.call("echo")
        outcome = await caller.call("echo", '{"text": "hm", "count": 2}')
    assert isinstance(outcome, ToolCallCompleted)
    assert (outcome.request_id, outcome.parent_id) == (caller.request_id, UUID(int=7))
    assert (outcome.key, outcome.call_id) == (CallKey(0, 1), "call_1")
    assert json.loads(outcome.content)["heard"] == "hmhm"
    assert outcome.ui.summary == "echo: done"
    assert outcome.duration >= 0


async def test_a_tool_sees_the_user_message_of_its_own_request(bus: EventBus, root: Path) -> None:
    async with serving(bus, root, Echo(), user_message="of this") as caller:
        outcome = await caller.call("echo")
    assert isinstance(outcome, ToolCallCompleted)
    assert json.loads(outcome.content)["asked"] == "of this"


async def test_an_unknown_tool_is_answered_with_the_list(bus: EventBus, root: Path) -> None:
    async with serving(bus, root, Echo(), Needy()) as caller:
        outcome = await caller.call("read_everything", "not even JSON")
    assert isinstance(outcome, ToolCallFailed)
    assert outcome.error.kind is ErrorKind.UNKNOWN_TOOL
    assert outcome.error.hint == "The tools are: echo, needy."


async def test_invalid_arguments_are_answered_and_nothing_runs(bus: EventBus, root: Path) -> None:
    async with serving(bus, root, Needy()) as caller:
        outcome = await caller.call("needy", '{"token_budget": 0}')
    assert isinstance(outcome, ToolCallFailed)
    assert (outcome.error.kind, outcome.error.field) == (ErrorKind.VALIDATION, "token_budget")
    assert outcome.error.effect is Effect.NONE


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ToolError(ErrorKind.CONFLICT, "Two match."), ErrorKind.CONFLICT, "Two match."),
        (PathRefusedError("Out.", hint="In."), ErrorKind.PERMISSION, "Out."),
        (NotFoundError("Gone."), ErrorKind.NOT_FOUND, "Gone."),
        (StoreError("Locked."), ErrorKind.UNAVAILABLE, "Locked."),
        (OSError("odd"), ErrorKind.INTERNAL, "raising failed: OSError: odd"),
        (KeyError(), ErrorKind.INTERNAL, "raising failed: KeyError"),
        (ValueError("a\nb\n" + "x" * 999), ErrorKind.INTERNAL, "raising failed: ValueError: a b "),
        (asyncio.CancelledError(), ErrorKind.INTERNAL, "raising failed: RuntimeError"),
    ],
)
async def test_any_exception_of_a_tool_becomes_a_failure_of_one_line(
    bus: EventBus, root: Path, error: BaseException, kind: ErrorKind, message: str
) -> None:
    failure = await failed_by(bus, root, Raising(error))
    assert failure.kind is kind
    assert failure.message.startswith(message)
    assert "\n" not in failure.message
    assert len(failure.message) < 300


async def test_an_internal_failure_is_logged_with_its_cause(
    bus: EventBus, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        await failed_by(bus, root, Raising(ZeroDivisionError("by nought")))
    assert [record.message for record in caplog.records] == ["The tool raising failed"]
    assert caplog.records[0].exc_info is not None


async def test_a_failing_writing_tool_has_an_unknown_effect(bus: EventBus, root: Path) -> None:
    failure = await failed_by(bus, root, RaisingWriter(OSError("disk full")))
    assert failure.effect is Effect.UNKNOWN


async def test_calls_run_together(bus: EventBus, root: Path) -> None:
    gate = Gate()
    async with serving(bus, root, gate) as caller:
        futures = [await caller.start("gate") for _ in range(20)]
        for _ in futures:
            await asyncio.wait_for(gate.started.acquire(), 10)
        assert gate.running == 20
        gate.open.set()
        outcomes = await asyncio.wait_for(asyncio.gather(*futures), 10)
    assert [outcome.key.slot for outcome in outcomes] == list(range(20))


async def timed_out(bus: EventBus, caller: SessionCaller) -> None:
    await bus.publish(
        ToolCallFailed(
            request_id=caller.request_id,
            key=CallKey(0, 0),
            call_id="call_0",
            error=ToolFailure(ErrorKind.TIMEOUT, "Too slow."),
            duration=30,
        )
    )


async def test_an_outcome_of_another_publisher_cancels_the_tool(bus: EventBus, root: Path) -> None:
    gate = Gate()
    async with serving(bus, root, gate) as caller:
        future = await caller.start("gate")
        other = await caller.start("gate")
        for _ in range(2):
            await asyncio.wait_for(gate.started.acquire(), 10)
        await timed_out(bus, caller)
        await asyncio.wait_for(gate.cancelled.acquire(), 10)
        gate.open.set()
        assert isinstance(await other, ToolCallCompleted)
    assert gate.cancelled.locked()
    assert isinstance(future.result(), ToolCallFailed)


async def test_an_outcome_after_the_first_is_a_late_result(bus: EventBus, root: Path) -> None:
    gate = Gate(stubborn=True)
    with bus.subscribe(ToolCallLate) as late:
        async with serving(bus, root, gate) as caller:
            _ = await caller.start("gate")
            await asyncio.wait_for(gate.started.acquire(), 10)
            await timed_out(bus, caller)
            envelope = await asyncio.wait_for(anext(late), 10)
    assert isinstance(envelope.event, ToolCallLate)
    assert (envelope.event.key, envelope.event.outcome) == (CallKey(0, 0), "completed")


def requests(name: str, number: int) -> list[ToolCallRequested]:
    request_id = new_id()
    return [
        ToolCallRequested(
            request_id=request_id,
            key=CallKey(0, slot),
            call_id="",
            vendor="",
            name=name,
            arguments="{}",
        )
        for slot in range(number)
    ]


async def test_giving_up_a_reply_ends_only_its_tools(bus: EventBus, root: Path) -> None:
    gate = Gate()
    async with serving(bus, root, gate) as caller:
        other = await caller.start("gate")
        calls = caller.executor.calls_of_reply(requests("gate", 3), caller.caller, ToolSettings())
        running = asyncio.create_task(calls.run())
        for _ in range(4):
            await asyncio.wait_for(gate.started.acquire(), 10)
        running.cancel()
        await asyncio.wait({running})
        await calls.give_up(ErrorKind.CANCELLED, "Over.")
        for _ in range(3):
            await asyncio.wait_for(gate.cancelled.acquire(), 10)
        gate.open.set()
        assert isinstance(await other, ToolCallCompleted)
    kinds = [o.error.kind for o in calls.outcomes() if isinstance(o, ToolCallFailed)]
    assert kinds == [ErrorKind.CANCELLED] * 3


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (ToolEffect.READ, Effect.NONE),
        (ToolEffect.WRITE, Effect.UNKNOWN),
        (ToolEffect.UI, Effect.UNKNOWN),
        (ToolEffect.SPENDS, Effect.UNKNOWN),
    ],
)
async def test_the_effect_of_an_unfinished_call_is_unknown_unless_it_only_reads(
    bus: EventBus, root: Path, effect: ToolEffect, expected: Effect
) -> None:
    class Waiting(Gate):
        policy = Policy.ALLOW

    Waiting.effect = effect
    gate = Waiting()
    async with serving(bus, root, gate) as caller:
        one_at_a_time = ToolSettings(max_concurrent=1)
        calls = caller.executor.calls_of_reply(requests("gate", 2), caller.caller, one_at_a_time)
        running = asyncio.create_task(calls.run())
        await asyncio.wait_for(gate.started.acquire(), 10)
        running.cancel()
        await asyncio.wait({running})
        await calls.give_up(ErrorKind.CANCELLED, "Over.")
    effects = [o.error.effect for o in calls.outcomes() if isinstance(o, ToolCallFailed)]
    assert effects == [expected, Effect.NONE], "the second call never began"


async def test_leaving_cancels_and_awaits_everything(bus: EventBus, root: Path) -> None:
    before = asyncio.all_tasks()
    gate = Gate()
    async with serving(bus, root, gate) as caller:
        for _ in range(5):
            _ = await caller.start("gate")
        await asyncio.wait_for(gate.started.acquire(), 10)
    assert asyncio.all_tasks() == before
    assert gate.running == 0


async def test_a_call_without_a_session_is_a_separate_request(bus: EventBus, root: Path) -> None:
    with bus.subscribe() as everything:
        async with serving(bus, root, Echo(), Raising(OSError("odd"))) as caller:
            completed = await caller.executor.call("echo", "", call_id="7", vendor="somebody")
            failed = await caller.executor.call("raising", "{}")
            unknown = await caller.executor.call("nothing", "{}")
        everything.close()
        events = [envelope.event async for envelope in everything]
    assert isinstance(completed, ToolCallCompleted)
    assert isinstance(failed, ToolCallFailed)
    assert isinstance(unknown, ToolCallFailed)
    assert [type(event) for event in events] == [
        ToolCallRequested, ToolCallCompleted, ToolCallRequested, ToolCallFailed,
        ToolCallRequested, ToolCallFailed,
    ]  # fmt: skip
    assert len({event.request_id for event in events}) == 3
    assert isinstance(events[0], ToolCallRequested)
    assert (events[0].call_id, events[0].vendor) == ("7", "somebody")


async def test_a_call_without_a_session_has_the_labels_of_its_tool(
    bus: EventBus, root: Path
) -> None:
    labels = {"echo": ("treadle:analyst",)}
    with bus.subscribe(ToolCallRequested) as events:
        async with ToolExecutor(bus, Registry([Echo()]), root, labels=labels) as executor:
            await executor.call("echo", '{"text": "hello"}')
            await executor.call("unknown", "{}")
        events.close()
        seen = [envelope.event async for envelope in events]
    assert [event.labels for event in seen if isinstance(event, ToolCallRequested)] == [
        ("treadle:analyst",),
        (),
    ]


async def test_a_caller_that_is_cancelled_ends_its_call(bus: EventBus, root: Path) -> None:
    gate = Gate()
    with bus.subscribe(ToolCallFailed, ToolCallLate) as failures:
        async with serving(bus, root, gate) as caller:
            call = asyncio.create_task(caller.executor.call("gate", "{}"))
            await asyncio.wait_for(gate.started.acquire(), 10)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await asyncio.wait_for(gate.cancelled.acquire(), 10)
        failures.close()
        (failed,) = [envelope.event async for envelope in failures]
    assert isinstance(failed, ToolCallFailed)
    assert (failed.error.kind, failed.error.effect) == (ErrorKind.CANCELLED, Effect.NONE)


@given(st.lists(st.sampled_from(["echo", "needy", "raising", "nothing", "{", ""]), max_size=30))
def test_every_call_gets_exactly_one_answer(names: list[str]) -> None:
    async def scenario() -> None:
        bus = EventBus()
        with bus.subscribe(ToolCallCompleted, ToolCallFailed, ToolCallLate, limit=2000) as seen:
            async with serving(bus, Path(), Echo(), Needy(), Raising(KeyError("k"))) as caller:
                futures = [await caller.start(name, name) for name in names]
                outcomes = await asyncio.wait_for(asyncio.gather(*futures), 10)
            seen.close()
            events = [envelope.event async for envelope in seen]
        assert {outcome.key.slot for outcome in outcomes} == set(range(len(names)))
        assert len(events) == len(names)

    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(scenario())
    finally:
        logging.disable(logging.NOTSET)


async def test_a_caller_may_call_its_own_tools_only(bus: EventBus, root: Path) -> None:
    """A model can name any tool. The executor runs only those that the session offers."""
    never = Raising(StoreError("never run"))
    async with ToolExecutor(bus, Registry([never]), root) as executor:
        offered = SessionCaller(executor, Registry([Echo()]))
        other = SessionCaller(executor, Registry([never]))
        own = await offered.call("echo")
        not_offered = await offered.call("raising")
        not_own = await other.call("echo")
        outside = await executor.call("raising", "{}", registry=Registry([Echo()]))
    assert isinstance(own, ToolCallCompleted)
    for outcome, names in ((not_offered, "echo"), (not_own, "raising"), (outside, "echo")):
        assert isinstance(outcome, ToolCallFailed)
        assert outcome.error.kind is ErrorKind.UNKNOWN_TOOL
        assert names in (outcome.error.hint or "")
