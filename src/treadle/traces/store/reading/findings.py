"""Findings of the spans that fit a query, from what was kept of each; what is new is looked at."""

import sqlite3
from collections.abc import Iterator, Sequence

from treadle.diagnosis.detectors import Examined, Rule, SpanReference
from treadle.diagnosis.detectors.detecting import gather_worst
from treadle.diagnosis.detectors.examined import decode
from treadle.traces.query.conditions import Query, SortKey
from treadle.traces.store import contents
from treadle.traces.store.findings import Findings
from treadle.traces.store.findings_examining import EXAMINED, RULED, digests, examiners, progress
from treadle.traces.store.packing import unpacked
from treadle.traces.store.reading.planning import ALL_SPANS, Source, best_source
from treadle.traces.store.reading.snapshots import newest_asked_about
from treadle.traces.store.reading.spans import conditions
from treadle.traces.store.reading.text_terms import add_holds
from treadle.traces.store.reading.where import Sql, joined, resolved

LOOKED_AT = 1_000
"""Spans that nobody examined yet that are examined for one answer, the newest ones."""
_AT_ONCE = 100

_TRACE = "CROSS JOIN traces t ON t.id = s.trace"
_FAULTY = Sql("x.told IS NOT NULL")
_TELLING = {EXAMINED: "examined x INDEXED BY examined_faults", RULED: "ruled x"}


def findings(
    connection: sqlite3.Connection, query: Query, rules: Sequence[Rule], limit: int | None
) -> Findings:
    """The findings of the spans that fit."""
    add_holds(connection)
    query = resolved(connection, query)
    seen = min(each.revision for each in progress(connection, digests(rules)).values())
    tables = (EXAMINED, RULED) if rules else (EXAMINED,)
    told = [each for table in tables for each in _kept(connection, table, query, seen, faulty=True)]
    new = _new(connection, query, seen)
    looked_at = _examined_now(connection, new[:LOOKED_AT], rules)
    total, found = gather_worst((*told, *looked_at), limit)
    return Findings(
        snapshot=newest_asked_about(connection),
        spans=_count(connection, query),
        unexamined=len(new) - len(looked_at),
        total=total,
        data=found,
    )


def examined(connection: sqlite3.Connection, query: Query) -> list[Examined]:
    """What was kept of the spans that fit, in order of time, and what the newest ones tell."""
    add_holds(connection)
    query = resolved(connection, query)
    seen = progress(connection, digests(()))[EXAMINED].revision
    kept = _kept(connection, EXAMINED, query, seen, faulty=False)
    new = _examined_now(connection, _new(connection, query, seen)[:LOOKED_AT], ())
    found = (*kept, *(each for each in new if each.told or each.call_digest))
    return sorted(found, key=lambda each: (each.start_us, each.span))


def _kept(
    connection: sqlite3.Connection, table: str, query: Query, seen: int, *, faulty: bool
) -> Iterator[Examined]:
    """What was kept of the spans that fit."""
    call = "x.call, x.found_nothing" if table == EXAMINED else "NULL, 0"
    kept = _TELLING[table] if faulty else f"{table} x"
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    tables = Sql(
        f"{source.tables.text} CROSS JOIN {table} x ON x.span = s.id", source.tables.values
    )
    rows = _count_of(connection, kept, faulty=faulty)
    if rows < source.count:
        tables = Sql(f"{kept} CROSS JOIN spans s ON s.id = x.span {_TRACE}")
        source = Source(tables, rows, key="x.span")
    where = joined([conditions(source, query), *([_FAULTY] if faulty else [])])
    for trace_id, span_id, start_us, digest, found_nothing, data in connection.execute(
        f"SELECT t.trace_id, s.span_id, s.start_us, {call}, x.told"
        f" FROM {tables.text} WHERE {where.text} AND s.revision <= ?",
        (*tables.values, *where.values, seen),
    ):
        yield Examined(
            SpanReference(unpacked(trace_id), unpacked(span_id)),
            start_us,
            digest.hex() if digest is not None else None,
            bool(found_nothing),
            *(decode(data) if data is not None else ()),
        )


def _new(connection: sqlite3.Connection, query: Query, seen: int) -> list[int]:
    """The keys of the spans that fit and nobody examined yet, the newest first."""
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
    connection: sqlite3.Connection, keys: Sequence[int], rules: Sequence[Rule]
) -> list[Examined]:
    looking = examiners(rules)
    found = []
    for begin in range(0, len(keys), _AT_ONCE):
        spans = contents.spans_by_key(connection, keys[begin : begin + _AT_ONCE])
        for span in spans.values():
            found += [examiner.examine(span) for examiner in looking.values()]
    return found


def _count(connection: sqlite3.Connection, query: Query) -> int:
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    if source.exact:
        return source.count
    where = conditions(source, query)
    found = connection.execute(
        f"SELECT count(*) FROM {source.tables.text} WHERE {where.text}",
        (*source.tables.values, *where.values),
    )
    return int(found.fetchone()[0])


def _count_of(connection: sqlite3.Connection, tables: str, *, faulty: bool) -> int:
    where = _FAULTY.text if faulty else "1"
    found = connection.execute(f"SELECT count(*) FROM {tables} WHERE {where}")
    return int(found.fetchone()[0])


def _newest(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(revision), 0) FROM spans").fetchone()[0])
