"""Describes in words what the running turn does."""

import math
from dataclasses import dataclass, replace

from treadle.clock import Clock
from treadle.display.event_lines import SILENCE, activity
from treadle.events import Event
from treadle.events import types as ev


@dataclass(frozen=True, slots=True)
class _Call:
    """A running tool call. `since` is the time at which it started, in seconds of the clock."""

    name: str
    text: str
    since: float


class TurnActivity:
    """Follows the events of one conversation to describe its running turn.

    If a wait takes longer than 2 s, `words` adds its time. Before a retry, `words` states the time
    until the retry.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.clear()

    @property
    def calls(self) -> int:
        """The number of running tool calls."""
        return len(self._calls)

    @property
    def asks(self) -> bool:
        """Whether a call waits for an approval."""
        return bool(self._asking)

    def clear(self) -> None:
        """Forget the turn."""
        self._calls: dict[ev.CallKey, _Call] = {}
        self._asking: dict[ev.CallKey, float] = {}
        self._retry_at: float | None = None
        self._text = "starting"
        self._since = self._clock.monotonic()

    def apply(self, event: Event) -> None:
        """Apply an event of the conversation."""
        now = self._clock.monotonic()
        self._retry_at = None
        match event:
            case ev.RetryScheduled(delay=delay):
                self._retry_at = now + delay
            case ev.ToolCallRequested(key=key, name=name):
                self._calls[key] = _Call(name, activity(event) or name, now)
            case ev.ToolProgress(key=key, text=text) if key in self._calls:
                self._calls[key] = replace(self._calls[key], text=text)
            case ev.ToolCallCompleted(key=key) | ev.ToolCallFailed(key=key):
                self._calls.pop(key, None)
                self._asking.pop(key, None)
            case ev.ApprovalRequested(key=key):
                self._asking[key] = now
            case ev.ApprovalResolved(key=key):
                self._asking.pop(key, None)
            case ev.SessionFinished() | ev.SessionFailed() | ev.SessionCancelled():
                self.clear()
        if (said := activity(event)) is not None:
            self._text, self._since = said, now

    def words(self, *, seconds: bool = True) -> str:
        """Describe what the turn does now. With `seconds`, the text includes the time of a wait."""
        if self._asking:
            return self._waited(
                "waiting for your approval", min(self._asking.values()), seconds=seconds
            )
        if self._retry_at is not None and seconds:
            return (
                f"trying again in {max(0, math.ceil(self._retry_at - self._clock.monotonic()))} s"
            )
        if not self._calls:
            return self._waited(self._text, self._since, seconds=seconds)
        calls = list(self._calls.values())
        text = calls[0].text
        if len(calls) > 1:
            names = ", ".join(dict.fromkeys(call.name for call in calls))
            text = f"{len(calls)} tools are running: {names}"
        return self._waited(text, min(call.since for call in calls), seconds=seconds)

    def _waited(self, text: str, since: float, *, seconds: bool) -> str:
        waited = int(self._clock.monotonic() - since)
        if not seconds or waited < SILENCE:
            return text
        minutes = f"{waited // 60} min " if waited >= 60 else ""
        return f"{text}, {minutes}{waited % 60} s"
