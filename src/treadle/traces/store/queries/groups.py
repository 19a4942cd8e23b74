"""Sums of spans by time, model, thread, run, label or operation.

Many queries use the stored sums. For a period, `rollups` has the sums of whole hours, and the spans
of the partial hours at both ends are added up. Other queries add up all matching spans, with the
same result.
"""

import sqlite3
from collections.abc import Sequence

from treadle.errors import UsageError
from treadle.spans.span import OWN_LABELS, REPOSITORY_LABEL
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query.amounts import NANO
from treadle.traces.query.conditions import (
    AnyField,
    Condition,
    Field,
    GroupBy,
    Grouping,
    GroupSort,
    MetadataKey,
    Operator,
    Query,
    any_of,
)
from treadle.traces.query.pages import Page, Pagination
from treadle.traces.store.counters import CONTRIBUTIONS, COUNTER_COLUMNS, COUNTER_NAMES, TOTALS
from treadle.traces.store.queries import segment_scan, segment_sums
from treadle.traces.store.queries.conditions import Sql, joined, listing, register_holds, resolved
from treadle.traces.store.queries.group_figures import with_figures
from treadle.traces.store.queries.span_pages import check_page, conditions
from treadle.traces.store.queries.span_sources import HOUR_US, Source, whole_source
from treadle.traces.store.results import Group, LabelCount, LabelCounts, Sums, sums
from treadle.traces.store.statements import plain
from treadle.traces.store.sums import OWN, OWN_TRACE

HOUR_SECONDS = 3_600
LARGEST_PAGE = 10_000
"""The maximum number of groups in a page. The number is large, since a chart needs all groups."""

_SECOND_US = 1_000_000


_DIMENSIONS = frozenset({"model", "operation", "label", "user", "release"})
"""The groupings and fields that `rollups` has as dimensions of the same name.

It has each key of the metadata as a dimension too (`_dimension`).
"""

_VALUES = {
    GroupBy.MODEL: "coalesce(s.model, '')",
    GroupBy.OPERATION: "s.operation",
    GroupBy.THREAD: "r.thread_id",
    GroupBy.RUN: "t.run_id",
}
_OF_JSON = "CAST(e.value AS BLOB)"
"""The value of a label or a property.

SQLite decodes a lone surrogate in JSON to text that is not valid UTF-8.
"""
_KEPT = {
    GroupBy.THREAD: (Field.THREAD, "threads", "thread_id"),
    GroupBy.RUN: (Field.RUN, "runs", "run_id"),
}
_OWN_CALLS = Query((any_of(Field.LABEL, OWN_LABELS),))
_OWN_TRACES = {
    by: f"""
    SELECT {column} AS value, {", ".join(f"p.{name}" for name in COUNTER_NAMES)}
    FROM properties p CROSS JOIN traces t ON t.trace_id = p.value
    CROSS JOIN runs r ON r.run_id = t.run_id WHERE p.name = ?"""
    for by, column in ((GroupBy.THREAD, "r.thread_id"), (GroupBy.RUN, "r.run_id"))
}
"""SQL for the sums of Treadle's own calls by thread or by run."""

_MAX_CROSSING = 1_000
"""The maximum number of threads or runs that may be only partly in the period.

The spans of these threads or runs are read.
"""


_ORDERS = {
    GroupSort.GROUP: ("TRUE", "value"),
    GroupSort.SPANS: ("TRUE", "spans"),
    GroupSort.CALLS: ("TRUE", "model_calls"),
    GroupSort.ERRORS: ("TRUE", "faults"),
    GroupSort.TOKENS: (
        "metered OR input_tokens OR output_tokens",
        "input_tokens + output_tokens",
    ),
    GroupSort.COST: ("priced", "cost_nano"),
}
"""SQL of whether the value is known by which groups are sorted, and SQL of this value.

A sort that is missing here compares figures that are not sums (`group_figures`).
"""

SHOWN_LABEL = f"CAST(value AS TEXT) NOT GLOB '{REPOSITORY_LABEL}*'"
"""The condition that the label `value` is shown in lists; see `is_shown`."""


def property_of(by: Grouping) -> str | None:
    """Return the name of the property by which spans are grouped, or None for other groupings."""
    is_property = isinstance(by, MetadataKey) or by in {GroupBy.USER, GroupBy.RELEASE}
    return by.value if is_property else None


def groups_page(
    connection: sqlite3.Connection,
    by: Grouping,
    query: Query,
    *,
    sort: GroupSort | None = None,
    ascending: bool = False,
    bucket_seconds: int = HOUR_SECONDS,
    figures: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> Page[Group]:
    """Return a page of the groups of spans.

    Without `sort`, time buckets are sorted by time, the newest first, and other groups by their
    number of spans. Spans without a model, a user, a release or a value of the metadata are in the
    group ''. Spans without a label are in no group by label. `figures` adds the number of runs and
    percentiles of durations, which takes longer.
    """
    check_page(limit, offset, LARGEST_PAGE)
    if not 1 <= bucket_seconds <= 366 * 24 * HOUR_SECONDS:
        raise UsageError(
            f"A bucket is 1 second to 366 days long, not {bucket_seconds} s.",
            hint="Give its length in seconds, such as 3600.",
        )
    register_holds(connection)
    query = resolved(connection, query)
    if sort is None:
        sort = GroupSort.GROUP if by is GroupBy.TIME else GroupSort.SPANS
    bucket_us = bucket_seconds * _SECOND_US
    if sort not in _ORDERS:
        order, part = _order(GroupSort.SPANS), (LARGEST_PAGE, 0)
        found, total = _sorted(connection, by, query, bucket_seconds, order=order, part=part)
        found = with_figures(connection, by, query, bucket_us, found)
        found = _by_figure(found, sort, ascending=ascending)[offset : offset + limit]
        return Page(tuple(found), Pagination(offset, limit, total, None))
    order = _order(sort, ascending=ascending)
    part = (limit, offset)
    found, total = _sorted(connection, by, query, bucket_seconds, order=order, part=part)
    if figures:
        found = with_figures(connection, by, query, bucket_us, found)
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
    connection: sqlite3.Connection,
    by: Grouping,
    query: Query,
    bucket_seconds: int,
    *,
    order: str,
    part: tuple[int, int],
) -> tuple[list[Group], int | None]:
    """Return the limit and offset `part` of the groups in an order, and the number of all groups.

    The number is None if it is not known.
    """
    shown = SHOWN_LABEL if by is GroupBy.LABEL else "TRUE"
    kept = None if property_of(by) else _from_kept(connection, by, query, bucket_seconds)
    if kept is not None:
        found = connection.execute(
            f"{kept.text} ORDER BY {order} LIMIT ? OFFSET ?", (*kept.values, *part)
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


def _with_rest(connection: sqlite3.Connection, rows: Sql, query: Query) -> Sql:
    """Return the rows, and rows of the value '' with the sums of the spans that have no value.

    Each span has at most one value, so the rest is the difference from the sums of all spans.
    """
    every = _added_up(connection, GroupBy.TIME, query, HOUR_SECONDS)
    less = ", ".join(f"-{name} AS {name}" for name in COUNTER_NAMES)
    return Sql(
        f"WITH found AS MATERIALIZED (SELECT value, {COUNTER_COLUMNS} FROM ({rows.text}))"
        " SELECT * FROM found"
        f" UNION ALL SELECT x'' AS value, {less} FROM found"
        f" UNION ALL SELECT x'' AS value, {COUNTER_COLUMNS} FROM ({every.text})",
        (*rows.values, *every.values),
    )


def sums_of(connection: sqlite3.Connection, query: Query) -> Sums:
    """Return the sums over all matching spans. `query` must be a result of `resolved`."""
    rows = _added_up(connection, GroupBy.TIME, query, HOUR_SECONDS)
    totals = connection.execute(f"SELECT {TOTALS} FROM ({rows.text})", rows.values).fetchone()
    return sums(*totals)


def uncounted_use(connection: sqlite3.Connection, query: Query) -> tuple[int, float]:
    """Return the tokens and US dollars of matching calls whose record in another trace counts."""
    register_holds(connection)
    query = resolved(connection, query)
    source = whole_source(connection, query)
    where = conditions(source, query)
    tokens, nano = connection.execute(
        "SELECT total(coalesce(s.input_tokens, 0) + coalesce(s.output_tokens, 0)),"
        f" total(s.cost_nano) FROM {source.spans.text}"
        f" WHERE {where.text} AND s.same_as NOTNULL AND NOT s.counted",
        (*source.spans.values, *where.values),
    ).fetchone()
    return int(tokens), nano / NANO


def label_counts(connection: sqlite3.Connection, query: Query, *, limit: int) -> LabelCounts:
    """Return the labels of the matching spans, the most frequent first."""
    page = groups_page(connection, GroupBy.LABEL, query, limit=limit)
    data = (LabelCount(str(group.value), group.sums.totals.spans) for group in page.data)
    return LabelCounts(tuple(data), page.pagination.total or 0)


def value_rows(
    connection: sqlite3.Connection,
    by: Grouping,
    query: Query,
    bucket_seconds: int = HOUR_SECONDS,
) -> Sql:
    """Return SQL for rows with a `value` and its counters. A value may have several rows.

    `query` must be a result of `resolved`.
    """
    kept = _from_kept(connection, by, query, bucket_seconds)
    return kept or _added_up(connection, by, query, bucket_seconds)


def _added_up(
    connection: sqlite3.Connection, by: Grouping, query: Query, bucket_seconds: int
) -> Sql:
    """Return SQL for rows of stored sums or, if these cannot answer the query, of single spans."""
    return (
        _from_rollups(connection, by, query, bucket_seconds)
        or _less_own(connection, by, query, bucket_seconds)
        or _from_spans(connection, by, query, bucket_seconds)
    )


def _less_own(
    connection: sqlite3.Connection, by: Grouping, query: Query, bucket_seconds: int
) -> Sql | None:
    """Return SQL for the stored sums minus the sums of Treadle's own calls.

    The result is None if the query does not exclude these calls, or if the stored sums cannot
    answer the rest of the query.
    """
    rest = Query(tuple(each for each in query.conditions if each not in OF_OTHERS.conditions))
    if rest == query:
        return None
    kept = _from_kept(connection, by, rest, bucket_seconds) or _from_rollups(
        connection, by, rest, bucket_seconds
    )
    if kept is None:
        return None
    own = _own_sums(connection, by, rest, bucket_seconds)
    spans = own or _from_spans(connection, by, rest & _OWN_CALLS, bucket_seconds)
    less = ", ".join(f"-{name} AS {name}" for name in COUNTER_NAMES)
    return joined(
        (
            Sql(f"SELECT value, {COUNTER_COLUMNS} FROM ({kept.text})", kept.values),
            Sql(f"SELECT value, {less} FROM ({spans.text})", spans.values),
        ),
        " UNION ALL ",
    )


def _own_sums(
    connection: sqlite3.Connection, by: Grouping, query: Query, bucket_seconds: int
) -> Sql | None:
    """Return SQL for the stored sums of Treadle's own calls, or None if they cannot answer."""
    if isinstance(by, GroupBy) and by in _KEPT:
        return None if query.conditions else Sql(_OWN_TRACES[by], (OWN_TRACE,))
    name = property_of(by)
    kept = None if name is None else _of_property(f"{OWN}{name}", by, query)
    return kept or _from_rollups(connection, by, query, bucket_seconds, own=True)


def _from_kept(
    connection: sqlite3.Connection, by: Grouping, query: Query, bucket_seconds: int
) -> Sql | None:
    """Return SQL for the stored sums of each value, or None if they cannot answer the query."""
    if name := property_of(by):
        return _of_property(name, by, query)
    if isinstance(by, GroupBy) and by in _KEPT:
        return _of_runs(connection, by, query, bucket_seconds)
    return None


def _of_runs(
    connection: sqlite3.Connection, by: GroupBy, query: Query, bucket_seconds: int
) -> Sql | None:
    """Return SQL for a row of each thread or run.

    The result is None if the query has conditions on anything except the time and the id of the
    thread or run. If a thread or run is only partly in the period, its spans in the period are
    added up.
    """
    field, table, column = _KEPT[by]
    span = _hours(query.of(Field.START))
    others = [each for each in query.conditions if each.field is not Field.START]
    if span is None or any(each.field is not field or each.negated for each in others):
        return None
    named = joined(
        Sql(f"{column} IN ({listing(each.values)[0]})", listing(each.values)[1]) for each in others
    )
    since, until = span
    within, touched = [named], [named]
    if since is not None:
        within.append(Sql("start_us >= ?", (since,)))
        touched.append(Sql("last_us >= ?", (since,)))
    if until is not None:
        within.append(Sql("last_us < ?", (until,)))
        touched.append(Sql("start_us < ?", (until,)))
    inside, near = joined(within), joined(touched)
    whole = Sql(
        f"SELECT {column} AS value, {COUNTER_COLUMNS} FROM {table} WHERE {inside.text}",
        inside.values,
    )
    if len(within) == 1:
        return whole
    crossing = connection.execute(
        f"SELECT {column} FROM {table} WHERE {near.text} AND NOT ({inside.text})"
        f" LIMIT {_MAX_CROSSING + 1}",
        (*near.values, *inside.values),
    ).fetchall()
    if len(crossing) > _MAX_CROSSING:
        return None
    if not crossing:
        return whole
    partly = query & Query((any_of(field, [plain(value) for (value,) in crossing]),))
    spans = _from_spans(connection, by, partly, bucket_seconds)
    ends = Sql(f"SELECT value, {TOTALS} FROM ({spans.text}) GROUP BY value", spans.values)
    return joined((whole, ends), " UNION ALL ")


def _of_property(name: str, by: Grouping, query: Query) -> Sql | None:
    """Return SQL for the stored sums of each value of a property.

    The result is None if the query has conditions on anything except this property. It cannot have
    a condition on the time, since the stored sums include the spans of all times.
    """
    if not all(_selects_groups(each, by) for each in query.conditions):
        return None
    named = [
        Sql(f"value IN ({listing(each.values)[0]})", listing(each.values)[1])
        for each in query.conditions
    ]
    where = joined((Sql("name = ?", (name,)), *named))
    return Sql(
        f"SELECT CAST(value AS BLOB) AS value, {COUNTER_COLUMNS} FROM properties"
        f" WHERE {where.text}",
        where.values,
    )


def _selects_groups(condition: Condition, by: Grouping) -> bool:
    """Return whether a condition selects whole groups: all spans of a group match, or none."""
    positive = not condition.negated and condition.operator is Operator.IS
    return positive and condition.about.value == by.value


def _from_rollups(
    connection: sqlite3.Connection,
    by: Grouping,
    query: Query,
    bucket_seconds: int,
    *,
    own: bool = False,
) -> Sql | None:
    """Return SQL for `rollups` of whole hours, and for spans of the partial hours at both ends.

    With `own`, only Treadle's own calls are included. The result is None if `rollups` cannot answer
    the query.
    """
    others = [each for each in query.conditions if each.field is not Field.START]
    span = _hours([each for each in query.conditions if each.field is Field.START])
    if span is None or (by is GroupBy.TIME and bucket_seconds % HOUR_SECONDS):
        return None
    if by is GroupBy.TIME:
        kept = _kept_values(others, by, own=own)
        bucket = bucket_seconds * _SECOND_US
        value = f"hour_us - ((hour_us % {bucket}) + {bucket}) % {bucket}"
    elif _dimension(by) and all(each.about.value == by.value for each in others):
        kept = _kept_values(others, by, own=own)
        value = "CAST(value AS BLOB)" if _in_json(by) else "value"
    else:
        return None
    if kept is None:
        return None
    since, until = span
    first = None if since is None else -(-since // HOUR_US) * HOUR_US
    last = None if until is None else until // HOUR_US * HOUR_US
    if first is not None and last is not None and first > last:
        return None
    parts = [kept]
    if first is not None:
        parts.append(Sql("hour_us >= ?", (first,)))
    if last is not None:
        parts.append(Sql("hour_us < ?", (last,)))
    where = joined(parts)
    whole = Sql(
        f"SELECT {value} AS value, {COUNTER_COLUMNS} FROM rollups WHERE {where.text}", where.values
    )
    ends = [
        _from_spans(
            connection,
            by,
            Query((*others, *_between(low, high), *(_OWN_CALLS.conditions if own else ()))),
            bucket_seconds,
        )
        for low, high in ((since, first), (last, until))
        if low is not None and high is not None and low < high
    ]
    return joined((whole, *ends), " UNION ALL ")


def _dimension(by: Grouping | AnyField) -> str | None:
    """Return the dimension of `rollups` that has the values of `by`, or None."""
    if isinstance(by, MetadataKey) or by.value in _DIMENSIONS:
        return by.value
    return None


def _in_json(by: Grouping) -> bool:
    """Return whether the values of `by` are in a column with JSON."""
    return by is GroupBy.LABEL or property_of(by) is not None


def _kept_values(others: Sequence[Condition], by: Grouping, *, own: bool) -> Sql | None:
    """Return the condition that selects rows of `rollups`.

    The result is None if these rows cannot answer the query.
    """
    dimension = _dimension(by)
    prefix = OWN if own else ""
    if not others:
        return Sql("dimension = ?", (prefix + (dimension or "all"),))
    condition = others[0]
    if len(others) > 1 or condition.negated or condition.operator is not Operator.IS:
        return None
    of_field = _dimension(condition.about)
    if of_field is None or dimension not in {None, of_field}:
        return None
    if of_field == "label" and len(condition.values) > 1 and dimension is None:
        return None  # a span with two of these labels would count twice
    if of_field == "label" and dimension is not None:
        return None  # the other labels of the matching spans are groups too
    placeholders, values = listing(condition.values)
    return Sql(f"dimension = ? AND value IN ({placeholders})", (prefix + of_field, *values))


def _hours(times: Sequence[Condition]) -> tuple[int | None, int | None] | None:
    """Return the start and end (exclusive) of the period.

    The result is None if the conditions are not one range.
    """
    since: int | None = None
    until: int | None = None
    for condition in times:
        if condition.negated or condition.operator is Operator.IS:
            return None
        after = condition.operator in {Operator.MORE, Operator.AT_MOST}
        moment = int(condition.values[0]) + after
        if condition.operator in {Operator.MORE, Operator.AT_LEAST}:
            since = moment if since is None else max(since, moment)
        else:
            until = moment if until is None else min(until, moment)
    return since, until


def _between(since: int, until: int) -> tuple[Condition, Condition]:
    return (
        Condition(Field.START, Operator.AT_LEAST, (since,)),
        Condition(Field.START, Operator.LESS, (until,)),
    )


def _from_spans(
    connection: sqlite3.Connection, by: Grouping, query: Query, bucket_seconds: int
) -> Sql:
    """Return SQL for rows with a value and its counters, read from all matching spans."""
    source = whole_source(connection, query)
    bucket_us = bucket_seconds * _SECOND_US
    if not (segment_sums.can_group(by) and segment_scan.can_scan(connection, query, source)):
        return _from_source(source, by, query, bucket_us)
    rest = (_from_source(each, by, query, bucket_us) for each in segment_scan.uncovered(connection))
    return joined((segment_sums.grouped(connection, by, query, bucket_us), *rest), " UNION ALL ")


def _from_source(source: Source, by: Grouping, query: Query, bucket_us: int) -> Sql:
    """Return SQL for the counters of every matching span of the source."""
    tables = source.tables if by in _KEPT else source.spans
    value = f"s.start_us - ((s.start_us % {bucket_us}) + {bucket_us}) % {bucket_us}"
    if isinstance(by, GroupBy):
        value = _VALUES.get(by, value)
    where = conditions(source, query)
    values = ""
    if by is GroupBy.LABEL:
        value, values = _OF_JSON, "CROSS JOIN json_each(s.labels) e"
    elif name := property_of(by):
        value, values = _OF_JSON, "CROSS JOIN json_each(s.properties) e"
        where = joined((where, Sql("e.key = ?", (name,))))
    return Sql(
        f"SELECT {value} AS value, {CONTRIBUTIONS} FROM {tables.text} {values} WHERE {where.text}",
        (*tables.values, *where.values),
    )
