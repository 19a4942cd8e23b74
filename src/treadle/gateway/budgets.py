"""Budgets: what calls may use up in a day or a month before further ones are refused.

What was used up before this process began is read from the record's kept sums once in a period:
every call that counts carries a label `budget:NAME`. From then on it is added up here, so that a
record that fails makes no budget endless.
"""

import asyncio
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from treadle.clock import Clock
from treadle.config.gateway import GatewayBudget
from treadle.gateway.asked import Asked
from treadle.gateway.refusals import RefusalError
from treadle.gateway.routing import matches
from treadle.traces.span import BUDGET_LABEL


@dataclass(frozen=True, slots=True)
class Used:
    """What calls used up: tokens, and US dollars as far as their cost is known."""

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Used") -> "Used":
        return Used(self.tokens + other.tokens, self.cost + other.cost)


Sums = Callable[[str, int], Used]
"""What the calls with a label used up since a moment (Unix microseconds). Raises StoreError."""


class Budgets:
    """Counts what calls use up."""

    def __init__(
        self,
        budgets: Mapping[str, GatewayBudget],
        env: Mapping[str, str],
        sums: Sums | None,
        clock: Clock,
    ) -> None:
        self._budgets = budgets
        self._env = env
        self._sums = sums
        self._clock = clock
        self._used: dict[str, tuple[int, Used]] = {}
        self._lock = asyncio.Lock()

    def covering(self, asked: Asked) -> tuple[str, ...]:
        """The names of the budgets that a call counts for."""
        return tuple(name for name, budget in self._budgets.items() if self._covers(budget, asked))

    async def check(self, names: Sequence[str]) -> None:
        """Raise RefusalError when one of these budgets is used up."""
        for name in names:
            budget = self._budgets[name]
            begin, end = self._period(budget)
            async with self._lock:
                used = await self._so_far(name, begin)
            over = _over(budget, used)
            if over:
                seconds = max(1, round((end - self._clock.now_us()) / 1e6))
                anew = f"{datetime.fromtimestamp(end / 1e6, UTC):%Y-%m-%d %H:%M} UTC"
                raise RefusalError(
                    f"The budget {name!r} of {over} a {budget.period} is used up.",
                    hint=f"It begins anew at {anew}; gateway.budgets.{name} sets it.",
                    status=429,
                    code="budget_exceeded",
                    headers={"retry-after": str(seconds), "x-should-retry": "false"},
                )

    def add(self, names: Sequence[str], used: Used) -> None:
        """Count what a call has used up."""
        for name in names:
            begin, _ = self._period(self._budgets[name])
            kept = self._used.get(name)
            if kept is not None and kept[0] == begin:
                self._used[name] = begin, kept[1] + used

    def used(self) -> dict[str, Used]:
        """What was used up in the present period, as far as it was asked for."""
        return {name: used for name, (_, used) in self._used.items()}

    def _covers(self, budget: GatewayBudget, asked: Asked) -> bool:
        if budget.labels and not matches(budget.labels, asked.context.labels):
            return False
        if budget.key_env is None:
            return True
        key = self._env.get(budget.key_env, "").strip()
        return bool(key) and hmac.compare_digest((asked.key or "").encode(), key.encode())

    async def _so_far(self, name: str, begin: int) -> Used:
        kept = self._used.get(name)
        if kept is None or kept[0] != begin:
            kept = begin, await self._recorded(name, begin)
            self._used[name] = kept
        return kept[1]

    async def _recorded(self, name: str, begin: int) -> Used:
        if self._sums is None:
            return Used()
        try:
            return await asyncio.to_thread(self._sums, BUDGET_LABEL + name, begin)
        except Exception:  # noqa: BLE001  (what cannot be read counts from now on)
            return Used()

    def _period(self, budget: GatewayBudget) -> tuple[int, int]:
        """Begin and end of the present period, in Unix microseconds."""
        now = datetime.fromtimestamp(self._clock.now_us() / 1e6, UTC)
        begin = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if budget.period == "day":
            end = begin + timedelta(days=1)
        else:
            begin = begin.replace(day=1)
            end = (begin + timedelta(days=32)).replace(day=1)
        return int(begin.timestamp()) * 1_000_000, int(end.timestamp()) * 1_000_000


def _over(budget: GatewayBudget, used: Used) -> str | None:
    """The limit that is reached, in words."""
    if budget.cost is not None and used.cost >= budget.cost:
        return f"${budget.cost:,.2f}"
    if budget.tokens is not None and used.tokens >= budget.tokens:
        return f"{budget.tokens:,} tokens"
    return None
