"""The period of a query, and the preceding period of equal length."""

from dataclasses import dataclass

from treadle.traces.query.conditions import Condition, Field, Operator, Query
from treadle.traces.store.summary import Summary


@dataclass(frozen=True, slots=True)
class Period:
    """The time from `since_us` (inclusive) to `until_us` (exclusive), in Unix microseconds."""

    since_us: int
    until_us: int

    @property
    def before(self) -> "Period":
        """The preceding period of equal length."""
        return Period(2 * self.since_us - self.until_us, self.since_us)


@dataclass(frozen=True, slots=True)
class Change:
    """The figures of a period and of the preceding period."""

    now: Summary
    before: Summary
    period: Period


def period_of(query: Query, now_us: int) -> Period | None:
    """Return the period from a query's latest lower bound to its earliest upper bound.

    Without an upper bound, the period ends at `now_us`. The result is None if the query has no
    lower bound, or if the period is empty.
    """
    since = [
        int(each.values[0]) + (each.operator is Operator.MORE)
        for each in _moments(query, Operator.AT_LEAST, Operator.MORE)
    ]
    until = [
        int(each.values[0]) + (each.operator is Operator.AT_MOST)
        for each in _moments(query, Operator.LESS, Operator.AT_MOST)
    ]
    if not since:
        return None
    period = Period(max(since), min(until, default=now_us))
    return period if period.until_us > period.since_us else None


def within(query: Query, period: Period) -> Query:
    """Return the query with `period` in place of its conditions on the start time."""
    lasting = tuple(each for each in query.conditions if each.field is not Field.START)
    return Query(
        (
            *lasting,
            Condition(Field.START, Operator.AT_LEAST, (period.since_us,)),
            Condition(Field.START, Operator.LESS, (period.until_us,)),
        )
    )


def _moments(query: Query, *operators: Operator) -> list[Condition]:
    return [
        each
        for each in query.of(Field.START)
        if each.operator in operators and not each.negated and each.values
    ]
