"""Any interleaving of events of calls: completions, failures, time-outs, cancellations, questions
and denials, front ends that answer, leave and return, late results.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.clock import FakeClock, settle
from tests.fakes.model import FakeModel, Say
from tests.fakes.wire_rules import violations
from tests.session.parts import EchoArguments, EchoResult, conversation
from treadle.config.model import ToolSettings
from treadle.events import Event, EventBus
from treadle.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    ApprovalScope,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolCallRequested,
)
from treadle.llm.messages import AssistantMessage, ToolMessage
from treadle.llm.valid_history import Dialect
from treadle.llm.wire import encode
from treadle.session import RequestSession
from treadle.tools.approvals.gate import Approvals
from treadle.tools.approvals.question import Policy, Subject
from treadle.tools.contract import Registry, Tool, ToolClass, ToolContext, ToolEffect, ToolError
from treadle.tools.executor import ToolExecutor
from treadle.tools.external import Bridge, CallOffer, Connection, ToolDefinition

Way = Literal["complete", "fail", "hang", "late", "crash"]
Answer = Literal["once", "session", "always", "denied", "nobody"]


@dataclass(frozen=True, slots=True)
class Life:
    """The behaviour of one call: where it runs, when and how it ends, what it writes, who is
    asked.
    """

    tool: Literal["live", "build", "page"]
    at: int
    way: Way
    resource: str = ""
    answer: Answer | None = None
    asked_for: int = 0
    """Seconds until the person answers."""


class Live(Tool[EchoArguments, EchoResult]):
    """Lasts as long as the test states: its text is the number of its behaviour."""

    name: ClassVar[str] = "live"
    description: ClassVar[str] = "Live."
    effect: ClassVar[ToolEffect] = ToolEffect.WRITE
    policy: ClassVar[Policy | None] = Policy.ALLOW
    arguments = EchoArguments
    result = EchoResult

    def __init__(self, lives: Sequence[Life]) -> None:
        self._lives = lives

    def writes(self, arguments: EchoArguments) -> frozenset[str]:
        resource = self._lives[int(arguments.text)].resource
        return frozenset({resource} if resource else ())

    def subjects(self, arguments: EchoArguments) -> tuple[Subject, ...]:
        asks = self._lives[int(arguments.text)].answer
        return (Subject(path=f"life{arguments.text}.pem" if asks else "a.py"),)

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        life = self._lives[int(arguments.text)]
        try:
            await (asyncio.Event().wait() if life.way == "hang" else context.clock.sleep(life.at))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if life.way != "late" or task is None:
                raise
            task.uncancel()
            await context.clock.sleep(3)
        if life.way == "fail":
            raise ToolError(ErrorKind.CONFLICT, "It is taken.")
        if life.way == "crash":
            raise RuntimeError("boom")
        return EchoResult(text=arguments.text)


class Build(Live):
    """The same in the background."""

    name: ClassVar[str] = "build"
    tool_class: ClassVar[ToolClass] = ToolClass.BACKGROUND


@dataclass(slots=True)
class World:
    """All participants."""

    lives: Sequence[Life]
    clock: FakeClock = field(default_factory=FakeClock)
    events: list[Event] = field(default_factory=list)

    def seen(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    async def person(self, approvals: Approvals, question: ApprovalRequested) -> None:
        life = self.lives[int("".join(filter(str.isdigit, question.subjects[0])))]
        if life.answer in {None, "nobody"}:
            return
        await self.clock.sleep(life.asked_for)
        approvals.answer(question.approval_id, ApprovalScope(str(life.answer)), "Words.")

    async def page(self, connection: Connection, offer: CallOffer) -> None:
        assert isinstance(offer.arguments, dict)
        life = self.lives[int(str(offer.arguments["text"]))]
        if life.way == "hang":
            return
        await self.clock.sleep(life.at + 9 * (life.way == "late"))
        await connection.answer(offer.request_id, offer.key, offer.arguments["text"])


@asynccontextmanager
async def together(world: World, leaves_at: int | None) -> AsyncIterator[tuple[Any, ...]]:
    """Bus, executor, a person and a front end that may leave for a while."""
    before = asyncio.all_tasks()
    bus = EventBus(world.clock)
    approvals = Approvals(bus, Path("/"), clock=world.clock)
    bridge = Bridge(bus, clock=world.clock, reconnect_seconds=4)
    bridge.define(
        ToolDefinition(name="page", description="A page.", parameters=dict(TEXT), effect="read")
    )
    async with asyncio.TaskGroup() as group:

        async def record() -> None:
            async for envelope in everything:
                world.events.append(envelope.event)
                if isinstance(envelope.event, ApprovalRequested):
                    tasks.append(group.create_task(world.person(approvals, envelope.event)))

        async def connected() -> None:
            with bridge.connect("page") as connection:
                async for message in connection:
                    if isinstance(message, CallOffer):
                        answering = group.create_task(world.page(connection, message))
                        tasks.append(answering)

        async def front_end() -> None:
            connecting = group.create_task(connected())
            tasks.append(connecting)
            if leaves_at is not None:
                await world.clock.sleep(leaves_at)
                connecting.cancel()
                await world.clock.sleep(leaves_at)  # longer than the time limit, or not
                tasks.append(group.create_task(connected()))

        tasks: list[asyncio.Task[None]] = []
        with bus.subscribe() as everything, approvals.allow_questions():
            recording = group.create_task(record())
            tasks.append(group.create_task(front_end()))
            await settle()
            registry = Registry([Live(world.lives), Build(world.lives), *bridge.tools()])
            async with ToolExecutor(
                bus, registry, Path("/"), clock=world.clock, bridge=bridge, approvals=approvals
            ) as executor:
                yield executor, registry, approvals
        for task in tasks:
            task.cancel()
        await recording
    assert asyncio.all_tasks() == before


TEXT = {"properties": {"text": {"type": "string"}}}


async def _live(lives: Sequence[Life], cancel_at: int | None, leaves_at: int | None) -> None:
    world = World(lives)
    clock, talk = world.clock, conversation()
    calls = tuple((life.tool, json.dumps({"text": str(n)})) for n, life in enumerate(lives))
    chosen = ToolSettings(timeout=5, background_timeout=8, max_concurrent=3, max_background=1)
    async with together(world, leaves_at) as (executor, registry, approvals):

        def session(*turns: Say) -> RequestSession:
            return RequestSession(
                executor=executor, model=FakeModel(*turns), registry=registry, conversation=talk,
                settings=chosen, clock=clock,
            )  # fmt: skip

        running = asyncio.ensure_future(session(Say(calls=calls), Say("Done.")).run("Go"))
        for second in range(140):
            if running.done():
                break
            if second == cancel_at or (second == 100 and approvals.pending()):
                running.cancel()  # a person who never answers is waited for forever
            await clock.advance(1)
            await asyncio.sleep(0.0005)  # work in threads
        await asyncio.gather(running, return_exceptions=True)
        await session(Say("Done.")).run("And now?")
        await clock.advance(30)
        await settle()
        assert approvals.pending() == ()
    _check(world, talk.messages)


def _check(world: World, messages: Sequence[object]) -> None:
    ours = [m for m in messages if isinstance(m, ToolMessage)]
    asked = [c.key for m in messages if isinstance(m, AssistantMessage) for c in m.calls]
    assert [message.key for message in ours] == asked
    answered = [*world.seen(ToolCallCompleted), *world.seen(ToolCallFailed)]
    assert sorted(event.key for event in answered) == asked
    requested = [event.key for event in world.seen(ToolCallRequested)]
    assert len(requested) == len(set(requested))
    late = [event.key for event in world.seen(ToolCallLate)]
    assert set(late) <= set(requested)
    assert len(late) == len(set(late))
    questions = [event.approval_id for event in world.seen(ApprovalRequested)]
    settled = {event.approval_id: event for event in world.seen(ApprovalResolved)}
    assert sorted(settled) == sorted(questions)
    assert len(world.seen(ApprovalResolved)) == len(questions)
    refused = {e.key for e in settled.values() if e.scope is ApprovalScope.DENIED}
    denied = {e.key: e.error for e in answered if getattr(e, "error", None) is not None}
    denied = {key: error for key, error in denied.items() if error.kind is ErrorKind.DENIED}
    # A call that was refused at the moment of a cancellation counts as cancelled.
    assert set(denied) <= refused
    assert all("Words." in error.message for error in denied.values())
    wire = encode(messages, Dialect("fake", "fake-model"))  # type: ignore[arg-type]
    assert violations({"messages": [*wire, {"role": "user", "content": "?"}]}) == []


ways: st.SearchStrategy[Way] = st.sampled_from(["complete", "fail", "hang", "late", "crash"])
answers: st.SearchStrategy[Answer | None] = st.sampled_from(
    [None, None, None, "once", "session", "always", "denied", "nobody"]
)
seconds = st.integers(0, 9)
ours = st.builds(
    Life,
    st.sampled_from(["live", "build"]),
    seconds,
    ways,
    st.sampled_from(["", "a", "b"]),
    answers,
    seconds,
)
theirs = st.builds(Life, st.just("page"), seconds, st.sampled_from(["complete", "hang", "late"]))
INTERLEAVED = given(
    st.lists(ours | theirs, min_size=1, max_size=7),
    st.none() | st.integers(0, 12),
    st.none() | st.integers(0, 6),
)


def _any(lives: Sequence[Life], cancel_at: int | None, leaves_at: int | None) -> None:
    asyncio.run(_live(lives, cancel_at, leaves_at))


def test_any_interleaving_gives_each_call_and_each_question_one_end() -> None:
    chosen = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    chosen(INTERLEAVED(_any))()


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_any_of_many_interleavings_gives_each_call_and_each_question_one_end() -> None:
    chosen = settings(max_examples=1_200, deadline=None, suppress_health_check=list(HealthCheck))
    chosen(INTERLEAVED(_any))()
