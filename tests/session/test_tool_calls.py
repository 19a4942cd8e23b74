"""How the calls of one reply share time: lanes, write sets, and time limits that pause."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.clock import FakeClock, settle
from tests.fakes.model import FakeModel, Say, calls
from tests.session.parts import EchoArguments, EchoResult, Gate, Stage, results, stage, until
from treadle.config.model import ToolSettings
from treadle.events.types import (
    ApprovalScope,
    CallKey,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from treadle.tools.approvals.question import Policy, Question, Subject
from treadle.tools.contract import (
    EVERYTHING,
    Arguments,
    Result,
    Tool,
    ToolClass,
    ToolContext,
    ToolEffect,
)


class WriteArguments(Arguments):
    """The written resources, and the seconds that it takes."""

    resources: tuple[str, ...] = ()
    seconds: float = 1.0


class Written(Result):
    """An empty result."""

    type: str = "written"


@dataclass(slots=True)
class Log:
    """The running calls and their order, by slot."""

    running: dict[int, frozenset[str]] = field(default_factory=dict)
    begun: list[int] = field(default_factory=list)
    most: int = 0
    clashes: list[tuple[int, int]] = field(default_factory=list)


class Write(Tool[WriteArguments, Written]):
    """Writes resources for some seconds."""

    name: ClassVar[str] = "write"
    description: ClassVar[str] = "Write."
    effect: ClassVar[ToolEffect] = ToolEffect.WRITE
    policy: ClassVar[Policy | None] = Policy.ALLOW
    arguments = WriteArguments
    result = Written

    def __init__(self, log: Log) -> None:
        self._log = log

    def writes(self, arguments: WriteArguments) -> frozenset[str]:
        return frozenset(arguments.resources)

    async def run(self, arguments: WriteArguments, context: ToolContext) -> Written:
        mine, log = self.writes(arguments), self._log
        log.begun.append(context.key.slot)
        for slot, theirs in log.running.items():
            if mine & theirs or (mine and theirs and EVERYTHING in mine | theirs):
                log.clashes.append((slot, context.key.slot))
        log.running[context.key.slot] = mine
        log.most = max(log.most, len(log.running))
        try:
            await context.clock.sleep(arguments.seconds)
        finally:
            del log.running[context.key.slot]
        return Written()


class Build(Gate):
    """A background tool."""

    name: ClassVar[str] = "build"
    tool_class: ClassVar[ToolClass] = ToolClass.BACKGROUND


class Asking(Gate):
    """Asks a person before it runs, then again, and works for 4 s after each answer."""

    name: ClassVar[str] = "asking"
    effect: ClassVar[ToolEffect] = ToolEffect.WRITE

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        await context.clock.sleep(4)
        await context.approve(Question((Subject(),), Policy.ASK, "again"))
        await context.clock.sleep(4)
        return await super().run(EchoArguments(text="end"), context)


def gate(*texts: str, tool: str = "gate") -> tuple[tuple[str, str], ...]:
    return tuple((tool, json.dumps({"text": text})) for text in texts)


async def finished(at: Stage, running: asyncio.Future[Any], clock: FakeClock) -> None:
    """Advance the clock until the session has ended."""
    for _ in range(200):
        if running.done():
            break
        await clock.advance(0.5)
        await asyncio.sleep(0.0005)  # work in threads
    await running
    await settle()


resources = st.lists(st.sampled_from(["a", "b", "c", EVERYTHING]), max_size=2, unique=True)
writes = st.lists(st.tuples(resources, st.integers(1, 3)), min_size=1, max_size=10)


async def _share(asked: Sequence[tuple[list[str], int]], concurrent: int) -> None:
    log, clock = Log(), FakeClock()
    async with stage(Write(log), clock=clock) as at:
        made = tuple(
            ("write", json.dumps({"resources": names, "seconds": seconds}))
            for names, seconds in asked
        )
        chosen = ToolSettings(max_concurrent=concurrent)
        session = at.session(FakeModel(Say(calls=made), Say("Done.")), settings=chosen)
        await finished(at, asyncio.ensure_future(session.run("Go")), clock)
        assert not log.clashes
        assert sorted(log.begun) == list(range(len(asked)))
        assert log.most <= concurrent
        for one in range(len(asked)):
            for other in range(one + 1, len(asked)):
                if _meet(asked[one][0], asked[other][0]):
                    assert log.begun.index(one) < log.begun.index(other)
        keys = [m.key for m in at.conversation.messages if hasattr(m, "key")]
        assert keys == [CallKey(0, slot) for slot in range(len(asked))]
        total = sum(seconds for _, seconds in asked)
        assert total or not at.seen(ToolCallFailed)


def _meet(one: list[str], other: list[str]) -> bool:
    return bool(one and other and (EVERYTHING in one + other or set(one) & set(other)))


def _any_write_sets(asked: Sequence[tuple[list[str], int]], concurrent: int) -> None:
    asyncio.run(_share(asked, concurrent))


ANY = given(writes, st.sampled_from([1, 2, 8]))
few = settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
many = settings(max_examples=1_000, suppress_health_check=list(HealthCheck), deadline=None)


def test_calls_that_write_the_same_run_in_order_and_all_others_together() -> None:
    few(ANY(_any_write_sets))()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_calls_that_write_the_same_run_in_order_and_all_others_together() -> None:
    many(ANY(_any_write_sets))()


async def test_disjoint_writes_run_together_and_a_wait_takes_no_time_and_no_lane() -> None:
    log, clock = Log(), FakeClock()
    async with stage(Write(log), clock=clock) as at:
        made = tuple(("write", json.dumps({"resources": [name], "seconds": 9})) for name in "aaab")
        chosen = ToolSettings(timeout=10, max_concurrent=2)
        session = at.session(FakeModel(Say(calls=made), Say("Done.")), settings=chosen)
        running = asyncio.ensure_future(session.run("Go"))
        await until(lambda: len(log.running) == 2)
        assert log.begun == [0, 3]
        await finished(at, running, clock)
        assert log.begun == [0, 3, 1, 2]
        assert not at.seen(ToolCallFailed)  # though the last waited 18 s for the others


async def test_invalid_arguments_of_a_writing_tool_delay_no_call() -> None:
    log, clock = Log(), FakeClock()
    async with stage(Write(log), clock=clock) as at:
        made = (("write", '{"resources": 7}'), ("write", '{"resources": ["*"]}'))
        session = at.session(FakeModel(Say(calls=made), Say("Done.")))
        await finished(at, asyncio.ensure_future(session.run("Go")), clock)
        ill, well = (json.loads(text) for text in results(at.conversation.messages))
        assert (ill["kind"], well["ok"]) == ("validation", True)


async def test_background_calls_have_separate_limits() -> None:
    build, gates, clock = Build(), Gate(), FakeClock()
    async with stage(build, gates, clock=clock) as at:
        made = (*gate("1", "2", "3", tool="build"), *gate("a", "b"))
        chosen = ToolSettings(max_concurrent=1, max_background=2, timeout=30)
        session = at.session(FakeModel(Say(calls=made), Say("Done.")), settings=chosen)
        running = asyncio.ensure_future(session.run("Go"))
        await until(lambda: len(build.running) == 2 and gates.running == ["a"])
        gates.open("a")
        await until(lambda: gates.running == ["b"])
        gates.open("b")
        await settle()
        await clock.advance(500)
        assert build.running == ["1", "2"]
        build.open("1")
        await until(lambda: build.running == ["2", "3"])
        await clock.advance(100)  # "2" has had its 600 s
        await until(lambda: build.ended == ["2"])
        build.open("3")
        await running
        kinds = [json.loads(text).get("kind") for text in results(at.conversation.messages)]
        assert kinds == [None, "timeout", None, None, None]
        assert "within 600 seconds" in results(at.conversation.messages)[1]


async def test_background_calls_end_with_their_session() -> None:
    build = Build()
    async with stage(build) as at:
        session = at.session(FakeModel(Say(calls=gate("1", "2", "3", tool="build"))))
        running = asyncio.ensure_future(session.run("Go"))
        await until(lambda: len(build.running) == 2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await settle()
        assert sorted(build.ended) == ["1", "2"]
        assert len(at.seen(ToolCallFailed)) == 3
        assert len(at.seen(ToolCallRequested)) == 2


async def test_the_time_limit_pauses_while_a_person_is_asked() -> None:
    tool, clock = Asking(), FakeClock()
    async with stage(tool, Gate(), clock=clock) as at:
        model = FakeModel(Say(calls=(*calls("asking"), *gate("b"))), Say("Done."))
        session = at.session(model, settings=ToolSettings(timeout=10))
        with at.approvals.allow_questions():
            running = asyncio.ensure_future(session.run("Go"))
            for _ in range(2):
                await until(at.approvals.pending)
                await clock.advance(1_000)
                (question,) = at.approvals.pending()
                at.approvals.answer(question.approval_id, ApprovalScope.ONCE)
                await until(lambda: not at.approvals.pending())
                await clock.advance(4)
            await until(lambda: tool.running == ["end"])
            assert [event.key.slot for event in at.seen(ToolCallFailed)] == [1]
            tool.open("end")
            await running
        assert [event.key.slot for event in at.seen(ToolCallCompleted)] == [0]
