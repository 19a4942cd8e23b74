"""Upgrades a database of spans from any earlier version, in one transaction."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from treadle.database import Connection, Schema
from treadle.events.types import Usage
from treadle.spans.span import OWN_LABELS, Span, SpanEvent, SpanKind, SpanStatus
from treadle.spans.vocabularies.mapper import with_metadata
from treadle.traces.store import call_counts, contents, inheritance, span_merge
from treadle.traces.store.columns import COLUMNS, SpanRow
from treadle.traces.store.counters import COUNTERS
from treadle.traces.store.engines import engine_of
from treadle.traces.store.examinations import EXAMINATION_TABLES
from treadle.traces.store.faults import FAULT, UNMATCHED_FAULT, recount_faults
from treadle.traces.store.schema import (
    CALL_KINDS,
    COUNTER_TYPE,
    FAULTS,
    INDEXES,
    PROPERTY_TABLES,
    STEP_KINDS,
    TABLES,
)
from treadle.traces.store.segments import SEGMENT_TABLES
from treadle.traces.store.span_merge import SpanKeys, prepare
from treadle.traces.store.statements import PREPARED, unpacked
from treadle.traces.store.sums import HOUR_US, OWN, SumChanges
from treadle.traces.store.trace_states import TraceState, trace_states

VERSION = 16
"""The current version of the schema. Increase it for a new column, counter, table or index.

Versions 1 and 2 had one table of spans and no sums. Versions 3 and 4 had no findings. Versions up
to 5 had fewer indexes. Versions up to 6 counted nested model calls by another rule. Versions up to
7 did not count embeddings. Versions up to 9 counted a call twice if an exporter and the gateway
recorded it in different traces. Versions up to 10 had no properties. In versions up to 11, spans
did not inherit labels. Versions up to 12 had no segments. Versions up to 13 did not count faults.
Versions up to 14 had no sums of Treadle's own calls. In versions up to 15, segments had no column
for the trace.
"""

_SUMMED, _EXAMINED, _RECOUNTED, _MATCHED, _WITH_PROPERTIES, _INHERITED = 3, 5, 8, 10, 11, 12
_WITH_FAULTS = 14

_AT_ONCE = 500
_OLD_TABLES = ("spans", "contents", "traces")

_NESTED = f"""
    SELECT DISTINCT traces.trace_id
    FROM spans s JOIN spans parent ON parent.span_id = s.parent_id AND parent.trace = s.trace
    JOIN traces ON traces.id = s.trace
    WHERE s.kind = 'model' AND parent.{STEP_KINDS}
    UNION SELECT trace_id FROM spans JOIN traces ON traces.id = spans.trace
    WHERE kind = 'embedding'"""  # noqa: S608  (constants)
_CALLS = f"SELECT trace, span_id FROM spans WHERE trace = ? AND {CALL_KINDS}"  # noqa: S608
_EMBEDDINGS = f"""
    SELECT {", ".join(COLUMNS)} FROM spans
    WHERE trace = ? AND kind = 'embedding' AND NOT counted"""  # noqa: S608  (names of columns)

_FINISHED_CALLS = f"""
    SELECT {", ".join(COLUMNS)} FROM spans
    WHERE id > ? AND coalesce(response_key, content_key) NOTNULL ORDER BY id LIMIT ?"""  # noqa: S608

_LABELLED_ROOTS = """
    SELECT trace_id FROM traces JOIN spans ON spans.id = traces.root
    WHERE rooted AND labels NOTNULL"""

_OWN_CALLS = f"""
    SELECT trace_id, {", ".join(f"s.{name}" for name in COLUMNS)}
    FROM spans s JOIN traces ON traces.id = s.trace
    WHERE s.id IN (SELECT span FROM span_labels WHERE label IN ({", ".join("?" * len(OWN_LABELS))}))
        AND s.id > ?
    ORDER BY s.id LIMIT ?"""  # noqa: S608  (names of columns)

_NEXT_KEYS = "SELECT id FROM spans WHERE id > ? ORDER BY id LIMIT ?"
_HOUR = f"s.start_us - ((s.start_us % {HOUR_US}) + {HOUR_US}) % {HOUR_US}"
_SUM_UP = (
    """UPDATE traces SET {name} = (
        SELECT coalesce(sum({amount}), 0) FROM spans s WHERE s.trace = traces.id
    )""",
    "UPDATE runs SET {name} = (SELECT sum({name}) FROM traces WHERE traces.run_id = runs.run_id)",
    """UPDATE threads SET {name} = (
        SELECT sum({name}) FROM runs WHERE runs.thread_id = threads.thread_id
    )""",
    """UPDATE properties SET {name} = (
        SELECT coalesce(sum({amount}), 0)
        FROM span_properties p CROSS JOIN spans s ON s.id = p.span
        WHERE p.name = properties.name AND p.value = properties.value
    )""",
    *(
        f"""INSERT INTO rollups (dimension, value, hour_us, {{name}})
            SELECT {dimension}, {value}, {_HOUR}, sum({{amount}}) FROM spans s {labels} WHERE 1
            GROUP BY 1, 2, 3
            ON CONFLICT DO UPDATE SET {{name}} = excluded.{{name}}"""  # noqa: S608  (constants)
        for dimension, value, labels in (
            ("'all'", "''", ""),
            ("'model'", "coalesce(s.model, '')", ""),
            ("'operation'", "s.operation", ""),
            ("'label'", "l.label", "JOIN span_labels l ON l.span = s.id"),
            ("p.name", "p.value", "JOIN span_properties p ON p.span = s.id"),
        )
    ),
)
"""SQL that computes one counter in all tables of sums, beginning with `traces`."""

_OLD_SPANS = """
    SELECT spans.trace_id, spans.span_id, parent_id, kind, operation, name, start_us, end_us,
        status, error, model, provider, input_tokens, output_tokens, cached_tokens,
        reasoning_tokens, cost, ttft_us, thread_id, run_id,
        attributes, events, input, output
    FROM old_spans AS spans JOIN old_contents USING (trace_id, span_id)"""


def _upgrade(connection: Connection, version: int) -> None:
    if version < _SUMMED:
        _make(connection, old=version > 0)
    elif version < _EXAMINED:
        _execute_all(connection, EXAMINATION_TABLES)
    if _SUMMED <= version < _WITH_PROPERTIES:
        _execute_all(connection, PROPERTY_TABLES)
    engine = engine_of(connection)
    _execute_all(connection, (*SEGMENT_TABLES, *engine.triggers))
    if _SUMMED <= version < _WITH_FAULTS:
        connection.execute("DROP INDEX IF EXISTS spans_in_short")
        _add_faults(connection)
    _add_columns(connection)
    _add_counters(connection)
    _execute_all(connection, INDEXES)
    if version == 0:
        _execute_all(connection, engine.adaptations)
    if _SUMMED <= version < _RECOUNTED:
        _count_again(connection)
    if _SUMMED <= version < _MATCHED:
        _match_calls(connection)
    if _SUMMED <= version < _WITH_PROPERTIES:
        _read_properties(connection)
    if _SUMMED <= version < _INHERITED:
        _inherit_labels(connection)
    _sum_up_own(connection)


def _sum_up_own(connection: Connection) -> None:
    """Compute the sums of Treadle's own calls again."""
    for table, column in (("rollups", "dimension"), ("properties", "name")):
        connection.execute(
            f"DELETE FROM {table} WHERE {column} >= ? AND {column} < ?",  # noqa: S608  (constants)
            (OWN, OWN[:-1] + chr(ord(OWN[-1]) + 1)),
        )
    last = -(1 << 63)
    while found := connection.execute(_OWN_CALLS, (*OWN_LABELS, last, _AT_ONCE)).fetchall():
        sums = SumChanges()
        for trace_id, *values in found:
            row = SpanRow._make(values)
            sums.count_own(row, trace_id)
            last = row.id
        sums.store_own(connection)


def _make(connection: Connection, *, old: bool) -> None:
    if old:
        for table in _OLD_TABLES:
            connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        for name in ("traces_by_time", "traces_by_thread", "tool_calls"):
            connection.execute(f"DROP INDEX IF EXISTS {name}")
    _execute_all(connection, (*TABLES, *engine_of(connection).text_tables, *EXAMINATION_TABLES))
    if old:
        _take_over(connection)
        for table in _OLD_TABLES:
            connection.execute(f"DROP TABLE old_{table}")


def _execute_all(connection: Connection, statements: Iterable[str]) -> None:
    for statement in statements:
        connection.execute(statement)


def _take_over(connection: Connection) -> None:
    keys = SpanKeys()
    spans = _old_spans(connection.execute(_OLD_SPANS))
    while batch := list(islice(spans, _AT_ONCE)):
        span_merge.merge(connection, prepare(batch, engine_of(connection)), keys)


def _count_again(connection: Connection) -> None:
    """Update `counted` in all traces with embeddings or with model calls that may be nested."""
    for (trace_id,) in connection.execute(_NESTED).fetchall():
        states = trace_states(connection, [trace_id])
        traces = {state.id: state for state in states.values()}
        sums = SumChanges()
        for key in traces:
            embeddings = map(SpanRow._make, connection.execute(_EMBEDDINGS, (key,)).fetchall())
            call_counts.invert_counted(connection, list(embeddings), traces, sums)
            calls = connection.execute(_CALLS, (key,)).fetchall()
            call_counts.recount_nested(connection, calls, (), traces, sums)
        sums.store(connection, traces.values())


def _match_calls(connection: Connection) -> None:
    """Find the calls that an exporter and the gateway recorded in different traces."""
    last = -(1 << 63)
    while found := connection.execute(_FINISHED_CALLS, (last, _AT_ONCE)).fetchall():
        rows = list(map(SpanRow._make, found))
        last = rows[-1].id
        traces: dict[int, TraceState] = {}
        sums = SumChanges()
        matched = call_counts.match_calls(connection, rows, traces, sums)
        recount_faults(connection, matched, traces, sums)
        sums.store(connection, traces.values())


def _add_faults(connection: Connection) -> None:
    """Add the column `spans.fault`, which is computed from other columns and not from contents."""
    columns = _columns_of(connection, "spans")
    if "fault" in columns:
        return
    connection.execute(f"ALTER TABLE spans ADD COLUMN fault {COLUMNS['fault'].sql}")
    _execute_all(connection, FAULTS)
    matched = {"same_as", "response_key", "content_key"} <= columns
    connection.execute(
        f"UPDATE spans AS s SET fault = 1 WHERE {FAULT if matched else UNMATCHED_FAULT}"  # noqa: S608
    )


def _add_columns(connection: Connection) -> None:
    """Add the missing columns of `spans`, with values computed from the stored spans."""
    added = [name for name in COLUMNS if name not in _columns_of(connection, "spans")]
    if not added:
        return
    for name in added:
        connection.execute(f"ALTER TABLE spans ADD COLUMN {name} {COLUMNS[name].sql}")
    changes = ", ".join(f"{name} = ?" for name in added)
    last = -(1 << 63)
    while found := connection.execute(_NEXT_KEYS, (last, _AT_ONCE)).fetchall():
        keys = [key for (key,) in found]
        last = keys[-1]
        stored = contents.spans_by_key(connection, keys)
        rows = ((key, prepare([stored[key]], engine_of(connection))[0].row) for key in keys)
        connection.executemany(
            f"UPDATE spans SET {changes} WHERE id = ?",  # noqa: S608  (names of columns)
            [(*(getattr(row, name) for name in added), key) for key, row in rows],
        )


def _inherit_labels(connection: Connection) -> None:
    """Give the labels of each root to the other spans of its trace."""
    for (trace_id,) in connection.execute(_LABELLED_ROOTS).fetchall():
        sums = SumChanges()
        for state in trace_states(connection, [trace_id]).values():
            inheritance.update_trace(connection, state.id, state.inherited, sums)
        sums.store_facets(connection)
        sums.store(connection, ())


def _read_properties(connection: Connection) -> None:
    """Read the user, the release and the metadata of all spans from their attributes."""
    keys = SpanKeys()
    last = -(1 << 63)
    while found := connection.execute(_NEXT_KEYS, (last, _AT_ONCE)).fetchall():
        last = found[-1][0]
        stored = contents.spans_by_key(connection, [key for (key,) in found])
        named = [span for each in stored.values() if (span := with_metadata(each)) != each]
        span_merge.merge(connection, prepare(named, engine_of(connection)), keys)


def _add_counters(connection: Connection) -> None:
    """Add the missing counters to every table of sums, with values computed from the spans."""
    there = _columns_of(connection, "rollups")
    for counter in COUNTERS:
        if counter.name in there:
            continue
        for table in ("traces", "runs", "threads", "rollups", "properties"):
            if counter.name in _columns_of(connection, table):
                continue  # the table is new
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {counter.name} {COUNTER_TYPE}")
        for statement in _SUM_UP:
            connection.execute(statement.format(name=counter.name, amount=counter.sql))


def _columns_of(connection: Connection, table: str) -> set[str]:
    return engine_of(connection).columns_of(connection, table)


def _old_spans(rows: Iterable[tuple[object, ...]]) -> Iterator[Span]:
    for row in rows:
        values = [unpacked(value) if isinstance(value, bytes) else value for value in row]
        yield _old_span(*values)


def _old_span(*values: Any) -> Span:
    return Span(
        trace_id=values[0],
        span_id=values[1],
        parent_id=values[2],
        kind=SpanKind(values[3]),
        operation=values[4],
        name=values[5],
        start_us=values[6],
        end_us=values[7],
        status=SpanStatus(values[8]),
        error=values[9],
        model=values[10],
        provider=values[11],
        tokens=Usage(input=values[12], output=values[13], cached=values[14], reasoning=values[15]),
        cost=values[16],
        time_to_first_token_us=values[17],
        thread_id=values[18],
        run_id=values[19],
        attributes=json.loads(values[20]),
        events=tuple(SpanEvent(*event) for event in json.loads(values[21])),
        input=values[22],
        output=values[23],
    )


SCHEMA = Schema(
    "spans",
    VERSION,
    _upgrade,
    pragmas=(
        "synchronous = FULL",
        "secure_delete = ON",  # SQLite overwrites deleted bytes
        "wal_autocheckpoint = 0",  # `LogKeeper` moves the log into the file
    ),
    # With pages of 4 KB, files were 20 % larger, since the texts of two spans seldom fit on a page.
    file_pragmas=("page_size = 8192", "auto_vacuum = INCREMENTAL"),
    upgrade_seconds=600.0,
    cached_statements=PREPARED,
)
