"""The bell and the desktop notification at the end of a turn, and when it asks."""

from uuid import uuid4

import pytest

from tests.fakes.clock import FakeClock
from treadle.config.model import TerminalSettings
from treadle.events import Event
from treadle.events.types import (
    ApprovalRequested,
    CallKey,
    SessionCancelled,
    SessionFinished,
    SessionStarted,
    StopReason,
    Usage,
)
from treadle.tui.signals import Signals, notification

TURN = uuid4()
STARTED = SessionStarted(
    request_id=TURN, session_id=uuid4(), user_text="Hi", model="m", provider="p", tools=()
)
FINISHED = SessionFinished(
    request_id=TURN, session_id=uuid4(), text="", stop_reason=StopReason.COMPLETED, usage=Usage(),
    cost=None, tool_calls=0, duration=1,
)  # fmt: skip
CANCELLED = SessionCancelled(
    request_id=TURN, session_id=uuid4(), usage=Usage(), cost=None, duration=1
)
ASKED = ApprovalRequested(
    request_id=TURN, approval_id=uuid4(), key=CallKey(0, 0), call_id="c", name="t", summary="s",
    reason="r",
)  # fmt: skip
BOTH = TerminalSettings(bell=True, notify=True, notify_after=10)


async def signals(
    event: Event,
    *,
    after: float,
    focused: bool = True,
    settings: TerminalSettings = BOTH,
    folder: str = "repo",
) -> list[str]:
    """The signals of a turn in which an event comes after some seconds."""
    clock, given = FakeClock(), list[str]()
    gives = Signals(clock, {}, ring=lambda: given.append("bell"), write=given.append)
    gives.apply(STARTED, settings, folder=folder, focused=focused)
    await clock.advance(after)
    gives.apply(event, settings, folder=folder, focused=focused)
    return given


@pytest.mark.parametrize(
    ("event", "what"), [(FINISHED, "the turn has ended"), (ASKED, "waits for your approval")]
)
async def test_long_turn_gives_both_signals(event: Event, what: str) -> None:
    assert await signals(event, after=10) == ["bell", f"\x1b]9;Treadle in repo: {what}\x07"]


async def test_short_turn_gives_a_signal_only_to_a_person_in_another_window() -> None:
    assert await signals(FINISHED, after=9) == []
    assert len(await signals(FINISHED, after=9, focused=False)) == 2


async def test_turn_that_the_person_ended_gives_no_signal() -> None:
    assert await signals(CANCELLED, after=60, focused=False) == []


async def test_without_the_settings_there_is_no_signal() -> None:
    assert await signals(FINISHED, after=60, settings=TerminalSettings()) == []


async def test_name_of_a_folder_cannot_end_the_sequence() -> None:
    _, sent = await signals(FINISHED, after=60, folder="a\x07\x1b]0;title\x1b\\b")
    assert sent.count("\x1b") == 1
    assert sent.count("\x07") == 1


def test_notification_has_the_form_of_the_terminal() -> None:
    assert notification("text", {"TERM": "foot"}) == "\x1b]777;notify;Treadle;text\x07"
    in_tmux = notification("text", {"TERM": "tmux-256color", "TMUX": "/tmp/s,1,0"})
    assert in_tmux == "\x1bPtmux;\x1b\x1b]9;text\x07\x1b\\"
