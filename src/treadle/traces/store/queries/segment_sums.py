"""Sums of the matching spans of segments, by the values of a grouping.

The sums become rows of SQL, so that SQL can combine them with sums of other spans. In SQLite they
are put into a temporary table.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from treadle.database import Connection, PackedText
from treadle.traces.query.conditions import GroupBy, Grouping, Query, property_of
from treadle.traces.store.counters import COUNTER_COLUMNS, COUNTER_NAMES, COUNTERS
from treadle.traces.store.queries.conditions import Sql
from treadle.traces.store.queries.segment_scan import (
    COUNTED_COLUMNS,
    Matches,
    counted,
    labels_in,
    matches,
)
from treadle.traces.store.segments import LABELS, OTHERS, SHAPES, STARTS, TRACES, row_of_shape
from treadle.traces.store.statements import Value, pack_text, plain

if TYPE_CHECKING:
    from treadle.traces.store.segments import Array

_TABLE = f"""
    CREATE TEMP TABLE IF NOT EXISTS segment_sums (number INTEGER, value, {COUNTER_COLUMNS})"""
_NUMBERS = count(1)
"""The number of the next result. It distinguishes the results in the temporary table."""

_INSERT = f"INSERT INTO temp.segment_sums VALUES ({', '.join('?' * (2 + len(COUNTER_NAMES)))})"

_FIRST_GROUPS = 64
_UNGROUPED = frozenset({GroupBy.THREAD, GroupBy.RUN})
"""The groupings by values that segments do not have."""


def can_group(by: Grouping) -> bool:
    """Return whether segments have the values of the grouping."""
    return by not in _UNGROUPED


class _Totals:
    """The counters of each value."""

    def __init__(self) -> None:
        import numpy

        self._numbers: dict[Value, int] = {}
        self._sums = numpy.zeros((_FIRST_GROUPS, len(COUNTERS)), numpy.int64)

    def add(self, values: Iterable[Value], sums: "Array") -> None:
        """Add one row of counters for each value. A value may occur several times."""
        import numpy

        numbers = [self._numbers.setdefault(value, len(self._numbers)) for value in values]
        if len(self._numbers) > len(self._sums):
            more = numpy.zeros((2 * len(self._numbers), len(COUNTERS)), numpy.int64)
            more[: len(self._sums)] = self._sums
            self._sums = more
        if numbers:
            numpy.add.at(self._sums, numbers, sums)

    def rows(self) -> Iterator[tuple[Value, list[int]]]:
        """Yield each value that a span has, with its counters."""
        for value, sums in zip(self._numbers, self._sums.tolist(), strict=False):
            if sums[0]:
                yield value, sums


def grouped(connection: Connection, by: Grouping, query: Query, bucket_us: int) -> Sql:
    """Return SQL for one row for each value with its counters. `can_group` must be true."""
    totals = _Totals()
    for spans in matches(connection, query, (*COUNTED_COLUMNS, *_columns(by))):
        values, codes = values_of_spans(spans, by, bucket_us)
        sums = counted(spans, codes, len(values))
        pairs = [(at, value) for at, each in enumerate(values) for value in each]
        if property_of(by):
            pairs = [(at, value) for at, value in pairs if value]
        totals.add([_stored(by, value) for _, value in pairs], sums[[at for at, _ in pairs]])
    if not isinstance(connection, sqlite3.Connection):
        return _listed(by, totals)
    with _writable(connection):
        connection.execute(_TABLE)
        number = next(_NUMBERS)
        connection.executemany(_INSERT, [(number, v, *sums) for v, sums in totals.rows()])
    columns = f"SELECT value, {COUNTER_COLUMNS} FROM temp.segment_sums WHERE number = ?"
    return Sql(columns, (number,))


def _listed(by: Grouping, totals: _Totals) -> Sql:
    """Return SQL that lists the sums, for engines that can read lists of values."""
    rows = list(totals.rows())
    values: list[Any] = [value for value, _ in rows]
    kind = "bigint" if by is GroupBy.TIME else "text"
    if by is not GroupBy.TIME:
        values = [v if isinstance(v, bytes) else str(v).encode() for v in values]
        values = list(map(PackedText, values))
    counters = [[sums[at] for _, sums in rows] for at in range(len(COUNTERS))]
    kinds = ", ".join(["CAST(? AS bigint[])"] * len(COUNTERS))
    return Sql(
        f"SELECT value, {COUNTER_COLUMNS}"
        f" FROM unnest(CAST(? AS {kind}[]), {kinds})"
        f" AS sums (value, {COUNTER_COLUMNS})",
        (values, *counters),
    )


@contextmanager
def _writable(connection: Connection) -> Iterator[None]:
    """Allow changes of temporary tables on a connection that only reads."""
    (before,) = connection.execute("PRAGMA query_only").fetchone()
    connection.execute("PRAGMA query_only = 0")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA query_only = {before}")


def _columns(by: Grouping) -> tuple[str, ...]:
    if by is GroupBy.TIME:
        return (STARTS,)
    if by is GroupBy.LABEL:
        return (LABELS,)
    name = property_of(by)
    return () if name is None else (name, OTHERS)


def traces_of_values(
    connection: Connection, by: Grouping, query: Query, bucket_us: int
) -> Iterator[tuple[str | int, int]]:
    """Yield pairs of a value and the key of a trace that has a matching span with this value.

    A span without a value has the value ''. A pair may occur several times.
    """
    import numpy

    for spans in matches(connection, query, (TRACES, SHAPES, *_columns(by))):
        traces = spans.numbers(TRACES)
        assert traces is not None
        different, numbers = numpy.unique(traces.values, return_inverse=True)
        values, codes = values_of_spans(spans, by, bucket_us)
        combined = numpy.unique(codes.astype(numpy.int64) * len(different) + numbers)
        keys = different[combined % len(different)].tolist()
        for code, trace in zip((combined // len(different)).tolist(), keys, strict=True):
            for value in values[code]:
                yield value, trace


def values_of_spans(
    spans: Matches, by: Grouping, bucket_us: int
) -> "tuple[Sequence[Sequence[str | int]], Array]":
    """Return lists of values, and for each span the position of the list with its values."""
    import numpy

    if by is GroupBy.TIME:
        starts = spans.numbers(STARTS)
        assert starts is not None
        buckets, codes = numpy.unique(starts.values // bucket_us, return_inverse=True)
        return [(bucket,) for bucket in (buckets * bucket_us).tolist()], codes
    if by is GroupBy.LABEL:
        lists, codes = spans.texts(LABELS)
        return [tuple(labels_in(each)) for each in lists], codes
    if by is GroupBy.MODEL or by is GroupBy.OPERATION:
        shapes, codes = spans.texts(SHAPES)
        rows = [row_of_shape(tuple(shape)) for shape in shapes]
        found = [(row.model or "") if by is GroupBy.MODEL else row.operation for row in rows]
        different = list(dict.fromkeys(map(plain, found)))
        groups = numpy.array([different.index(plain(each)) for each in found])
        return [(each,) for each in different], groups[codes]
    named = spans.properties(by.value)
    if named is None:
        return [("",)], numpy.zeros(len(spans), numpy.int64)
    return [(value or "",) for value in named[0]], named[1]


def _stored(by: Grouping, value: str | int) -> Value:
    """Return a value in the form in which the SQL of groups returns it."""
    if isinstance(value, int):
        return value
    return pack_text(value) if by is GroupBy.MODEL or by is GroupBy.OPERATION else _blob(value)


def _blob(text: str) -> bytes:
    """Return a text as bytes, as the SQL of groups returns values from columns with JSON."""
    return text.encode("utf-8", "surrogatepass")
