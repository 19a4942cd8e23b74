"""Brings a file of spans to the present form, whatever Treadle made it, in one transaction."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from treadle.database import Schema
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanEvent, SpanKind, SpanStatus
from treadle.traces.store import call_counts, examination_tables, keeping, trace_states
from treadle.traces.store.arriving import arrive
from treadle.traces.store.keys import Keys
from treadle.traces.store.packing import unpacked
from treadle.traces.store.schema import INDEXES, TABLES
from treadle.traces.store.statements import PREPARED
from treadle.traces.store.sums import Sums

VERSION = 7
"""`user_version` of the present form. Forms 1 and 2 were tables of one row a span, without sums;
forms 3 and 4 knew nothing of faults, up to form 5 there were fewer indexes, and up to form 6 calls
within calls were counted by another rule."""

_SUMMED, _EXAMINED = 3, 5

_AT_ONCE = 500
_OLD_TABLES = ("spans", "contents", "traces")

_NESTED = f"""
    SELECT DISTINCT traces.trace_id
    FROM spans s JOIN spans parent ON parent.span_id = s.parent_id AND parent.trace = s.trace
    JOIN traces ON traces.id = s.trace
    WHERE s.kind = 'model' AND parent.{call_counts.KINDS}"""  # noqa: S608  (constants)
_CALLS = "SELECT trace, span_id FROM spans WHERE trace = ? AND kind = 'model'"

_OLD_SPANS = """
    SELECT spans.trace_id, spans.span_id, parent_id, kind, operation, name, start_us, end_us,
        status, error, model, provider, input_tokens, output_tokens, cached_tokens,
        reasoning_tokens, cost, ttft_us, thread_id, run_id,
        attributes, events, input, output
    FROM old_spans AS spans JOIN old_contents USING (trace_id, span_id)"""


def _upgrade(connection: sqlite3.Connection, version: int) -> None:
    if version < _SUMMED:
        _make(connection, old=version > 0)
    elif version < _EXAMINED:
        _execute_all(connection, examination_tables.TABLES)
    _execute_all(connection, INDEXES)
    if version >= _SUMMED:
        _count_again(connection)


def _make(connection: sqlite3.Connection, *, old: bool) -> None:
    if old:
        for table in _OLD_TABLES:
            connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        for name in ("traces_by_time", "traces_by_thread", "tool_calls"):
            connection.execute(f"DROP INDEX IF EXISTS {name}")
    _execute_all(connection, (*TABLES, *examination_tables.TABLES))
    if old:
        _take_over(connection)
        for table in _OLD_TABLES:
            connection.execute(f"DROP TABLE old_{table}")


def _execute_all(connection: sqlite3.Connection, statements: Iterable[str]) -> None:
    for statement in statements:
        connection.execute(statement)


def _take_over(connection: sqlite3.Connection) -> None:
    keys = Keys()
    spans = _old_spans(connection.execute(_OLD_SPANS))
    while some := list(islice(spans, _AT_ONCE)):
        keeping.keep(connection, arrive(some), keys)


def _count_again(connection: sqlite3.Connection) -> None:
    """Correct which model calls count: those that may be within another one, or around one."""
    for (trace_id,) in connection.execute(_NESTED).fetchall():
        states = trace_states.states(connection, [trace_id])
        traces = {state.id: state for state in states.values()}
        sums = Sums()
        for key in traces:
            calls = connection.execute(_CALLS, (key,)).fetchall()
            keeping.recount(connection, calls, (), traces, sums)
        sums.store(connection, traces.values())


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
        "secure_delete = ON",  # deleted bytes are overwritten
        "wal_autocheckpoint = 0",  # `LogKeeper` moves the log into the file
    ),
    # In pages of 4 KB, which seldom have room for the texts of two spans, files were 20 % larger.
    file_pragmas=("page_size = 8192", "auto_vacuum = INCREMENTAL"),
    upgrade_seconds=600.0,
    cached_statements=PREPARED,
)
