"""Limits the tokens and the cost of calls in a day or a month, and refuses further calls.

Calls that a budget counts have the label `budget:NAME`. Once in each period, the use so far is read
from the rollups of this label in the trace store. While they cannot be read, calls are refused.
Later use is added up in memory, so that the limit applies even if the store fails later.
"""

import asyncio
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from treadle.clock import Clock
from treadle.config.gateway import GatewayBudget
from treadle.events.types import Usage
from treadle.gateway.refusals import RefusalError
from treadle.gateway.request import CallRequest
from treadle.gateway.routing import matches
from treadle.llm.endpoint import Endpoint
from treadle.llm.prices import cost
from treadle.llm.profiles import EMBEDDED
from treadle.llm.usage import MAX_TOKENS
from treadle.spans.span import BUDGET_LABEL
from treadle.tokens import estimate
from treadle.traces import TraceStore
from treadle.traces.query.conditions import Condition, Field, GroupBy, Operator, Query


@dataclass(frozen=True, slots=True)
class Used:
    """The use of calls in tokens and in US dollars.

    A call whose cost is unknown adds nothing to the cost.
    """

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Used") -> "Used":
        return Used(self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: "Used") -> "Used":
        return Used(max(0, self.tokens - other.tokens), max(0.0, self.cost - other.cost))


@dataclass(frozen=True, slots=True)
class Planned:
    """The expected use of a call, which budgets reserve for it.

    `input` is the estimated number of input tokens. `output` is the maximum number of output tokens
    that the request sets for one answer, or None without a maximum. `choices` is the number of
    requested answers. `cost` is the cost in US dollars at the most expensive target, or None if a
    price is unknown.
    """

    input: int = 0
    output: int | None = None
    choices: int = 1
    cost: float | None = 0.0

    @property
    def tokens(self) -> int:
        """The total of input and output tokens."""
        return self.input + self.choices * (_USUAL_OUTPUT if self.output is None else self.output)

    @property
    def certain(self) -> int:
        """The maximum number of output tokens of all answers, or 0 if the request sets none."""
        return self.choices * (self.output or 0)


_USUAL_OUTPUT = 1_024
"""The number of output tokens that are reserved for an answer without a maximum."""

_OUTPUT_LIMITS = (
    "max_completion_tokens", "max_output_tokens", "max_tokens", "maxOutputTokens"
)  # fmt: skip
_CHOICES = ("n", "best_of", "candidateCount")


def planned_use(request: CallRequest, targets: Sequence[Endpoint]) -> Planned:
    """Estimate the use of a call at the most expensive of `targets`.

    This function loads the price data, which blocks, so call it in a thread.
    """
    given = (
        estimate(request.body.text[:_ESTIMATED]) + max(0, len(request.body.text) - _ESTIMATED) // 3
    )
    # A request may set the limit under several names. The provider may use any of them, so the
    # largest counts.
    declared = max(_counts(request, _OUTPUT_LIMITS), default=None)
    output = declared if request.operation.generates else 0
    tokens = Planned(given, output, max(_counts(request, _CHOICES), default=1))
    usage = Usage(input=given, output=tokens.tokens - given)
    costs = [0.0 if each.provider == EMBEDDED else cost(each, usage) for each in targets]
    known = [each for each in costs if each is not None]
    return replace(tokens, cost=max(known, default=0.0) if len(known) == len(costs) else None)


def _counts(request: CallRequest, names: Sequence[str]) -> list[int]:
    """The values of the parameters `names` that are numbers of at least 1."""
    parameters = request.parameters
    values = [parameters.get(name) for name in names]
    return [
        int(min(each, MAX_TOKENS))
        for each in values
        if isinstance(each, int | float) and not isinstance(each, bool) and each >= 1
    ]


_REASON = 200
"""The maximum number of characters of a store error in a refusal."""

_ESTIMATED = 200_000
"""The number of characters of a body whose tokens are estimated.

The rest counts as one token per three characters.
"""

Sums = Callable[[str, int], Used]
"""A function that returns the use of the calls with a label since a time.

The time is in Unix microseconds. The function raises StoreError if the store fails.
"""


class Budgets:
    """Counts the use of calls, and refuses calls when a budget is used up."""

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
        self._reserved: dict[str, Used] = {}
        self._lock = asyncio.Lock()

    def covering(self, request: CallRequest) -> tuple[str, ...]:
        """The names of the budgets that count a call."""
        return tuple(
            name for name, budget in self._budgets.items() if self._covers(budget, request)
        )

    async def check(self, names: Sequence[str]) -> None:
        """Raise RefusalError when one of the budgets is used up, or when its use cannot be read."""
        for name in names:
            budget = self._budgets[name]
            begin, end = self._period(budget)
            async with self._lock:
                used = await self._so_far(name, begin)
            over = _reached_limit(budget, used + self._reserved.get(name, Used()))
            if over:
                raise self._used_up(name, over, end)

    async def reserve(self, names: Sequence[str], planned: Planned) -> dict[str, Used]:
        """Reserve the expected use of a call in its budgets until `settle` is called.

        Returns the reserved use for each budget. Raises RefusalError if the call would exceed a
        budget. Also raises it if a budget limits the cost and the cost of the call is unknown.
        """
        await self.check(names)  # no `await` follows, so no other call can reserve in between
        reserved: dict[str, Used] = {}
        for name in names:
            budget = self._budgets[name]
            _, end = self._period(budget)
            amount = _reserved(name, budget, planned)
            spoken_for = self._used[name][1] + self._reserved.get(name, Used())
            over = _reached_limit(budget, spoken_for)
            if planned.output is not None and not over:
                over = _beyond(budget, spoken_for + replace(amount, tokens=planned.certain))
            if over:
                raise self._used_up(name, over, end)
            reserved[name] = amount
        for name, amount in reserved.items():
            self._reserved[name] = self._reserved.get(name, Used()) + amount
        return reserved

    def settle(self, names: Sequence[str], reserved: Mapping[str, Used], used: Used | None) -> None:
        """Replace the reserved use of a call by its actual use.

        If the actual use is unknown, the reserved use counts.
        """
        for name in names:
            budget = self._budgets[name]
            if name in reserved:
                self._reserved[name] = self._reserved[name] - reserved[name]
            begin, _ = self._period(budget)
            kept = self._used.get(name)
            if kept is not None and kept[0] == begin:
                amount = used if used is not None else reserved.get(name, Used())
                rate = 0.0 if amount.cost else budget.unknown_price or 0.0
                priced = replace(amount, cost=amount.cost or amount.tokens * rate / 1e6)
                self._used[name] = begin, kept[1] + priced

    def _used_up(self, name: str, limit: str, end: int) -> RefusalError:
        budget = self._budgets[name]
        seconds = max(1, round((end - self._clock.now_us()) / 1e6))
        next_start = f"{datetime.fromtimestamp(end / 1e6, UTC):%Y-%m-%d %H:%M} UTC"
        return RefusalError(
            f"The budget {name!r} of {limit} a {budget.period} is used up or reserved.",
            hint=f"It starts again at {next_start}; change it in gateway.budgets.{name}.",
            status=429,
            code="budget_exceeded",
            headers={"retry-after": str(seconds), "x-should-retry": "false"},
        )

    def used(self) -> dict[str, Used]:
        """The use of each budget in the last period that was read.

        A budget is missing if its use was never read.
        """
        return {name: used for name, (_, used) in self._used.items()}

    def _covers(self, budget: GatewayBudget, request: CallRequest) -> bool:
        if budget.labels and not matches(budget.labels, request.context.labels):
            return False
        if budget.key_env is None:
            return True
        key = self._env.get(budget.key_env, "").strip()
        return bool(key) and hmac.compare_digest((request.key or "").encode(), key.encode())

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
        except Exception as error:  # any failure of the store
            raise RefusalError(
                f"The budget {name!r} cannot be checked: its earlier use cannot be read "
                f"({str(error).rstrip('.')[:_REASON] or type(error).__name__}).",
                hint=f"`treadle doctor` checks the trace store; without gateway.budgets.{name} the "
                "call is not counted.",
                status=503,
                code="budget_unknown",
            ) from error

    def _period(self, budget: GatewayBudget) -> tuple[int, int]:
        """The start and end of the current period, in Unix microseconds."""
        return period_of(budget.period, self._clock.now_us())


def period_of(kind: str, now_us: int) -> tuple[int, int]:
    """Return the start and end of the `day` or `month` of a time, in Unix microseconds (UTC)."""
    now = datetime.fromtimestamp(now_us / 1e6, UTC)
    begin = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if kind == "day":
        end = begin + timedelta(days=1)
    else:
        begin = begin.replace(day=1)
        end = (begin + timedelta(days=32)).replace(day=1)
    return int(begin.timestamp()) * 1_000_000, int(end.timestamp()) * 1_000_000


def _reserved(name: str, budget: GatewayBudget, planned: Planned) -> Used:
    """The use that a budget reserves for a call. Raises RefusalError if its cost is unknown."""
    price = planned.cost
    if price is None and budget.cost is not None:
        if budget.unknown_price is None:
            raise RefusalError(
                f"The budget {name!r} counts dollars, and the price of this model is unknown.",
                hint=f"Set gateway.budgets.{name}.unknown_price to its dollars per million tokens, "
                "or to 0 for a free model.",
                status=403,
                code="price_unknown",
                headers={"x-should-retry": "false"},
            )
        price = planned.tokens * budget.unknown_price / 1e6
    return Used(planned.tokens, price or 0.0)


def _beyond(budget: GatewayBudget, used: Used) -> str | None:
    """Describe the limit that `used` exceeds. Returns None if no limit is exceeded."""
    if budget.cost is not None and used.cost > budget.cost:
        return f"${budget.cost:,.2f}"
    if budget.tokens is not None and used.tokens > budget.tokens:
        return f"{budget.tokens:,} tokens"
    return None


def _reached_limit(budget: GatewayBudget, used: Used) -> str | None:
    """Describe the limit that `used` reaches. Returns None if no limit is reached."""
    if budget.cost is not None and used.cost >= budget.cost:
        return f"${budget.cost:,.2f}"
    if budget.tokens is not None and used.tokens >= budget.tokens:
        return f"{budget.tokens:,} tokens"
    return None


_DAY_SECONDS = 86_400


def sums_of(store: TraceStore) -> Sums:
    """Return a function that reads the use from the rollups of a store."""

    def used(label: str, since_us: int) -> Used:
        query = Query(
            (
                Condition(Field.LABEL, Operator.IS, (label,)),
                Condition(Field.START, Operator.AT_LEAST, (since_us,)),
            )
        )
        groups = store.groups(GroupBy.TIME, query, bucket_seconds=_DAY_SECONDS, limit=100).data
        totals = [group.sums.totals for group in groups]
        # If the client exports its spans too, the client's span of a call may count instead of the
        # gateway's span. A budget includes the call in both cases.
        tokens, cost = store.uncounted_use(query)
        return Used(
            tokens + sum((each.tokens.input or 0) + (each.tokens.output or 0) for each in totals),
            cost + sum(each.cost or 0.0 for each in totals),
        )

    return used
