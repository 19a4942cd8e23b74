"""Limits the cost of the calls that an API key makes in a day and in a month.

The identity store counts the cost, so all servers of an installation share one limit. The expected
cost of a call is reserved in one transaction before the call. Therefore concurrent calls can exceed
a limit only if they cost more than expected.
"""

import asyncio
import logging
import math
from dataclasses import dataclass
from datetime import UTC, datetime

from treadle.clock import Clock
from treadle.errors import StoreError
from treadle.gateway.budgets import Planned, Used, period_of
from treadle.gateway.refusals import RefusalError
from treadle.identity.identity import Identity
from treadle.identity.key_use import Counter, KeyUse

_log = logging.getLogger(__name__)

_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class _Limit:
    """A limit in one period. Amounts are millionths of a dollar, times are Unix microseconds."""

    counter: Counter
    period: str
    limit: int
    begin: int
    end: int


class KeySpending:
    """Counts the cost of one call for the limits of its API key."""

    def __init__(self, identity: Identity, use: KeyUse, clock: Clock) -> None:
        self._identity = identity
        self._use = use
        self._clock = clock
        self._limits = tuple(_limits(identity, clock.now_us()))
        self._reserved = 0

    async def reserve(self, planned: Planned) -> None:
        """Reserve the expected cost. Raises RefusalError if it would exceed a limit."""
        if planned.cost is None:
            raise RefusalError(
                f"The key {self._identity.name!r} has a limit in dollars, and the price of this "
                "model is unknown.",
                hint="Use a model with a known price, or a key without such a limit.",
                status=403,
                code="price_unknown",
                headers={"x-should-retry": "false"},
            )
        amount = max(1, math.ceil(planned.cost * _MICRO))  # a used-up limit refuses all calls
        try:
            reached = await asyncio.to_thread(self._reserve, amount)
        except StoreError as error:
            raise RefusalError(
                f"The limits of the key cannot be checked: {error.message}",
                hint=error.hint or "Try again later.",
                status=503,
                code="limit_unknown",
            ) from error
        if reached is not None:
            raise self._reached(reached)
        self._reserved = amount

    async def settle(self, used: Used | None) -> None:
        """Replace the reserved cost by the actual cost.

        The reserved cost stays if the actual cost is unknown. A failure of the store is logged.
        """
        if used is None or (used.tokens and not used.cost):
            return
        difference = math.ceil(used.cost * _MICRO) - self._reserved
        self._reserved += difference
        try:
            await asyncio.to_thread(self._add, difference, self._limits)
        except StoreError as error:
            _log.warning("A cost of the key %s is not counted: %s", self._identity.name, error)

    def _reserve(self, amount: int) -> _Limit | None:
        """Reserve the amount in each period. Returns the limit that it would exceed, or None."""
        for number, limit in enumerate(self._limits):
            taken = self._use.take(
                self._identity.id, limit.counter, limit.begin, amount, limit.limit
            )
            if taken < amount:
                self._use.add(self._identity.id, limit.counter, limit.begin, -taken)
                self._add(-amount, self._limits[:number])
                return limit
        return None

    def _add(self, amount: int, limits: tuple[_Limit, ...]) -> None:
        if amount:
            for limit in limits:
                self._use.add(self._identity.id, limit.counter, limit.begin, amount)

    def _reached(self, limit: _Limit) -> RefusalError:
        seconds = max(1, math.ceil((limit.end - self._clock.now_us()) / 1e6))
        next_start = f"{datetime.fromtimestamp(limit.end / 1e6, UTC):%Y-%m-%d %H:%M} UTC"
        return RefusalError(
            f"The key {self._identity.name!r} may spend ${limit.limit / _MICRO:,.2f} a "
            f"{limit.period}, and this call would exceed it.",
            hint=f"The limit starts again at {next_start}. An admin can create another key.",
            status=429,
            code="budget_exceeded",
            headers={"retry-after": str(seconds), "x-should-retry": "false"},
        )


def spending_of(identity: Identity, use: KeyUse, clock: Clock) -> KeySpending | None:
    """Return the object that counts the cost of a call, or None if its sender has no limit."""
    limits = identity.limits
    limited = limits.dollars_per_day is not None or limits.dollars_per_month is not None
    return KeySpending(identity, use, clock) if limited else None


def _limits(identity: Identity, now_us: int) -> list[_Limit]:
    given = (
        (Counter.DAY, "day", identity.limits.dollars_per_day),
        (Counter.MONTH, "month", identity.limits.dollars_per_month),
    )
    return [
        _Limit(counter, period, round(dollars * _MICRO), *period_of(period, now_us))
        for counter, period, dollars in given
        if dollars is not None
    ]
