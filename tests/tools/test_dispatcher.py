import asyncio
import json
import logging
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.samples import Caller, Echo, Gate, Needy, Raising, RaisingWriter
from treadle.errors import NotFoundError, PathRefusedError, StoreError
from treadle.events import EventBus
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    SessionCancelled,
    SessionStarted,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolCallRequested,
    ToolFailure,
    Usage,
)
from treadle.ids import new_id
from treadle.tools.contract import ToolError
from treadle.tools.dispatcher import Dispatcher
from treadle.tools.registry import AnyTool, Registry


def dispatcher(bus: EventBus, root: Path, *tools: AnyTool) -> Dispatcher:
    return Dispatcher(bus, Registry(tools), root)


async def failed_by(bus: EventBus, caller: Caller, root: Path, tool: AnyTool) -> ToolFailure:
    async with dispatcher(bus, root, tool):
        outcome = await caller.call(tool.name)
    assert isinstance(outcome, ToolCallFailed)
    return outcome.error


async def test_a_call_is_answered_with_its_key_ids_and_content(
    bus: EventBus, caller: Caller, root: Path
) -> None:
    async with dispatcher(bus, root, Echo()):
        await caller.call("echo")
        outcome = await caller.call("echo", '{"text": "hm", "count": 2}')
    assert isinstance(outcome, ToolCallCompleted)
    assert (outcome.request_id, outcome.parent_id) == (caller.request_id, UUID(int=7))
    assert (outcome.key, outcome.call_id) == (CallKey(0, 1), "call_1")
    assert json.loads(outcome.content)["heard"] == "hmhm"
    assert outcome.ui.summary == "echo: done"
    assert outcome.duration >= 0


async def test_a_tool_sees_the_user_message_of_its_own_request(
    bus: EventBus, caller: Caller, root: Path
) -> None:
    async with dispatcher(bus, root, Echo()):
        for request_id, text in ((new_id(), "of another"), (caller.request_id, "of this")):
            await bus.publish(
                SessionStarted(
                    request_id=request_id,
                    session_id=new_id(),
                    user_text=text,
                    model="m",
                    provider="p",
                    tools=("echo",),
                )
            )
        outcome = await caller.call("echo")
    assert isinstance(outcome, ToolCallCompleted)
    assert json.loads(outcome.content)["asked"] == "of this"


async def test_an_unknown_tool_is_answered_with_the_list(
    bus: EventBus, caller: Caller, root: Path
) -> None:
    async with dispatcher(bus, root, Echo(), Needy()):
        outcome = await caller.call("read_everything", "not even JSON")
    assert isinstance(outcome, ToolCallFailed)
    assert outcome.error.kind is ErrorKind.UNKNOWN_TOOL
    assert outcome.error.hint == "The tools are: echo, needy."


async def test_bad_arguments_are_answered_and_nothing_runs(
    bus: EventBus, caller: Caller, root: Path
) -> None:
    async with dispatcher(bus, root, Needy()):
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
async def test_whatever_a_tool_raises_its_call_is_answered_in_one_line(
    bus: EventBus, caller: Caller, root: Path, error: BaseException, kind: ErrorKind, message: str
) -> None:
    failure = await failed_by(bus, caller, root, Raising(error))
    assert failure.kind is kind
    assert failure.message.startswith(message)
    assert "\n" not in failure.message
    assert len(failure.message) < 300


async def test_an_internal_failure_is_logged_with_its_cause(
    bus: EventBus, caller: Caller, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        await failed_by(bus, caller, root, Raising(ZeroDivisionError("by nought")))
    assert [record.message for record in caplog.records] == ["The tool raising failed"]
    assert caplog.records[0].exc_info is not None


async def test_a_changing_tool_that_breaks_leaves_an_unknown_effect(
    bus: EventBus, caller: Caller, root: Path
) -> None:
    failure = await failed_by(bus, caller, root, RaisingWriter(OSError("disk full")))
    assert failure.effect is Effect.UNKNOWN


async def test_calls_run_together(bus: EventBus, caller: Caller, root: Path) -> None:
    gate = Gate()
    async with dispatcher(bus, root, gate):
        futures = [await caller.start("gate") for _ in range(20)]
        for _ in futures:
            await asyncio.wait_for(gate.started.acquire(), 10)
        assert gate.running == 20
        gate.open.set()
        outcomes = await asyncio.wait_for(asyncio.gather(*futures), 10)
    assert [outcome.key.slot for outcome in outcomes] == list(range(20))


async def timed_out(bus: EventBus, caller: Caller) -> None:
    await bus.publish(
        ToolCallFailed(
            request_id=caller.request_id,
            key=CallKey(0, 0),
            call_id="call_0",
            error=ToolFailure(ErrorKind.TIMEOUT, "Too slow."),
            duration=30,
        )
    )


async def test_a_call_that_the_session_answered_is_cancelled(
    bus: EventBus, caller: Caller, root: Path
) -> None:
    gate = Gate()
    async with dispatcher(bus, root, gate):
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


async def test_what_a_stubborn_tool_still_brings_is_a_late_result(
    bus: EventBus, caller: Caller, root: Path
) -> None:
    gate = Gate(stubborn=True)
    with bus.subscribe(ToolCallLate) as late:
        async with dispatcher(bus, root, gate):
            _ = await caller.start("gate")
            await asyncio.wait_for(gate.started.acquire(), 10)
            await timed_out(bus, caller)
            envelope = await asyncio.wait_for(anext(late), 10)
    assert isinstance(envelope.event, ToolCallLate)
    assert (envelope.event.key, envelope.event.outcome) == (CallKey(0, 0), "completed")


async def test_the_end_of_a_session_ends_what_still_runs_for_it(
    bus: EventBus, caller: Caller, root: Path
) -> None:
    gate = Gate()
    other = Caller(bus)
    async with dispatcher(bus, root, gate):
        _ = await caller.start("gate")
        future = await other.start("gate")
        for _ in range(2):
            await asyncio.wait_for(gate.started.acquire(), 10)
        await bus.publish(
            SessionCancelled(
                request_id=caller.request_id,
                session_id=new_id(),
                usage=Usage(),
                cost=None,
                duration=0,
            )
        )
        await asyncio.wait_for(gate.cancelled.acquire(), 10)
        gate.open.set()
        assert isinstance(await future, ToolCallCompleted)


async def test_leaving_cancels_and_awaits_everything(
    bus: EventBus, caller: Caller, root: Path
) -> None:
    before = asyncio.all_tasks()
    gate = Gate()
    async with dispatcher(bus, root, gate):
        for _ in range(5):
            _ = await caller.start("gate")
        await asyncio.wait_for(gate.started.acquire(), 10)
    assert asyncio.all_tasks() == before
    assert gate.running == 0
    await bus.publish(SessionCancelled(  # nobody is left to wait for
        request_id=caller.request_id, session_id=new_id(), usage=Usage(), cost=None, duration=0
    ))  # fmt: skip


async def test_a_call_without_a_session_is_a_request_of_its_own(bus: EventBus, root: Path) -> None:
    with bus.subscribe() as everything:
        async with dispatcher(bus, root, Echo(), Raising(OSError("odd"))) as serving:
            completed = await serving.call("echo", "", call_id="7", vendor="somebody")
            failed = await serving.call("raising", "{}")
            unknown = await serving.call("nothing", "{}")
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
        async with Dispatcher(bus, Registry([Echo()]), root, labels=labels) as serving:
            await serving.call("echo", '{"text": "hello"}')
            await serving.call("unknown", "{}")
        events.close()
        seen = [envelope.event async for envelope in events]
    assert [event.labels for event in seen if isinstance(event, ToolCallRequested)] == [
        ("treadle:analyst",),
        (),
    ]


async def test_a_caller_that_is_cancelled_ends_its_call(bus: EventBus, root: Path) -> None:
    gate = Gate()
    with bus.subscribe(ToolCallFailed, ToolCallLate) as failures:
        async with dispatcher(bus, root, gate) as serving:
            call = asyncio.create_task(serving.call("gate", "{}"))
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
        caller = Caller(bus)
        with bus.subscribe(ToolCallCompleted, ToolCallFailed, ToolCallLate, limit=2000) as seen:
            async with dispatcher(bus, Path(), Echo(), Needy(), Raising(KeyError("k"))):
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


async def test_a_session_gets_the_tools_that_it_was_offered_and_those_lent_to_it_alone(
    bus: EventBus, root: Path
) -> None:
    """A model can name any tool; only what its session offers is run for it."""
    offered, other = Caller(bus), Caller(bus)
    async with dispatcher(bus, root, Raising(StoreError("never run"))) as serving:
        for caller, tools in ((offered, ("echo",)), (other, ("raising",))):
            await bus.publish(
                SessionStarted(
                    request_id=caller.request_id,
                    session_id=new_id(),
                    user_text="",
                    model="m",
                    provider="p",
                    tools=tools,
                )
            )
        with serving.lent(offered.request_id, [Echo()]):
            lent = await offered.call("echo")
            not_offered = await offered.call("raising")
            not_lent = await other.call("echo")
        returned = await offered.call("echo")
    assert isinstance(lent, ToolCallCompleted)
    for outcome, names in ((not_offered, "echo"), (not_lent, "raising"), (returned, "echo")):
        assert isinstance(outcome, ToolCallFailed)
        assert outcome.error.kind is ErrorKind.UNKNOWN_TOOL
        assert names in (outcome.error.expected or outcome.error.hint or "")
