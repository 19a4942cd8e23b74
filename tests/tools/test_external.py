import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.clock import FakeClock, settle
from tests.tools.samples import Echo, SessionCaller
from treadle.errors import UsageError
from treadle.events import Event, EventBus, Outcome
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolFailure,
    ToolProgress,
)
from treadle.ids import new_id
from treadle.tools.contract import Registry, ToolEffect
from treadle.tools.executor import ToolExecutor
from treadle.tools.external import (
    AnswerStatus,
    Bridge,
    CallOffer,
    Connection,
    ToolDefinition,
    Withdrawal,
    message_json,
    receive,
)

OPEN = ToolDefinition(
    name="open_page",
    description="Open a page.",
    parameters={
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "Which page."},
            "place": {"$ref": "#/$defs/place"},
        },
        "required": ["url"],
        "$defs": {"place": {"type": "object", "properties": {"line": {"type": "integer"}}}},
    },
)
READ = ToolDefinition.model_validate(
    {"name": "read_page", "description": "Read.", "effect": "read"}
)
ITSELF = {"$ref": "#/$defs/a"}
CALL = '{"url": "/a"}'


@dataclass(slots=True)
class Front:
    """A bus with an executor and a bridge on it."""

    bus: EventBus
    bridge: Bridge
    caller: SessionCaller
    executor: ToolExecutor
    clock: FakeClock
    events: list[Event]

    async def called(
        self, name: str = "open_page", arguments: str = CALL
    ) -> asyncio.Future[Outcome]:
        future = await self.caller.start(name, arguments)
        await settle()
        return future

    async def end(self, kind: ErrorKind, slot: int = 0) -> None:
        """End a call as a session does when it gives up."""
        await self.bus.publish(
            ToolCallFailed(
                request_id=self.caller.request_id,
                key=CallKey(0, slot),
                call_id="",
                error=ToolFailure(kind, "Over."),
                duration=1,
            )
        )
        await settle()

    def late(self) -> list[str]:
        return [event.outcome for event in self.events if isinstance(event, ToolCallLate)]


@asynccontextmanager
async def front(*definitions: ToolDefinition) -> AsyncIterator[Front]:
    before, clock, events = asyncio.all_tasks(), FakeClock(), list[Event]()
    bus = EventBus(clock)
    bridge = Bridge(bus, reserved=["echo"], clock=clock)
    for definition in definitions or (OPEN, READ):
        bridge.define(definition)

    async def record() -> None:
        async for envelope in subscription:
            events.append(envelope.event)

    with bus.subscribe() as subscription:
        recorder = asyncio.create_task(record())
        serving = ToolExecutor(bus, Registry([Echo()]), Path("/"), clock=clock, bridge=bridge)
        registry = Registry([Echo(), *bridge.tools()])
        async with serving:
            yield Front(bus, bridge, SessionCaller(serving, registry), serving, clock, events)
    await recorder
    assert asyncio.all_tasks() == before


async def next_of(connection: Connection) -> CallOffer | Withdrawal:
    return await asyncio.wait_for(anext(aiter(connection)), 5)


async def offered(connection: Connection) -> CallOffer:
    message = await next_of(connection)
    assert isinstance(message, CallOffer)
    return message


def failure_of(outcome: Outcome) -> ToolFailure:
    assert isinstance(outcome, ToolCallFailed), outcome
    return outcome.error


async def test_a_front_end_answers_a_call() -> None:
    async with front() as at:
        with at.bridge.connect("page") as page:
            future = await at.called()
            offer = await offered(page)
            assert (offer.name, offer.arguments, offer.again) == ("open_page", {"url": "/a"}, False)
            assert (offer.request_id, offer.key) == (at.caller.request_id, CallKey(0, 0))
            assert offer.call_id == "call_0"
            assert await page.answer(offer.request_id, offer.key, {"ok": 1}) is AnswerStatus.TAKEN
            outcome = await asyncio.wait_for(future, 5)
    assert isinstance(outcome, ToolCallCompleted)
    assert json.loads(outcome.content) == {
        "ok": True, "type": "external", "v": 1, "result": {"ok": 1}
    }  # fmt: skip
    assert not at.late()


async def test_a_front_end_can_report_a_failure() -> None:
    async with front() as at:
        with at.bridge.connect("page") as page:
            future = await at.called()
            offer = await offered(page)
            failure = ToolFailure(ErrorKind.CONFLICT, "Two pages.", hint="Name one.")
            await page.answer(offer.request_id, offer.key, failure)
            assert failure_of(await future) == failure


async def test_arguments_are_checked_against_the_schema_of_the_definition() -> None:
    async with front() as at:
        with at.bridge.connect("page") as page:
            missing = failure_of(await at.caller.call("open_page", ""))
            assert missing.kind is ErrorKind.VALIDATION
            assert "'url' is a required property" in missing.message
            assert missing.hint == "The arguments are `url`, `place`."
            unknown = failure_of(await at.caller.call("open_page", '{"url": "/a", "tab": 1}'))
            assert "'tab' was unexpected" in unknown.message
            wrong = '{"url": "/a", "place": {"line": "x"}}'
            inner = failure_of(await at.caller.call("open_page", wrong))
            assert (inner.field, inner.expected, inner.received) == (
                "place.line", "an integer", "'x'"
            )  # fmt: skip
            # A value that was encoded twice is decoded, as for any tool (T2).
            _ = await at.called(arguments='{"url": "[1]", "place": "{\\"line\\": 3}"}')
            assert (await offered(page)).arguments == {"url": "[1]", "place": {"line": 3}}


@given(
    st.dictionaries(
        st.text(min_size=1),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        ),
        max_size=5,
    )
)
def test_arguments_reach_the_front_end_as_they_are(arguments: dict[str, Any]) -> None:
    free = ToolDefinition(
        name="free", description="Anything.", parameters={"additionalProperties": True}
    )

    async def scenario() -> None:
        async with front(free) as at:
            with at.bridge.connect("page") as page:
                _ = await at.called("free", json.dumps(arguments))
                assert (await offered(page)).arguments == arguments

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "string"},
        {"type": "object", "properties": {"a": {"type": "no such type"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.org/schema.json"}}},
        {"properties": {"a": ITSELF}, "$defs": {"a": {"items": ITSELF}}},
        {"properties": {"a": 7}},
    ],
)  # fmt: skip
async def test_an_unusable_schema_is_refused(parameters: dict[str, Any]) -> None:
    bridge = Bridge(EventBus())
    definition = ToolDefinition(name="odd", description="Odd.", parameters=parameters)
    with pytest.raises(UsageError, match="parameters of the tool odd"):
        bridge.define(definition)
    assert bridge.tools() == ()


async def test_a_model_receives_the_schema_of_the_definition() -> None:
    bridge = Bridge(EventBus(), reserved=["echo"])
    old = {**OPEN.model_dump(by_alias=True), "parameters": {"definitions": {"a": {"type": "null"}}}}
    bridge.define(ToolDefinition.model_validate(old))
    bridge.define(OPEN)  # an improved definition
    bridge.define(READ)
    first, second = Registry(bridge.tools()).specs()
    assert (first.name, first.parameters["required"]) == ("open_page", ["url"])
    assert first.parameters["properties"]["place"]["properties"] == {"line": {"type": "integer"}}
    assert second.parameters["properties"] == {}
    with pytest.raises(UsageError, match="named echo already exists"):
        bridge.define(ToolDefinition(name="echo", description="Mine."))


async def test_without_a_front_end_a_call_fails_immediately() -> None:
    async with front() as at:
        failure = failure_of(await at.caller.call("open_page", CALL))
        assert (failure.kind, failure.effect) == (ErrorKind.UNAVAILABLE, Effect.NONE)
        assert "A front end runs the tool" in failure.message
        at.bridge.connect("page", runs=["another"])
        assert failure_of(await at.caller.call("open_page", CALL)).kind is ErrorKind.UNAVAILABLE
        by_hand = await at.executor.call("open_page", CALL)
        assert failure_of(by_hand).kind is ErrorKind.UNAVAILABLE
        unknown = failure_of(await at.caller.call("nothing"))
        assert unknown.hint == "The tools are: echo, open_page, read_page."


async def test_an_open_call_is_offered_again_after_a_reconnection() -> None:
    async with front() as at:
        with at.bridge.connect("page") as page:
            future = await at.called()
            first = await offered(page)
        await at.clock.advance(14)
        with at.bridge.connect("page") as page:
            second = await offered(page)
            assert second == CallOffer(**{**_fields(first), "again": True})
            assert await page.answer(second.request_id, second.key, "done") is AnswerStatus.TAKEN
            assert isinstance(await future, ToolCallCompleted)
            assert await page.answer(second.request_id, second.key, "done") is AnswerStatus.REPEATED
    assert not at.late()


def _fields(offer: CallOffer) -> dict[str, Any]:
    return {name: getattr(offer, name) for name in CallOffer.__slots__}


async def test_a_new_connection_of_a_front_end_replaces_the_old_one() -> None:
    async with front() as at:
        old = at.bridge.connect("page")
        _ = await at.called()
        assert not (await offered(old)).again
        new = at.bridge.connect("page")
        assert [message async for message in old] == []
        assert (await offered(new)).again
        old.close()  # its transport notices the loss late
        future = await at.called("read_page", "")
        offer = await offered(new)
        await new.answer(offer.request_id, offer.key, None)
        assert isinstance(await future, ToolCallCompleted)


@pytest.mark.parametrize(
    ("name", "effect"), [("open_page", Effect.UNKNOWN), ("read_page", Effect.NONE)]
)
async def test_calls_fail_if_their_front_end_does_not_return(name: str, effect: Effect) -> None:
    async with front() as at:
        with at.bridge.connect("page"):
            future = await at.called(name, CALL if name == "open_page" else "{}")
        await at.clock.advance(15)
        failure = failure_of(await future)
        assert (failure.kind, failure.effect) == (ErrorKind.UNAVAILABLE, effect)
        assert "disconnected and did not reconnect" in failure.message


async def test_a_new_call_waits_for_a_front_end_that_just_left() -> None:
    async with front() as at:
        at.bridge.connect("page").close()
        await at.clock.advance(10)
        future = await at.called()
        assert not future.done()
        with at.bridge.connect("page") as page:
            offer = await offered(page)
            await page.answer(offer.request_id, offer.key, True)
            assert isinstance(await future, ToolCallCompleted)


@pytest.mark.parametrize("kind", [ErrorKind.TIMEOUT, ErrorKind.CANCELLED])
async def test_a_call_that_the_session_ended_is_withdrawn_and_its_answer_late(
    kind: ErrorKind,
) -> None:
    async with front() as at:
        with at.bridge.connect("page") as page:
            _ = await at.called()
            offer = await offered(page)
            await at.end(kind)
            assert await next_of(page) == Withdrawal(offer.request_id, offer.key)
            assert await page.answer(offer.request_id, offer.key, 1) is AnswerStatus.LATE
            assert await page.answer(offer.request_id, offer.key, 1) is AnswerStatus.REPEATED
            await settle()
            assert at.late() == ["completed"]


async def test_an_answer_at_the_moment_of_the_time_out_is_a_late_result() -> None:
    async with front() as at:
        with at.bridge.connect("page") as page:
            _ = await at.called()
            offer = await offered(page)
            failing = asyncio.ensure_future(at.end(ErrorKind.TIMEOUT))
            answer = ToolFailure(ErrorKind.CONFLICT, "No.")
            assert await page.answer(offer.request_id, offer.key, answer) is AnswerStatus.TAKEN
            await failing
            assert at.late() == ["failed"]


async def test_an_answer_to_an_unknown_or_foreign_call_is_refused() -> None:
    async with front() as at:
        one, two = at.bridge.connect("one"), at.bridge.connect("two")
        _ = await at.called()
        offer = await offered(two)  # the newest
        assert await one.answer(offer.request_id, offer.key, 1) is AnswerStatus.UNKNOWN
        assert await two.answer(new_id(), offer.key, 1) is AnswerStatus.UNKNOWN
        await at.end(ErrorKind.TIMEOUT)
        assert await one.answer(offer.request_id, offer.key, 1) is AnswerStatus.UNKNOWN
        await settle()
        assert not at.late()


async def test_calls_go_to_the_front_end_of_their_request() -> None:
    async with front() as at:
        one, two = at.bridge.connect("one"), at.bridge.connect("two", runs=["open_page"])
        at.bridge.attach("one", at.caller.request_id)
        _ = await at.called()
        await offered(one)
        at.bridge.release(at.caller.request_id)
        await settle()
        _ = await at.called()
        await offered(two)


async def test_messages_round_trip_as_json() -> None:
    async with front() as at:
        with at.bridge.connect("page") as page:
            future = await at.called()
            sent = json.loads(json.dumps(message_json(await offered(page))))
            assert sent == {
                "type": "tool_call",
                "request_id": str(at.caller.request_id),
                "key": {"turn": 0, "slot": 0},
                "call_id": "call_0",
                "name": "open_page",
                "arguments": {"url": "/a"},
                "again": False,
            }
            call = {"request_id": sent["request_id"], "key": sent["key"]}
            progress = json.dumps({"type": "tool_progress", **call, "text": "half"})
            assert await receive(page, progress) is None
            result = json.dumps({"type": "tool_result", **call, "result": [1]})
            assert await receive(page, result.encode()) is AnswerStatus.TAKEN
            assert isinstance(await future, ToolCallCompleted)

            future = await at.called()
            await offered(page)
            call["key"] = {"turn": 0, "slot": 1}
            failed = {"type": "tool_error", **call, "error": "No tab.", "kind": "not_found"}
            await receive(page, json.dumps({**failed, "effect": "none"}))
            assert failure_of(await future) == ToolFailure(ErrorKind.NOT_FOUND, "No tab.")

            _ = await at.called()
            await offered(page)
            await at.end(ErrorKind.TIMEOUT, slot=2)
            assert message_json(await next_of(page)) == {
                "type": "tool_call_withdrawn",
                "request_id": sent["request_id"],
                "key": {"turn": 0, "slot": 2},
            }
        await settle()
        assert [e.text for e in at.events if isinstance(e, ToolProgress)] == ["half"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"type": "tool_result"}', '{"type": "x"}', "\ud800", b"\xff", "[" * 9]
)
async def test_an_invalid_message_is_a_usage_error(text: str | bytes) -> None:
    bridge = Bridge(EventBus())
    with bridge.connect("page") as page, pytest.raises(UsageError, match="message is invalid"):
        await receive(page, text)


async def test_an_external_tool_that_writes_asks_first() -> None:
    write = ToolDefinition(name="write_page", description="Write.", effect=ToolEffect.WRITE)
    async with front(write, READ) as at:
        with at.bridge.connect("page") as page:
            failure = failure_of(await at.caller.call("write_page"))
            assert (failure.kind, failure.effect) == (ErrorKind.DENIED, Effect.NONE)
            _ = await at.called("read_page", "{}")
            assert (await offered(page)).name == "read_page"  # the other call was never offered


async def test_front_ends_that_do_not_return_are_forgotten() -> None:
    async with front() as at:
        for number in range(50):
            at.bridge.connect(f"page {number}").close()
            await at.clock.advance(1)
        assert len(at.bridge._front_ends) < 20
