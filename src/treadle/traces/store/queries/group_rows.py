"""Rows with the sums of groups, from stored sums where these can answer the query.

For a period, `rollups` has the sums of whole hours, and the spans of the partial hours at both
ends are added up. Other queries add up all matching spans, with the same result.
"""

from collections.abc import Sequence

from treadle.database import Connection
from treadle.spans.span import OWN_LABELS
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query.conditions import (
    AnyField,
    Condition,
    Field,
    GroupBy,
    Grouping,
    MetadataKey,
    Operator,
    Query,
    any_of,
    property_of,
)
from treadle.traces.store.counters import CONTRIBUTIONS, COUNTER_COLUMNS, COUNTER_NAMES, TOTALS
from treadle.traces.store.queries import segment_scan, segment_sums
from treadle.traces.store.queries.conditions import Sql, joined, listing, member
from treadle.traces.store.queries.span_pages import conditions
from treadle.traces.store.queries.span_sources import HOUR_US, Source, whole_source
from treadle.traces.store.statements import plain
from treadle.traces.store.sums import OWN, OWN_TRACE

HOUR_SECONDS = 3_600

SECOND_US = 1_000_000

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


def value_rows(
    connection: Connection,
    by: Grouping,
    query: Query,
    bucket_seconds: int = HOUR_SECONDS,
) -> Sql:
    """Return SQL for rows with a `value` and its counters. A value may have several rows.

    `query` must be a result of `resolved`.
    """
    kept = from_kept(connection, by, query, bucket_seconds)
    return kept or added_up(connection, by, query, bucket_seconds)


def added_up(connection: Connection, by: Grouping, query: Query, bucket_seconds: int) -> Sql:
    """Return SQL for rows of stored sums or, if these cannot answer the query, of single spans."""
    return (
        _from_rollups(connection, by, query, bucket_seconds)
        or _less_own(connection, by, query, bucket_seconds)
        or _from_spans(connection, by, query, bucket_seconds)
    )


def _less_own(
    connection: Connection, by: Grouping, query: Query, bucket_seconds: int
) -> Sql | None:
    """Return SQL for the stored sums minus the sums of Treadle's own calls.

    The result is None if the query does not exclude these calls, or if the stored sums cannot
    answer the rest of the query.
    """
    rest = Query(tuple(each for each in query.conditions if each not in OF_OTHERS.conditions))
    if rest == query:
        return None
    kept = from_kept(connection, by, rest, bucket_seconds) or _from_rollups(
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
    connection: Connection, by: Grouping, query: Query, bucket_seconds: int
) -> Sql | None:
    """Return SQL for the stored sums of Treadle's own calls.

    The result is None if the stored sums cannot answer the query.
    """
    if isinstance(by, GroupBy) and by in _KEPT:
        return None if query.conditions else Sql(_OWN_TRACES[by], (OWN_TRACE,))
    name = property_of(by)
    kept = None if name is None else _of_property(f"{OWN}{name}", by, query)
    return kept or _from_rollups(connection, by, query, bucket_seconds, own=True)


def from_kept(
    connection: Connection, by: Grouping, query: Query, bucket_seconds: int
) -> Sql | None:
    """Return SQL for the stored sums of each value, or None if they cannot answer the query."""
    if name := property_of(by):
        return _of_property(name, by, query)
    if isinstance(by, GroupBy) and by in _KEPT:
        return _of_runs(connection, by, query, bucket_seconds)
    return None


def _of_runs(connection: Connection, by: GroupBy, query: Query, bucket_seconds: int) -> Sql | None:
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
    connection: Connection,
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
        bucket = bucket_seconds * SECOND_US
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


def _from_spans(connection: Connection, by: Grouping, query: Query, bucket_seconds: int) -> Sql:
    """Return SQL for rows with a value and its counters, read from all matching spans."""
    source = whole_source(connection, query)
    bucket_us = bucket_seconds * SECOND_US
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
        value, values = member("s.labels"), "CROSS JOIN json_each(s.labels) e"
    elif name := property_of(by):
        value, values = member("s.properties"), "CROSS JOIN json_each(s.properties) e"
        where = joined((where, Sql("e.key = ?", (name,))))
    return Sql(
        f"SELECT {value} AS value, {CONTRIBUTIONS} FROM {tables.text} {values} WHERE {where.text}",
        (*tables.values, *where.values),
    )
