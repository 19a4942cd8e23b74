"""Reads the examination results of the spans that match a query, and examines new spans."""

from collections.abc import Iterator, Sequence

from treadle.database import Connection
from treadle.traces.query.conditions import Query, SortKey
from treadle.traces.store import contents
from treadle.traces.store.examination_writer import progress
from treadle.traces.store.examinations import (
    Examination,
    Examinations,
    ExaminationTable,
    SpanExaminer,
)
from treadle.traces.store.queries.conditions import Sql, joined, register_functions, resolved
from treadle.traces.store.queries.span_pages import conditions
from treadle.traces.store.queries.span_sources import ALL_SPANS, Source, best_source
from treadle.traces.store.queries.summaries import newest_asked_about
from treadle.traces.store.statements import unpacked

MAX_EXAMINED_SPANS = 1_000
"""The maximum number of new spans that one query examines. The newest spans are examined."""
_AT_ONCE = 100

_TRACE = "CROSS JOIN traces t ON t.id = s.trace"
_HAS_RESULT = Sql("x.told IS NOT NULL")
_TABLES = {
    ExaminationTable.EXAMINED: "examined x INDEXED BY examined_faults",
    ExaminationTable.RULED: "ruled x",
}


def examinations(
    connection: Connection, query: Query, examiners: Sequence[SpanExaminer]
) -> Examinations:
    """Return the results of all examiners for the matching spans."""
    register_functions(connection)
    query = resolved(connection, query)
    seen = min(each.revision for each in progress(connection, examiners).values())
    stored = [row for each in examiners for row in _stored(connection, each.table, query, seen)]
    new = _new(connection, query, seen)
    newest = new[:MAX_EXAMINED_SPANS]
    return Examinations(
        snapshot=newest_asked_about(connection),
        spans=_count(connection, query),
        unexamined=len(new) - len(newest),
        data=(*stored, *_examined_now(connection, newest, examiners)),
    )


def _stored(
    connection: Connection, table: ExaminationTable, query: Query, seen: int
) -> Iterator[Examination]:
    """Yield the stored results of the matching spans."""
    results = _TABLES[table]
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    tables = Sql(
        f"{source.tables.text} CROSS JOIN {results} ON x.span = s.id", source.tables.values
    )
    rows = _count_of(connection, results)
    if rows < source.count:
        tables = Sql(f"{results} CROSS JOIN spans s ON s.id = x.span {_TRACE}")
        source = Source(tables, rows, key="x.span")
    where = joined([conditions(source, query), _HAS_RESULT])
    for trace_id, span_id, start_us, result in connection.execute(
        f"SELECT t.trace_id, s.span_id, s.start_us, x.told"
        f" FROM {tables.text} WHERE {where.text} AND s.revision <= ?",
        (*tables.values, *where.values, seen),
    ):
        yield Examination(unpacked(trace_id), unpacked(span_id), start_us, result)


def _new(connection: Connection, query: Query, seen: int) -> list[int]:
    """Return the keys of the matching spans that are not examined yet, the newest first."""
    if seen >= _newest(connection):
        return []
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    tables = source.tables
    newer = connection.execute("SELECT count(*) FROM spans WHERE revision > ?", (seen,)).fetchone()
    if newer[0] < source.count:
        tables = Sql(f"spans s INDEXED BY spans_by_revision {_TRACE}")
        source = Source(tables, newer[0])
    where = joined([conditions(source, query), Sql("s.revision > ?", (seen,))])
    found = connection.execute(
        f"SELECT s.id FROM {tables.text} WHERE {where.text} ORDER BY s.id DESC",
        (*tables.values, *where.values),
    )
    return [key for (key,) in found]


def _examined_now(
    connection: Connection, keys: Sequence[int], examiners: Sequence[SpanExaminer]
) -> Iterator[Examination]:
    for begin in range(0, len(keys), _AT_ONCE):
        for span in contents.spans_by_key(connection, keys[begin : begin + _AT_ONCE]).values():
            for each in examiners:
                result = each.examine(span)
                if result is not None:
                    yield Examination(span.trace_id, span.span_id, span.start_us, result)


def _count(connection: Connection, query: Query) -> int:
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    if source.exact:
        return source.count
    where = conditions(source, query)
    found = connection.execute(
        f"SELECT count(*) FROM {source.tables.text} WHERE {where.text}",
        (*source.tables.values, *where.values),
    )
    return int(found.fetchone()[0])


def _count_of(connection: Connection, results: str) -> int:
    found = connection.execute(f"SELECT count(*) FROM {results} WHERE {_HAS_RESULT.text}")
    return int(found.fetchone()[0])


def _newest(connection: Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(revision), 0) FROM spans").fetchone()[0])
