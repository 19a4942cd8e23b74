"""Adds up the usage of a request session, and ends the session at its limits."""

from collections.abc import Coroutine
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from treadle.clock import Clock, wait_within
from treadle.config.model import LimitSettings
from treadle.events.types import StopReason, Usage
from treadle.traces.amounts import cost as cost_text


@dataclass(slots=True)
class UsageTotal:
    """Adds up the tokens and the cost of replies.

    If one reply does not report a value, the sum of this value is unknown.
    """

    usage: Usage | None = None
    cost: float | None = None

    def add(self, usage: Usage, cost: float | None) -> None:
        """Count one model request.

        A request without a reply counts as `Usage()` and a cost of None.
        """
        if self.usage is None:
            self.usage, self.cost = usage, cost
            return
        parts = {
            part.name: _sum(getattr(self.usage, part.name), getattr(usage, part.name))
            for part in fields(Usage)
        }
        self.usage = replace(self.usage, **parts)
        self.cost = None if self.cost is None or cost is None else self.cost + cost


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


T = TypeVar("T")


class LimitReachedError(Exception):
    """A limit of the session is reached, so the session ends.

    The conversation can continue with another session. The text of the error names the limit.
    """

    def __init__(self, reason: StopReason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Limits:
    """Counts the use of a session since this object was created.

    None means that there is no limit.
    """

    def __init__(self, settings: LimitSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._started = clock.monotonic()
        self.tokens = 0
        self.cost = 0.0
        self._calls = 0
        self.cost_known = True

    def spend(self, usage: Usage, cost: float | None, *, estimated: int) -> bool:
        """Count a reply.

        `estimated` is the estimated sum of the reply's input and output tokens. It is used if
        `usage` is incomplete. Returns True for the first reply whose cost is unknown, if the
        session has a cost limit.
        """
        known = usage.input is not None and usage.output is not None
        tokens = (usage.input or 0) + (usage.output or 0) if known else estimated
        if cost is None and self._settings.unknown_price is not None:
            cost = tokens * self._settings.unknown_price / 1e6
        self.tokens += tokens
        self.cost += cost or 0.0
        first = self._settings.cost is not None and cost is None and self.cost_known
        self.cost_known = self.cost_known and not first
        return first

    def check(self) -> None:
        """Raise LimitReachedError when no further model request is allowed."""
        limit = self._settings
        if limit.seconds is not None and self._elapsed() >= limit.seconds:
            raise self._time_is_up()
        if limit.tokens is not None and self.tokens >= limit.tokens:
            text = f"{self.tokens:,} tokens were used, and the limit is {limit.tokens:,}"
            raise LimitReachedError(StopReason.TOKEN_LIMIT, text)
        if limit.cost is not None and self.cost >= limit.cost:
            text = f"{cost_text(self.cost)} was spent, and the limit is ${limit.cost:g}"
            raise LimitReachedError(StopReason.COST_LIMIT, text)
        if limit.cost is not None and not self.cost_known:
            text = f"the cost of a reply is unknown, and the limit is ${limit.cost:g}"
            raise LimitReachedError(StopReason.COST_LIMIT, text)

    def count(self, other: "Limits") -> None:
        """Count what another session used."""
        self.tokens += other.tokens
        self.cost += other.cost
        self.cost_known = self.cost_known and other.cost_known

    def remaining(self) -> LimitSettings:
        """Return what is left of the tokens, the cost and the time."""
        limit = self._settings
        tokens = None if limit.tokens is None else max(1, limit.tokens - self.tokens)
        cost = None if limit.cost is None else max(1e-9, limit.cost - self.cost)
        seconds = None if limit.seconds is None else max(1e-3, limit.seconds - self._elapsed())
        return limit.model_copy(update={"tokens": tokens, "cost": cost, "seconds": seconds})

    def take_calls(self, number: int) -> bool:
        """Count `number` more calls and return True.

        If they would exceed the limit, return False. In this case, none of them may run.
        """
        limit = self._settings.tool_calls
        if limit is not None and self._calls + number > limit:
            self._calls = limit
            return False
        self._calls += number
        return True

    @property
    def no_more_calls(self) -> bool:
        """Whether the maximum number of tool calls was made."""
        return self._settings.tool_calls is not None and self._calls >= self._settings.tool_calls

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`.

        When the time is up, `work` is cancelled and LimitReachedError is raised.
        """
        seconds = self._settings.seconds
        if seconds is None:
            return await work
        try:
            return await wait_within(work, max(0.0, seconds - self._elapsed()), self._clock)
        except TimeoutError as error:
            if self._elapsed() < seconds:
                raise
            raise self._time_is_up() from error

    def _elapsed(self) -> float:
        return self._clock.monotonic() - self._started

    def _time_is_up(self) -> LimitReachedError:
        text = f"the time limit of {self._settings.seconds:g} s is reached"
        return LimitReachedError(StopReason.TIME_LIMIT, text)
