"""What a turn does is stated in words, with the seconds of the wait (case U7)."""

from uuid import uuid4

import pytest

from tests.fakes.clock import FakeClock
from treadle.events import Event
from treadle.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    ApprovalScope,
    CallKey,
    ModelDelta,
    ModelRequestStarted,
    RetryScheduled,
    ToolCallCompleted,
    ToolCallRequested,
    ToolView,
)
from treadle.tui.conversation.turn_activity import TurnActivity

TURN = uuid4()


def requested(slot: int, name: str) -> Event:
    return ToolCallRequested(
        request_id=TURN, key=CallKey(0, slot), call_id="c", vendor="v", name=name, arguments="{}"
    )


def completed(slot: int) -> Event:
    return ToolCallCompleted(
        request_id=TURN, key=CallKey(0, slot), call_id="c", content="", ui=ToolView(""), duration=1
    )


def asked() -> Event:
    return ApprovalRequested(
        request_id=TURN, approval_id=uuid4(), key=CallKey(0, 0), call_id="c", name="t",
        summary="s", reason="r",
    )  # fmt: skip


def model_request() -> Event:
    return ModelRequestStarted(
        request_id=TURN, turn=0, attempt=1, model="m", provider="fake", messages=1, tools=0
    )


async def words_after(*events: Event, seconds: float = 0) -> str:
    clock = FakeClock()
    activity = TurnActivity(clock)
    for event in events:
        activity.apply(event)
    await clock.advance(seconds)
    return activity.words()


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1.9, "waiting for fake"),
        (2, "waiting for fake, 2 s"),
        (75, "waiting for fake, 1 min 15 s"),
    ],
)
async def test_silence_of_a_provider_has_its_time(seconds: float, expected: str) -> None:
    assert await words_after(model_request(), seconds=seconds) == expected


@pytest.mark.parametrize(("seconds", "left"), [(0, 8), (3, 5), (7.5, 1), (9, 0)])
async def test_retry_counts_down(seconds: float, left: int) -> None:
    retry = RetryScheduled(request_id=TURN, attempt=1, delay=8, reason="Busy.")
    assert await words_after(retry, seconds=seconds) == f"trying again in {left} s"


async def test_running_tool_has_its_time() -> None:
    assert await words_after(requested(0, "run_check"), seconds=12) == "run_check is running, 12 s"


async def test_tools_that_run_together_are_counted() -> None:
    calls = requested(0, "grep"), requested(1, "read_file"), requested(2, "grep")
    assert await words_after(*calls, seconds=3) == "3 tools are running: grep, read_file, 3 s"


async def test_tool_that_still_runs_is_named_after_another_one_ended() -> None:
    both = requested(0, "run_check"), requested(1, "grep")
    assert (await words_after(*both, completed(1), seconds=4)).endswith(", 4 s")
    assert "run_check" in await words_after(*both, completed(1))


async def test_question_for_approval_comes_first() -> None:
    events = requested(0, "edit"), requested(1, "grep"), asked()
    assert await words_after(*events, seconds=5) == "waiting for your approval, 5 s"
    resolved = ApprovalResolved(
        request_id=TURN, approval_id=uuid4(), key=CallKey(0, 0), call_id="c",
        scope=ApprovalScope.ONCE, duration=1,
    )  # fmt: skip
    assert "approval" not in await words_after(*events, resolved)


async def test_text_of_an_answer_starts_the_wait_again() -> None:
    clock = FakeClock()
    activity = TurnActivity(clock)
    activity.apply(model_request())
    await clock.advance(5)
    activity.apply(ModelDelta(request_id=TURN, turn=0, text="Hello"))
    assert activity.words() == "waiting for the rest of the answer"


async def test_without_seconds_nothing_counts() -> None:
    clock = FakeClock()
    activity = TurnActivity(clock)
    activity.apply(model_request())
    await clock.advance(5)
    assert activity.words(seconds=False) == "waiting for fake"
