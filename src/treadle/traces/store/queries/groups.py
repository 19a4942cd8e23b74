"""Pages of groups: sums of spans by time, model, thread, run, label, operation or property.

`group_rows` adds up the spans of each group.
"""

from collections.abc import Sequence

from treadle.database import Connection
from treadle.errors import UsageError
from treadle.spans.span import REPOSITORY_LABEL
from treadle.traces.query.amounts import NANO
from treadle.traces.query.conditions import (
    GroupBy,
    Grouping,
    GroupSort,
    Query,
    property_of,
)
from treadle.traces.query.pages import Page, Pagination
from treadle.traces.store.counters import COUNTER_COLUMNS, COUNTER_NAMES, TOTALS
from treadle.traces.store.queries.conditions import Sql, register_functions, resolved
from treadle.traces.store.queries.group_figures import with_figures
from treadle.traces.store.queries.group_rows import (
    HOUR_SECONDS,
    SECOND_US,
    added_up,
    from_kept,
    value_rows,
)
from treadle.traces.store.queries.span_pages import check_page, conditions
from treadle.traces.store.queries.span_sources import whole_source
from treadle.traces.store.results import DurationsOf, Group, LabelCount, LabelCounts, Sums, sums
from treadle.traces.store.statements import plain

LARGEST_PAGE = 10_000
"""The maximum number of groups in a page. The number is large, since a chart needs all groups."""


_ORDERS = {
    GroupSort.GROUP: ("TRUE", "value"),
    GroupSort.SPANS: ("TRUE", "spans"),
    GroupSort.CALLS: ("TRUE", "model_calls"),
    GroupSort.ERRORS: ("TRUE", "faults"),
    GroupSort.TOKENS: (
        "metered <> 0 OR input_tokens <> 0 OR output_tokens <> 0",
        "input_tokens + output_tokens",
    ),
    GroupSort.COST: ("priced <> 0", "cost_nano"),
}
"""For each sort, SQL that tests whether a group has a known value, and SQL of this value.

A sort that is not in this table compares figures that are not sums (`group_figures`).
"""

_NAMED = frozenset({GroupBy.TIME, GroupBy.THREAD, GroupBy.RUN, GroupBy.LABEL, GroupBy.OPERATION})
"""The groupings by which each group has a value."""

SHOWN_LABEL = f"CAST(value AS TEXT) NOT GLOB '{REPOSITORY_LABEL}*'"
"""The condition that the label `value` is shown in lists; see `is_shown`."""


def groups_page(
    connection: Connection,
    by: Grouping,
    query: Query,
    *,
    sort: GroupSort | None = None,
    ascending: bool = False,
    bucket_seconds: int = HOUR_SECONDS,
    figures: bool = False,
    durations_of: DurationsOf | None = None,
    limit: int = 50,
    offset: int = 0,
) -> Page[Group]:
    """Return a page of the groups of spans.

    Without `sort`, time buckets are sorted by time, the newest first, and other groups by their
    number of spans. In groups by model, user, release or metadata, spans without a value are in the
    group '', which is last without `sort`. Spans without a label are in no group by label.
    `figures` adds the number of runs and percentiles of durations, which takes longer.
    `durations_of` sets what the durations measure.
    """
    check_page(limit, offset, LARGEST_PAGE)
    if not 1 <= bucket_seconds <= 366 * 24 * HOUR_SECONDS:
        raise UsageError(
            f"A bucket is 1 second to 366 days long, not {bucket_seconds} s.",
            hint="Give its length in seconds, such as 3600.",
        )
    register_functions(connection)
    query = resolved(connection, query)
    unnamed_last = sort is None and by not in _NAMED
    if sort is None:
        sort = GroupSort.GROUP if by is GroupBy.TIME else GroupSort.SPANS
    bucket_us = bucket_seconds * SECOND_US
    if sort not in _ORDERS:
        order, part = _order(GroupSort.SPANS), (LARGEST_PAGE, 0)
        found, total = _sorted(connection, by, query, bucket_seconds, order=order, part=part)
        found = with_figures(connection, by, query, bucket_us, found, durations_of=durations_of)
        found = _by_figure(found, sort, ascending=ascending)[offset : offset + limit]
        return Page(tuple(found), Pagination(offset, limit, total, None))
    order = _order(sort, ascending=ascending)
    if unnamed_last:
        order = f"length(value) = 0, {order}"
    part = (limit, offset)
    found, total = _sorted(connection, by, query, bucket_seconds, order=order, part=part)
    if figures:
        found = with_figures(connection, by, query, bucket_us, found, durations_of=durations_of)
    return Page(tuple(found), Pagination(offset, limit, total, None))


def _order(sort: GroupSort, *, ascending: bool = False) -> str:
    known, value = _ORDERS[sort]
    direction = "ASC" if ascending else "DESC"
    unknown_last = "" if known == "TRUE" else f"NOT ({known}), "
    return f"{unknown_last}{value} {direction}, value"


def _by_figure(groups: Sequence[Group], sort: GroupSort, *, ascending: bool) -> list[Group]:
    def figure(group: Group) -> float | None:
        durations = group.duration
        return {
            GroupSort.RUNS: group.runs,
            GroupSort.FAILED_RUNS: group.failed_runs,
            GroupSort.COST_PER_RUN: group.cost_per_run,
            GroupSort.P50: durations.p50_us if durations else None,
            GroupSort.P95: durations.p95_us if durations else None,
        }[sort]

    def key(group: Group) -> tuple[bool, float]:
        value = figure(group)
        return value is None, (value or 0) * (1 if ascending else -1)

    return sorted(sorted(groups, key=lambda group: str(group.value)), key=key)


def _sorted(
    connection: Connection,
    by: Grouping,
    query: Query,
    bucket_seconds: int,
    *,
    order: str,
    part: tuple[int, int],
) -> tuple[list[Group], int | None]:
    """Return some of the sorted groups, and the number of all groups.

    `part` has the limit and the offset. The number is None if it is not known.
    """
    shown = SHOWN_LABEL if by is GroupBy.LABEL else "TRUE"
    kept = None if property_of(by) else from_kept(connection, by, query, bucket_seconds)
    if kept is not None:
        found = connection.execute(
            f"SELECT * FROM ({kept.text}) ORDER BY {order} LIMIT ? OFFSET ?",
            (*kept.values, *part),
        ).fetchall()
        counted = f"SELECT count(*) FROM ({kept.text})"
        (total,) = connection.execute(counted, kept.values).fetchone()
        return [Group(plain(row[0]), sums(*row[1:])) for row in found], total
    rows = value_rows(connection, by, query, bucket_seconds)
    if property_of(by):
        rows = _with_rest(connection, rows, query)
    added = (
        f"SELECT value, {TOTALS} FROM ({rows.text}) WHERE {shown}"
        " GROUP BY value HAVING sum(spans) > 0"
    )
    statement = f"SELECT *, count(*) OVER () FROM ({added}) ORDER BY {order} LIMIT ? OFFSET ?"
    found = connection.execute(statement, (*rows.values, *part)).fetchall()
    total = found[0][-1] if found else (None if part[1] else 0)
    return [Group(plain(row[0]), sums(*row[1:-1])) for row in found], total


def _with_rest(connection: Connection, rows: Sql, query: Query) -> Sql:
    """Return the rows, and rows of the value '' with the sums of the spans that have no value.

    Each span has at most one value. Therefore these sums are the sums of all spans minus the sums
    of the rows.
    """
    every = added_up(connection, GroupBy.TIME, query, HOUR_SECONDS)
    less = ", ".join(f"-{name} AS {name}" for name in COUNTER_NAMES)
    return Sql(
        f"WITH found AS MATERIALIZED (SELECT value, {COUNTER_COLUMNS} FROM ({rows.text}))"
        " SELECT * FROM found"
        f" UNION ALL SELECT CAST('' AS BLOB) AS value, {less} FROM found"
        f" UNION ALL SELECT CAST('' AS BLOB) AS value, {COUNTER_COLUMNS} FROM ({every.text})",
        (*rows.values, *every.values),
    )


def sums_of(connection: Connection, query: Query) -> Sums:
    """Return the sums over all matching spans. `query` must be a result of `resolved`."""
    rows = added_up(connection, GroupBy.TIME, query, HOUR_SECONDS)
    totals = connection.execute(f"SELECT {TOTALS} FROM ({rows.text})", rows.values).fetchone()
    return sums(*totals)


def uncounted_use(connection: Connection, query: Query) -> tuple[int, float]:
    """Return the tokens and US dollars of matching calls whose record in another trace counts."""
    register_functions(connection)
    query = resolved(connection, query)
    source = whole_source(connection, query)
    where = conditions(source, query)
    tokens, nano = connection.execute(
        "SELECT total(coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0)),"
        f" total(s.cost_nano) FROM {source.spans.text}"
        f" WHERE {where.text} AND s.same_as NOTNULL AND s.counted = 0",
        (*source.spans.values, *where.values),
    ).fetchone()
    return int(tokens), nano / NANO


def label_counts(connection: Connection, query: Query, *, limit: int) -> LabelCounts:
    """Return the labels of the matching spans, the most frequent first."""
    page = groups_page(connection, GroupBy.LABEL, query, limit=limit)
    data = (LabelCount(str(group.value), group.sums.totals.spans) for group in page.data)
    return LabelCounts(tuple(data), page.pagination.total or 0)
