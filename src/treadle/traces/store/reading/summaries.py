"""What a set of spans looks like in all: counts, sums, percentiles, the slowest and the dearest."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from treadle.traces.query.conditions import (
    Condition,
    Field,
    GroupBy,
    Operator,
    Query,
    Sort,
    SortKey,
    any_of,
)
from treadle.traces.span import SpanKind
from treadle.traces.store.reading.groups import groups_page, label_counts, sums_of
from treadle.traces.store.reading.listed import Group, LabelCount, ListedSpan, Sums, plain
from treadle.traces.store.reading.planning import ALL_SPANS, Source, best_source
from treadle.traces.store.reading.spans import conditions, spans_page
from treadle.traces.store.reading.text_terms import add_holds
from treadle.traces.store.reading.where import resolved
from treadle.traces.tool_stats import PREFIX

TOP = 5
"""How many of the worst are named."""

MOST_GROUPS = 100
"""How many models, tools, operations and labels are told apart."""

_TOOLS = Query((any_of(Field.KIND, [SpanKind.TOOL.value]),))


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of `n` durations in microseconds, each the value of a real one (nearest rank).

    All are None where there are none.
    """

    n: int
    p50_us: int | None
    p95_us: int | None
    p99_us: int | None
    max_us: int | None


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """The calls of one tool among the spans."""

    name: str
    calls: int
    failed: int
    latency: Percentiles


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The calls of one model among the spans; of spans without a model '' is the name."""

    name: str
    sums: Sums
    latency: Percentiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A set of spans in all. `snapshot` is the newest revision that it has seen.

    `wall_us` is the time from the first start to the last end; `sums.busy_us` the sum of durations.
    """

    snapshot: int
    sums: Sums
    start_us: int | None
    last_us: int | None
    wall_us: int | None
    by_operation: tuple[tuple[str, int], ...]
    by_status: tuple[tuple[str, int], ...]
    latency: Percentiles
    time_to_first_token: Percentiles
    models: tuple[ModelUsage, ...]
    tools: tuple[ToolUsage, ...]
    labels: tuple[LabelCount, ...]
    errors: tuple[ListedSpan, ...]
    slowest: tuple[ListedSpan, ...]
    most_expensive: tuple[ListedSpan, ...]


def summary(connection: sqlite3.Connection, query: Query) -> Summary:
    """The summary of the spans that fit."""
    add_holds(connection)
    query = resolved(connection, query)
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    bounds = _all(
        connection, source, query, "min(s.start_us), max(max(s.start_us, coalesce(s.end_us, 0)))"
    )[0]
    wall = None if bounds[0] is None else bounds[1] - bounds[0]
    by_model = groups_page(connection, GroupBy.MODEL, query, limit=MOST_GROUPS)
    by_operation = groups_page(connection, GroupBy.OPERATION, query, limit=MOST_GROUPS)
    slow = Sort(SortKey.DURATION)
    failed = Query((Condition(Field.ERROR, Operator.IS),))
    priced = Query((Condition(Field.COST, Operator.MORE, (0,)),))
    return Summary(
        snapshot=connection.execute("SELECT coalesce(max(revision), 0) FROM spans").fetchone()[0],
        sums=sums_of(connection, query),
        start_us=bounds[0],
        last_us=bounds[1],
        wall_us=wall,
        by_operation=tuple(
            (str(group.value), group.sums.totals.spans) for group in by_operation.data
        ),
        by_status=tuple(
            _all(connection, source, query, "s.status, count(*)", "GROUP BY 1 ORDER BY 2 DESC, 1")
        ),
        latency=_percentiles(connection, source, query, "s.duration_us"),
        time_to_first_token=_percentiles(connection, source, query, "s.ttft_us"),
        models=tuple(
            ModelUsage(str(group.value), group.sums, _of_model(connection, query, group))
            for group in by_model.data
            if group.value
        ),
        tools=_tools(connection, source, query),
        labels=label_counts(connection, query, limit=MOST_GROUPS).data,
        errors=spans_page(connection, query & failed, limit=TOP).data,
        slowest=spans_page(connection, query, sort=slow, limit=TOP).data,
        most_expensive=spans_page(
            connection, query & priced, sort=Sort(SortKey.COST), limit=TOP
        ).data,
    )


def _of_model(connection: sqlite3.Connection, query: Query, group: Group) -> Percentiles:
    query = query & Query((any_of(Field.MODEL, [str(group.value)]),))
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    return _percentiles(connection, source, query, "s.duration_us")


def _tools(connection: sqlite3.Connection, source: Source, query: Query) -> tuple[ToolUsage, ...]:
    counted = _all(
        connection,
        source,
        query & _TOOLS,
        "s.name, count(*), sum(s.status = 'error')",
        f"GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MOST_GROUPS}",
    )
    return tuple(
        ToolUsage(
            plain(name).removeprefix(PREFIX),
            calls,
            failed,
            _percentiles(connection, source, query & _named(plain(name)), "s.work_us"),
        )
        for name, calls, failed in counted
    )


def _named(name: str) -> Query:
    return _TOOLS & Query((any_of(Field.NAME, [name]),))


def _percentiles(
    connection: sqlite3.Connection, source: Source, query: Query, column: str
) -> Percentiles:
    """Read in order, so that however many there are, none is kept."""
    n = _all(connection, source, query, f"count({column})")[0][0]
    if n == 0:
        return Percentiles(0, None, None, None, None)
    ranks = [-(-n * percent // 100) for percent in (50, 95, 99, 100)]
    rest = f"AND {column} IS NOT NULL ORDER BY {column}"
    found: list[int] = []
    for rank, (value,) in enumerate(_select(connection, source, query, column, rest), 1):
        while len(found) < len(ranks) and ranks[len(found)] == rank:
            found.append(value)
    return Percentiles(n, *found)


def _all(
    connection: sqlite3.Connection, source: Source, query: Query, columns: str, rest: str = ""
) -> list[tuple[Any, ...]]:
    return list(_select(connection, source, query, columns, rest))


def _select(
    connection: sqlite3.Connection, source: Source, query: Query, columns: str, rest: str
) -> Iterator[tuple[Any, ...]]:
    where = conditions(source, query)
    yield from connection.execute(
        f"SELECT {columns} FROM {source.tables.text} WHERE {where.text} {rest}",
        (*source.tables.values, *where.values),
    )
