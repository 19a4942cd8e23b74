"""Chooses the index to scan for a query, from estimates of the number of matches.

The estimates come from the stored sums. With SQLite's own estimates, a page of fifty spans can
require reading a million rows.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from treadle.database import Connection
from treadle.database.first_value import first_value
from treadle.traces.query.conditions import (
    PROPERTIES,
    Condition,
    Field,
    Operator,
    Query,
    SortKey,
)
from treadle.traces.store.queries.conditions import (
    ALL,
    TOKENS,
    Sql,
    compared,
    joined,
    listing,
)
from treadle.traces.store.queries.text_matches import text_matches

HOUR_US = 3_600_000_000

ALL_SPANS = 1 << 40
"""The value of `wanted` that means all matching spans."""

JOINED = "CROSS JOIN traces t ON t.id = s.trace CROSS JOIN runs r ON r.run_id = t.run_id"
"""SQL that joins traces and runs. CROSS makes SQLite read the tables in the written order."""

_COUNTED_IN_RANGE = 5_000
_WHOLE_ROWS = 4
"""Reading a span by another index costs as much as this many spans of `spans_in_short`."""

_SIFTED = 10
"""The assumed number of spans that are read from a sorted index to find one matching span."""

_COUNTS = {
    Field.TRACE: "SELECT sum(spans) FROM traces WHERE trace_id IN ({})",
    Field.RUN: "SELECT sum(spans) FROM runs WHERE run_id IN ({})",
    Field.THREAD: "SELECT sum(spans) FROM threads WHERE thread_id IN ({})",
    Field.MODEL: "SELECT sum(spans) FROM rollups WHERE dimension = 'model' AND value IN ({})",
    Field.OPERATION: """
        SELECT sum(spans) FROM rollups WHERE dimension = 'operation' AND value IN ({})""",
    Field.LABEL: "SELECT sum(spans) FROM rollups WHERE dimension = 'label' AND value IN ({})",
}
_INDEXES = {
    Field.TRACE: "spans_of_trace",
    Field.RUN: "spans_of_trace",
    Field.THREAD: "spans_of_trace",
    Field.MODEL: "spans_by_model",
    Field.OPERATION: "spans_by_operation",
    Field.SPAN: "spans_by_span_id",
    Field.STATUS: "spans_not_ok",
    Field.ERROR: "spans_not_ok",
    Field.KIND: "spans_by_kind",
    Field.NAME: "spans_by_name",
    Field.PROVIDER: "spans_by_provider",
}
_COUNTED_ALIKE = {
    Field.KIND: "SELECT 1 FROM spans INDEXED BY spans_by_kind WHERE kind IN ({})",
    Field.NAME: "SELECT 1 FROM spans INDEXED BY spans_by_name WHERE name IN ({})",
    Field.PROVIDER: "SELECT 1 FROM spans INDEXED BY spans_by_provider WHERE provider IN ({})",
}
_ORDERED = frozenset(
    {
        Field.MODEL,
        Field.OPERATION,
        Field.STATUS,
        Field.LABEL,
        Field.ERROR,
        Field.KIND,
        Field.NAME,
        Field.PROVIDER,
    }
)
"""Fields whose index has the spans of one value in the order of time."""

_SORTED = {
    SortKey.DURATION: "spans_by_duration",
    SortKey.COST: "spans_by_cost",
    SortKey.TOKENS: "spans_by_tokens",
}


_RANGES = {
    Field.DURATION: ("spans_by_duration", "s.duration_us IS NOT NULL", "s.duration_us"),
    Field.COST: ("spans_by_cost", "s.cost_nano IS NOT NULL", "s.cost_nano"),
    Field.TOKENS: (
        "spans_by_tokens",
        "coalesce(s.input_tokens, s.output_tokens) IS NOT NULL",
        TOKENS,
    ),
}
"""Maps a field to an index, the index's condition, and the expression that orders the index."""


@dataclass(frozen=True, slots=True)
class Source:
    """An index or table to read spans `s` from, its conditions, and its approximate size.

    All of its rows meet the conditions `used`. `exact` states that `count` is exact and that the
    query has no other conditions.
    """

    spans: Sql
    count: int
    where: Sql = ALL
    used: tuple[Condition, ...] = ()
    in_time_order: bool = False
    exact: bool = False
    key: str = "s.id"
    """The column that orders the rows. For any other order, SQLite has to sort the rows."""
    is_empty: bool = False
    """Whether the source is known to have no rows."""
    walks: str | None = None
    """SQL of the table `spans` with an index that returns all spans in the order of a value.

    It is None for other sources.
    """

    @property
    def tables(self) -> Sql:
        """The FROM clause for spans `s` with their traces `t` and their runs `r`."""
        return Sql(f"{self.spans.text} {JOINED}", self.spans.values)


def best_source(connection: Connection, query: Query, order: SortKey, wanted: int) -> Source:
    """Return the source that needs the fewest rows for `wanted` matching spans in `order`."""
    everything = spans_in_all(connection)
    best, least = _walked(query, order, everything), (everything, everything)
    walked = order is SortKey.TIME and wanted < ALL_SPANS
    narrower = list(_narrower(connection, query, walked=walked))
    if order is not SortKey.TIME and query.of(Field.START):
        narrower.append(_in_time(connection, query))
    if narrower:
        # The estimate assumes that the matching spans are evenly distributed over the scan.
        fewest = min(source.count for source in narrower)
        met = min(_reach(connection, query, order), wanted * everything // max(fewest, 1))
        least = (met, everything)
    # If the query has only one condition, every row of the source matches.
    sifted = wanted * (_SIFTED if len(query.conditions) > 1 else 1)
    for source in narrower:
        ordered = source.in_time_order and order is SortKey.TIME
        cost = min(source.count, sifted) if ordered else source.count
        if (cost, source.count) < least:
            best, least = source, (cost, source.count)
    return best


def whole_source(connection: Connection, query: Query) -> Source:
    """Return the source that needs the fewest rows to sum up all matching spans.

    If many spans match, they are read from the index `spans_in_short`, even if another index
    selects them. Reading their whole rows by another index would take longer.
    """
    best = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    reach = _reach(connection, query, SortKey.TIME)
    if query.of(Field.TEXT) or best.count * _WHOLE_ROWS < reach:
        return best
    return Source(Sql("spans s INDEXED BY spans_in_short"), reach)


def spans_in_all(connection: Connection) -> int:
    """Return the number of stored spans."""
    return _first(connection, Sql("SELECT sum(spans) FROM rollups WHERE dimension = 'all'"))


def _walked(query: Query, order: SortKey, everything: int) -> Source:
    """Return a source that contains all spans in `order`."""
    index = f"INDEXED BY {_SORTED[order]}" if order in _SORTED else "NOT INDEXED"
    return Source(
        Sql(f"spans s {index}"),
        everything,
        in_time_order=True,
        exact=not query.conditions,
        walks=f"spans s {index}" if order in _SORTED else None,
    )


def _in_time(connection: Connection, query: Query) -> Source:
    """Return a source of the spans in the period of the query."""
    reach = _reach(connection, query, SortKey.TIME)
    return Source(Sql("spans s NOT INDEXED"), reach)


def _narrower(connection: Connection, query: Query, *, walked: bool) -> Iterator[Source]:
    """Yield the sources that have only a part of all spans.

    `walked` states that the first spans in the order of time are enough.
    """
    for condition in query.conditions:
        if condition.negated:
            continue
        if condition.field in _RANGES:
            yield from _in_range(connection, condition)
        if condition.operator is not Operator.IS:
            continue
        alone = query.conditions == (condition,)
        if condition.field is Field.LABEL:
            yield _labelled(connection, condition, alone=alone)
        elif condition.field in PROPERTIES:
            yield _with_property(connection, condition, alone=alone)
        elif condition.field in _INDEXES:
            count = _count(connection, condition)
            if count is not None:
                index = _INDEXES[condition.field]
                yield Source(
                    Sql(f"spans s INDEXED BY {index}"),
                    count,
                    _known_to_index(connection, index),
                    in_time_order=condition.field in _ORDERED and len(condition.values) <= 1,
                    exact=alone and condition.field in _COUNTS,
                )
    text = text_matches(connection, query, walked=walked)
    if text is not None:
        yield Source(
            text.spans,
            text.count,
            text.where,
            used=text.used,
            in_time_order=True,
            key="words.rowid",
            is_empty=text.count == 0,
        )


def _known_to_index(connection: Connection, index: str) -> Sql:
    """Return the condition of an index, without which SQLite does not use the index.

    PostgreSQL would multiply the estimates of both conditions on the status, and would expect far
    too few spans.
    """
    partial = index == "spans_not_ok" and isinstance(connection, sqlite3.Connection)
    return Sql("s.status != 'ok'") if partial else ALL


def _in_range(connection: Connection, condition: Condition) -> Iterator[Source]:
    """Yield a source of the spans in a range of values, if there are only a few."""
    index, known, column = _RANGES[condition.field]
    where = joined([Sql(known), compared(column, condition)])
    spans = f"spans s INDEXED BY {index}"
    found = f"SELECT 1 FROM {spans} WHERE {where.text} LIMIT {_COUNTED_IN_RANGE}"
    count = _first(connection, Sql(f"SELECT count(*) FROM ({found})", where.values))
    if count < _COUNTED_IN_RANGE:
        yield Source(Sql(spans), count, where, used=(condition,))


def _labelled(connection: Connection, condition: Condition, *, alone: bool) -> Source:
    count = _count(connection, condition) or 0
    placeholders, values = listing(condition.values)
    if len(condition.values) == 1:
        return Source(
            Sql("span_labels l CROSS JOIN spans s ON s.id = l.span"),
            count,
            Sql("l.label = ?", values),
            used=(condition,),
            in_time_order=True,
            exact=alone,
            key="l.span",
        )
    spans = f"SELECT DISTINCT span FROM span_labels WHERE label IN ({placeholders})"
    return Source(
        Sql(f"({spans}) l CROSS JOIN spans s ON s.id = l.span", values),
        count,
        used=(condition,),
    )


def _with_property(connection: Connection, condition: Condition, *, alone: bool) -> Source:
    placeholders, values = listing(condition.values)
    where = Sql(f"p.name = ? AND p.value IN ({placeholders})", (condition.about.value, *values))
    stored = Sql(f"SELECT sum(spans) FROM properties p WHERE {where.text}", where.values)
    return Source(
        Sql("span_properties p CROSS JOIN spans s ON s.id = p.span"),
        _first(connection, stored),
        where,
        used=(condition,),
        in_time_order=len(condition.values) <= 1,
        exact=alone,
        key="p.span",
    )


def _count(connection: Connection, condition: Condition) -> int | None:
    """Return the approximate number of matching spans, or None if no index can be used."""
    if condition.field is Field.SPAN:
        return len(condition.values)
    if condition.field in {Field.STATUS, Field.ERROR}:
        statuses = set(condition.values) or {"error"}
        if "ok" in statuses:
            return None
        counters = [
            counter
            for status, counter in (("error", "errors"), ("unfinished", "unfinished"))
            if status in statuses
        ]
        sums = " + ".join(counters) or "0"
        return _first(connection, Sql(f"SELECT sum({sums}) FROM rollups WHERE dimension = 'all'"))
    placeholders, values = listing(condition.values)
    if condition.field in _COUNTED_ALIKE:
        return _count_alike(connection, condition)
    return _first(connection, Sql(_COUNTS[condition.field].format(placeholders), values))


def _count_alike(connection: Connection, condition: Condition) -> int:
    """Return the number of spans with one of the values. A large number is only estimated.

    The estimate is half of all spans.
    """
    placeholders, values = listing(condition.values)
    found = f"{_COUNTED_ALIKE[condition.field].format(placeholders)} LIMIT {_COUNTED_IN_RANGE}"
    count = _first(connection, Sql(f"SELECT count(*) FROM ({found})", values))
    if count < _COUNTED_IN_RANGE:
        return count
    return max(count, spans_in_all(connection) // 2)


def _reach(connection: Connection, query: Query, order: SortKey) -> int:
    """Return the maximum number of spans that a scan in `order` reads.

    The period of the query limits a scan in the order of time. Other conditions do not reduce the
    number.
    """
    hours = [Sql("dimension = 'all'")]
    if order is SortKey.TIME:
        for condition in query.of(Field.START):
            moment = int(condition.values[0])
            if condition.negated or condition.operator is Operator.IS:
                continue
            if condition.operator in {Operator.AT_LEAST, Operator.MORE}:
                hours.append(Sql("hour_us > ?", (moment - HOUR_US,)))
            else:
                hours.append(Sql("hour_us <= ?", (moment,)))
    where = joined(hours)
    counted = Sql(f"SELECT sum(spans) FROM rollups WHERE {where.text}", where.values)
    return _first(connection, counted)


def _first(connection: Connection, sql: Sql) -> int:
    return int(first_value(connection, sql.text, sql.values) or 0)
