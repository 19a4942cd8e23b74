import asyncio
import json
from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.model import FakeModel, Hang, Say, calls
from tests.session.parts import (
    Echo,
    EchoArguments,
    EchoResult,
    SlowWrite,
    Stage,
    results,
    stage,
    until,
)
from treadle.config.model import LimitSettings, ToolSettings
from treadle.events.types import Notice, StopReason, ToolCallRequested, Usage
from treadle.session import SessionOutcome
from treadle.tools.contract import ToolContext


def saying(text: str) -> tuple[str, str]:
    return ("echo", json.dumps({"text": text}))


def different(**more: Any) -> Iterator[Say]:
    """Replies without end, each with a new call."""
    return (Say(f"Reply {n}.", calls=(saying(str(n)),), **more) for n in count())


async def run(at: Stage, model: FakeModel, **limits: Any) -> SessionOutcome:
    return await at.session(model, limits=LimitSettings(**limits)).run("Go")


async def usable(at: Stage) -> None:
    """Check that the next message is served and that each call has its result."""
    assert (await at.session(FakeModel(Say("Fine."))).run("Go on")).text == "Fine."
    messages = at.conversation.messages
    called = [call.key for m in messages for call in getattr(m, "calls", ())]
    assert [m.key for m in messages if hasattr(m, "key")] == called


def notices(at: Stage) -> str:
    return " ".join(notice.text for notice in at.seen(Notice))


@pytest.mark.parametrize(
    ("limits", "usage", "cost", "reason", "said"),
    [
        ({"tokens": 40}, Usage(10, 5), 0.1, StopReason.TOKEN_LIMIT, "45 tokens were used"),
        ({"tokens": 45}, Usage(10, 5), None, StopReason.TOKEN_LIMIT, "the limit is 45"),
        ({"cost": 0.25}, Usage(10, 5), 0.1, StopReason.COST_LIMIT, "$0.3000 was spent"),
        ({"cost": 0.3}, Usage(), 0.1, StopReason.COST_LIMIT, "the limit is $0.3"),
    ],
)
async def test_a_reached_limit_ends_the_loop_with_its_reason(
    limits: dict[str, Any], usage: Usage, cost: float | None, reason: StopReason, said: str
) -> None:
    async with stage(Echo()) as at:
        replies = different(usage=usage, cost=cost)
        model = FakeModel(*[next(replies) for _ in range(5)])
        outcome = await run(at, model, **limits)
        assert (outcome.stop_reason, outcome.text) == (reason, "Reply 2.")
        assert len(model.requests) == 3
        assert json.loads(results(at.conversation.messages)[-1])["kind"] == "limit"
        await usable(at)
        assert said in notices(at)
        assert len(at.seen(ToolCallRequested)) == 2


async def test_unreported_tokens_are_estimated() -> None:
    async with stage(Echo()) as at:
        replies = different(usage=Usage())
        model = FakeModel(*[next(replies) for _ in range(20)])
        outcome = await run(at, model, tokens=2_000)
        assert outcome.stop_reason is StopReason.TOKEN_LIMIT
        assert len(model.requests) < 20


async def test_an_unknown_cost_ends_a_session_with_a_cost_limit() -> None:
    async with stage(Echo()) as at:
        model = FakeModel(Say(calls=(saying("a"),), cost=None), Say("Done.", cost=None))
        assert (await run(at, model, cost=1.0)).stop_reason is StopReason.COST_LIMIT
        assert len(model.requests) == 1
        await usable(at)
        assert notices(at).count("does not report costs") == 1


async def test_an_unknown_cost_keeps_the_answer() -> None:
    async with stage(Echo()) as at:
        outcome = await run(at, FakeModel(Say("Done.", cost=None)), cost=1.0)
        assert (outcome.text, outcome.stop_reason) == ("Done.", StopReason.COMPLETED)


@pytest.mark.parametrize(
    ("price", "reason"), [(0.0, StopReason.COMPLETED), (1e6, StopReason.COST_LIMIT)]
)
async def test_a_setting_estimates_an_unknown_cost(price: float, reason: StopReason) -> None:
    async with stage(Echo()) as at:
        model = FakeModel(Say(calls=(saying("a"),), cost=None), Say("Done.", cost=None))
        outcome = await run(at, model, cost=1.0, unknown_price=price)
        assert outcome.stop_reason is reason


async def test_an_answer_that_reaches_a_limit_is_an_answer() -> None:
    async with stage(Echo()) as at:
        outcome = await run(at, FakeModel(Say("Done.")), tokens=1, cost=0.01)
        assert (outcome.text, outcome.stop_reason) == ("Done.", StopReason.COMPLETED)


@pytest.mark.parametrize(("limit", "ran"), [(3, 3), (4, 3), (2, 0)])
async def test_after_the_last_tool_call_the_model_is_asked_for_its_answer(
    limit: int, ran: int
) -> None:
    async with stage(Echo()) as at:
        three = Say(calls=tuple(saying(text) for text in "abc"))
        again = Say(calls=tuple(saying(text) for text in "de"))
        replies = (three, Say("Done.")) if limit < 4 else (three, again, Say("Done."))
        model = FakeModel(*replies)
        outcome = await run(at, model, tool_calls=limit)
        assert (outcome.text, outcome.stop_reason) == ("Done.", StopReason.TOOL_CALL_LIMIT)
        assert [len(request.tools) for request in model.requests][-2:] == [1, 0]
        await usable(at)
        assert len(at.seen(ToolCallRequested)) == ran
        assert "limit of tool calls" in notices(at)


async def test_calls_after_the_last_are_refused() -> None:
    async with stage(Echo()) as at:
        replies = different()
        model = FakeModel(*[next(replies) for _ in range(3)])
        outcome = await run(at, model, tool_calls=1)
        assert (outcome.text, outcome.stop_reason) == ("Reply 1.", StopReason.TOOL_CALL_LIMIT)
        await usable(at)


async def test_the_time_limit_ends_a_running_tool() -> None:
    clock, tool = FakeClock(), SlowWrite()
    async with stage(tool, clock=clock) as at:
        model = FakeModel(Say("Look:", calls=(("slow_write", '{"text": "a"}'),)))
        running = asyncio.ensure_future(run(at, model, seconds=4))
        await tool.entered("a")
        await clock.advance(4)
        outcome = await running
        assert (outcome.text, outcome.stop_reason) == ("Look:", StopReason.TIME_LIMIT)
        (result,) = map(json.loads, results(at.conversation.messages))
        assert (result["kind"], result["effect"]) == ("limit", "unknown")
        await usable(at)
        assert tool.ended == ["a"]
        assert "time limit of 4 s" in notices(at)


async def test_the_time_limit_ends_a_reply() -> None:
    clock = FakeClock()
    async with stage(Echo(), clock=clock) as at:
        model = FakeModel(Say("First.", calls=(saying("a"),)), Hang())
        running = asyncio.ensure_future(run(at, model, seconds=9))
        await until(lambda: len(model.requests) == 2)
        while not running.done():
            await clock.advance(1)
            await asyncio.sleep(0.001)
        outcome = await running
        assert (outcome.text, outcome.stop_reason) == ("First.", StopReason.TIME_LIMIT)
        assert outcome.usage == Usage()
        await usable(at)


async def test_the_third_identical_call_gets_a_hint_and_the_fifth_ends_the_loop() -> None:
    async with stage(Echo()) as at:
        spaced = [Say(calls=(("echo", f'{{"times":{" " * n}1, "text": "a"}}'),)) for n in range(9)]
        outcome = await run(at, FakeModel(*spaced))
        assert outcome.stop_reason is StopReason.REPEATED_CALLS
        assert outcome.tool_calls == 5
        hinted = ["same call in" in content for content in results(at.conversation.messages)]
        assert hinted == [False, False, True, True, True]
        await usable(at)
        assert "same call in 5 replies" in notices(at)


class Counter(Echo):
    """Returns another number each time."""

    name: ClassVar[str] = "counter"

    def __init__(self) -> None:
        self._numbers = count()

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        return EchoResult(text=str(next(self._numbers)))


@pytest.mark.parametrize(
    "replies",
    [
        [Say(calls=calls("counter"))] * 8,
        [Say(calls=calls(*["echo"] * 8))] * 2,
        [Say(calls=(saying(str(n)),)) for n in range(8)],
    ],
    ids=["another result", "twins in one reply", "other arguments"],
)
async def test_changing_results_are_not_a_loop(replies: list[Say]) -> None:
    async with stage(Echo(), Counter()) as at:
        outcome = await run(at, FakeModel(*replies, Say("Done.")))
        assert outcome.stop_reason is StopReason.COMPLETED
        assert not any("same call" in content for content in results(at.conversation.messages))


async def test_a_loop_among_other_calls_is_detected() -> None:
    async with stage(Echo()) as at:
        mixed = [Say(calls=(saying("a"), saying(f"other {n}"))) for n in range(8)]
        settings = ToolSettings(max_turns=8)
        outcome = await at.session(FakeModel(*mixed), settings=settings).run("Go")
        assert outcome.stop_reason is StopReason.REPEATED_CALLS
