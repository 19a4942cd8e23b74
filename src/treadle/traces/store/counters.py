"""The counters of every sum of spans, each declared once in `COUNTERS`.

The rows of `traces`, `runs`, `threads`, `rollups` and `properties` have one column for each
counter. The writer adds the contribution of a span (`counters`). Queries that add up spans use the
same declarations as SQL (`CONTRIBUTIONS`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.spans.span import SpanKind, SpanStatus
from treadle.spans.totals import REPLIED
from treadle.traces.store.columns import SpanRow

Counters = list[int]
"""The values of all counters, in the order of `COUNTERS`."""

LONGEST_US = 10**12
"""The maximum duration that a span adds to a sum, in microseconds (about 11 days).

A span with a start time of 0 has a duration of decades. Without this limit, such durations could
overflow the sum.
"""
MAX_TOKENS = 10**12
MAX_NANO_DOLLARS = 10**14


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A condition on a span, as SQL on the row `s` of `spans` and as a function of a `SpanRow`."""

    sql: str
    holds: Callable[[SpanRow], bool]
    compared: tuple[str, ...]
    """The columns whose values determine whether the condition holds."""
    known: tuple[str, ...]
    """The columns for which the condition tests only whether their value is known."""

    def __and__(self, other: "RowCondition") -> "RowCondition":
        one, two = self.holds, other.holds
        both = f"({self.sql} AND {other.sql})"
        return RowCondition(both, lambda row: one(row) and two(row), *self._columns(other))

    def __or__(self, other: "RowCondition") -> "RowCondition":
        one, two = self.holds, other.holds
        either = f"({self.sql} OR {other.sql})"
        return RowCondition(either, lambda row: one(row) or two(row), *self._columns(other))

    def __invert__(self) -> "RowCondition":
        holds = self.holds
        return RowCondition(
            f"NOT {self.sql}", lambda row: not holds(row), self.compared, self.known
        )

    def _columns(self, other: "RowCondition") -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.compared + other.compared, self.known + other.known


def _equals(column: str, *values: str | int) -> RowCondition:
    at, listed = SpanRow._fields.index(column), ", ".join(map(repr, map(_plain, values)))
    return RowCondition(
        f"s.{column} IN ({listed})", lambda row: row[at] in values, compared=(column,), known=()
    )


def _plain(value: str | int) -> str | int:
    return str(value) if isinstance(value, str) else value


def _known(column: str) -> RowCondition:
    at = SpanRow._fields.index(column)
    return RowCondition(
        f"s.{column} IS NOT NULL",
        lambda row: row[at] is not None,
        compared=(),
        known=(column,),
    )


_EVERY = RowCondition("TRUE", lambda _: True, compared=(), known=())
_MODEL_CALL = RowCondition(
    "s.counted = 1", lambda row: row.counted == 1, compared=("counted",), known=()
)
_TOOL_CALL = _equals("kind", SpanKind.TOOL)
_FAILED = _equals("status", SpanStatus.ERROR)
_REPLIED = _MODEL_CALL & _equals("status", *REPLIED)
_TOKENS_KNOWN = _known("input_tokens") & (
    _known("output_tokens") | _equals("kind", SpanKind.EMBEDDING)
)


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter that adds 1, or the value of a column, for each span that meets a condition."""

    name: str
    when: RowCondition
    column: str | None = None
    most: int = 0
    """The maximum absolute value that one span adds from the column."""

    @property
    def sql(self) -> str:
        """The SQL of the value that a row `s` of `spans` contributes."""
        if self.column is None:
            return "1" if self.when is _EVERY else f"CAST({self.when.sql} AS INTEGER)"
        value = f"max(-{self.most}, min({self.most}, coalesce(s.{self.column}, 0)))"
        return value if self.when is _EVERY else f"iif({self.when.sql}, {value}, 0)"


COUNTERS = (
    Counter("spans", _EVERY),
    Counter("model_calls", _MODEL_CALL),
    Counter("tool_calls", _TOOL_CALL),
    Counter("failed", _FAILED & (_TOOL_CALL | _MODEL_CALL)),
    Counter("errors", _FAILED),
    Counter("faults", _equals("fault", 1)),
    Counter("unfinished", _equals("status", SpanStatus.UNFINISHED)),
    *(
        Counter(f"{kind}_tokens", _MODEL_CALL, f"{kind}_tokens", MAX_TOKENS)
        for kind in ("input", "output", "cached", "cache_write", "reasoning")
    ),
    Counter("cost_nano", _MODEL_CALL, "cost_nano", MAX_NANO_DOLLARS),
    Counter("metered", _MODEL_CALL & _TOKENS_KNOWN),
    Counter("unmetered", _REPLIED & ~_TOKENS_KNOWN),
    Counter("priced", _MODEL_CALL & _known("cost_nano")),
    Counter("unpriced", _REPLIED & ~_known("cost_nano")),
    Counter("timed", _known("duration_us")),
    Counter("busy_us", _EVERY, "duration_us", LONGEST_US),
)
"""Model calls, tokens and cost include only counted calls (`spans.totals.counted_calls`).

Model calls include embeddings, which have no output tokens.

`failed` counts failed model and tool calls. `errors` counts failed spans of any kind. `faults`
counts the failed spans without a failed child (`store.faults`). `metered` calls have known input
and output tokens, and `priced` calls have a known cost. `unmetered` and `unpriced` calls were
answered or interrupted, but lack these values. `busy_us` is the sum of the durations of the `timed`
spans.
"""

COUNTER_NAMES = tuple(counter.name for counter in COUNTERS)
COUNTER_COLUMNS = ", ".join(COUNTER_NAMES)
CONTRIBUTIONS = ", ".join(f"{counter.sql} AS {counter.name}" for counter in COUNTERS)
"""The contributions of a row `s` of `spans`, as columns with the names of the counters."""
TOTALS = ", ".join(f"sum({name}) AS {name}" for name in COUNTER_NAMES)


def _adder(counter: Counter) -> Callable[[SpanRow], int]:
    holds, most = counter.when.holds, counter.most
    if counter.column is None:
        return holds
    at = SpanRow._fields.index(counter.column)

    def add(row: SpanRow) -> int:
        value: Any = row[at]
        return 0 if value is None or not holds(row) else max(-most, min(value, most))

    return add


_ADDERS = tuple(map(_adder, COUNTERS))


def counters(row: SpanRow) -> Counters:
    """Return the values that the span adds to each sum that includes it."""
    return [int(add(row)) for add in _ADDERS]


def nothing() -> Counters:
    """Return counters that are all 0."""
    return [0] * len(COUNTERS)


def added(one: Sequence[int], other: Iterable[int], sign: int = 1) -> Counters:
    """Return the sum of two rows of counters, or their difference if `sign` is -1."""
    return [left + sign * right for left, right in zip(one, other, strict=True)]
