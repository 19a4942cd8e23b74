"""The tables of the span store: their numbered migrations, and spans as rows and back."""

import json
import sqlite3
from collections.abc import Sequence
from typing import cast

from treadle.databases import transaction, use_write_ahead_log
from treadle.errors import StoreError
from treadle.events.types import Usage
from treadle.traces.span import WAITED, Span, SpanEvent, SpanKind, SpanStatus

_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # What lists need; `preview` is the beginning of the input.
        """CREATE TABLE spans (
            trace_id TEXT NOT NULL, span_id TEXT NOT NULL, parent_id TEXT,
            kind TEXT NOT NULL, operation TEXT NOT NULL, name TEXT NOT NULL,
            start_us INTEGER NOT NULL, end_us INTEGER, status TEXT NOT NULL, error TEXT,
            model TEXT, provider TEXT, input_tokens INTEGER, output_tokens INTEGER,
            cached_tokens INTEGER, reasoning_tokens INTEGER, cost REAL, ttft_us INTEGER,
            thread_id TEXT, run_id TEXT, preview TEXT,
            PRIMARY KEY (trace_id, span_id)
        ) WITHOUT ROWID""",
        # What only a reader of one span or trace needs.
        """CREATE TABLE contents (
            trace_id TEXT NOT NULL, span_id TEXT NOT NULL,
            attributes TEXT NOT NULL, events TEXT NOT NULL, input TEXT, output TEXT,
            PRIMARY KEY (trace_id, span_id)
        )""",
        # When each trace started, so that the latest are found without a scan of all spans.
        """CREATE TABLE traces (
            trace_id TEXT PRIMARY KEY, start_us INTEGER NOT NULL, thread_id TEXT
        )""",
        "CREATE INDEX traces_by_time ON traces (start_us DESC, trace_id DESC)",
        "CREATE INDEX traces_by_thread ON traces (thread_id, start_us DESC, trace_id DESC)",
    ),
    (
        # For statistics of tools: how a call failed, and how long it worked.
        "ALTER TABLE spans ADD COLUMN error_type TEXT",
        "ALTER TABLE spans ADD COLUMN work_us INTEGER",
        """UPDATE spans SET
            work_us = CASE WHEN end_us >= start_us THEN end_us - start_us END,
            error_type = (
                SELECT json_extract(attributes, '$."error.type"') FROM contents
                WHERE (trace_id, span_id) = (spans.trace_id, spans.span_id)
            )
            WHERE kind = 'tool'""",
        # It holds all that the statistics ask for, so they never read a row.
        """CREATE INDEX tool_calls ON spans (kind, name, work_us, start_us, status, error_type)
            WHERE kind = 'tool'""",
    ),
)

_PREVIEW_LENGTH = 400

_COLUMN_COUNT = 23
_VALUES = f"VALUES ({', '.join('?' * _COLUMN_COUNT)})"
_INSERT = f"INSERT INTO spans {_VALUES} ON CONFLICT DO NOTHING"
_REPLACE = f"REPLACE INTO spans {_VALUES}"
_LISTED = "SELECT * FROM spans WHERE trace_id = ? ORDER BY start_us, span_id"
_WHOLE = """
    SELECT spans.*, contents.attributes, contents.events, contents.input, contents.output
    FROM spans JOIN contents USING (trace_id, span_id)
    WHERE trace_id = ?"""
_ONE = _WHOLE + " AND span_id = ?"
_ALL = _WHOLE + " ORDER BY start_us, span_id"
_RECENT = "SELECT trace_id FROM traces ORDER BY start_us DESC, trace_id DESC LIMIT ?"
_RECENT_OF_THREAD = """
    SELECT trace_id FROM traces WHERE thread_id = ? ORDER BY start_us DESC, trace_id DESC LIMIT ?"""

Value = str | bytes | int | float | None
_Text = str | None
_Number = int | None
_Listed = tuple[
    str, str, _Text, str, str, str, int, _Number, str, _Text, _Text, _Text,
    _Number, _Number, _Number, _Number, float | None, _Number, _Text, _Text, _Text,
    _Text, _Number,
]  # fmt: skip
_Content = tuple[str, str, _Text, _Text]


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables to the present form. Raises StoreError for a file of a newer Treadle."""
    use_write_ahead_log(connection)
    if _version(connection) == len(_MIGRATIONS):
        return
    with transaction(connection):
        # Read again: another process may have done it while this one waited.
        version = _version(connection)
        _refuse_newer(version)
        for statements in _MIGRATIONS[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")


def _refuse_newer(version: int) -> None:
    if version > len(_MIGRATIONS):
        raise StoreError(
            f"The trace store was written by a newer version of Treadle (form {version}).",
            hint="Update Treadle, or set TREADLE_HOME to another folder.",
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def insert_new(connection: sqlite3.Connection, span: Span) -> bool:
    """Insert `span` if nothing is stored under its ids. False: there is."""
    if connection.execute(_INSERT, _column_values(span)).rowcount == 0:
        return False
    _store_content(connection, span)
    _note_trace(connection, span)
    return True


def replace(connection: sqlite3.Connection, span: Span) -> None:
    """Put `span` in the place of the version that is stored."""
    connection.execute(_REPLACE, _column_values(span))
    _store_content(connection, span)
    _note_trace(connection, span)


def span(connection: sqlite3.Connection, trace_id: str, span_id: str) -> Span:
    """The stored span with these ids, which must exist."""
    return _span(connection.execute(_ONE, (_packed(trace_id), _packed(span_id))).fetchone())


def spans(connection: sqlite3.Connection, trace_id: str) -> list[Span]:
    """The spans of a trace, whole, by start time and then by id."""
    return [_span(row) for row in connection.execute(_ALL, (_packed(trace_id),))]


def listed_spans(connection: sqlite3.Connection, trace_id: str) -> list[Span]:
    """The same without attributes, events and output, and with only the beginning of the input."""
    return [_span(row) for row in connection.execute(_LISTED, (_packed(trace_id),))]


def recent_traces(connection: sqlite3.Connection, limit: int, thread_id: str | None) -> list[str]:
    """Ids of the traces that started last, newest first."""
    if thread_id is None:
        found = connection.execute(_RECENT, (limit,))
    else:
        found = connection.execute(_RECENT_OF_THREAD, (_packed(thread_id), limit))
    return [_unpacked(row[0]) for row in found]


def traces_beginning(connection: sqlite3.Connection, prefix: str, limit: int) -> list[str]:
    """Ids that begin with `prefix`, in order, so the one that equals it comes first."""
    found = connection.execute(
        "SELECT trace_id FROM traces WHERE trace_id >= ?1 AND trace_id < ?1 || char(0x10FFFF)"
        " ORDER BY trace_id LIMIT ?2",
        (_packed(prefix), limit),
    )
    return [_unpacked(row[0]) for row in found]


def _column_values(span: Span) -> tuple[Value, ...]:
    tokens = span.tokens
    return (
        _packed(span.trace_id),
        _packed(span.span_id),
        _packed(span.parent_id),
        span.kind.value,
        _packed(span.operation),
        _packed(span.name),
        span.start_us,
        span.end_us,
        span.status.value,
        _packed(span.error),
        _packed(span.model),
        _packed(span.provider),
        tokens.input,
        tokens.output,
        tokens.cached,
        tokens.reasoning,
        span.cost,
        span.time_to_first_token_us,
        _packed(span.thread_id),
        _packed(span.run_id),
        _packed(span.input[:_PREVIEW_LENGTH] if span.input is not None else None),
        _packed(_error_type(span)),
        _work_us(span),
    )


def _error_type(span: Span) -> str | None:
    failure = span.attributes.get("error.type")
    return None if failure is None else str(failure)


def _work_us(span: Span) -> int | None:
    """How long a call worked: its duration without the waits for a person."""
    if span.duration_us is None:
        return None
    waited = span.attributes.get(WAITED)
    return max(0, span.duration_us - (waited if isinstance(waited, int) else 0))


def _store_content(connection: sqlite3.Connection, span: Span) -> None:
    events = [(event.at_us, event.name, event.attributes) for event in span.events]
    connection.execute(
        "REPLACE INTO contents VALUES (?, ?, ?, ?, ?, ?)",
        (
            _packed(span.trace_id),
            _packed(span.span_id),
            json.dumps(span.attributes),
            json.dumps(events),
            _packed(span.input),
            _packed(span.output),
        ),
    )


def _note_trace(connection: sqlite3.Connection, span: Span) -> None:
    """Remember the earliest start and the thread, whatever the order of arrival."""
    connection.execute(
        "INSERT INTO traces (trace_id, start_us, thread_id) VALUES (?, ?, ?)"
        " ON CONFLICT (trace_id) DO UPDATE SET start_us = min(start_us, excluded.start_us),"
        " thread_id = coalesce(min(thread_id, excluded.thread_id), thread_id, excluded.thread_id)",
        (_packed(span.trace_id), span.start_us, _packed(span.thread_id)),
    )


def _span(row: Sequence[Value]) -> Span:
    values = [_unpacked(value) if isinstance(value, bytes) else value for value in row]
    column = cast("_Listed", values[:_COLUMN_COUNT])
    preview = column[20]
    whole = values[_COLUMN_COUNT:] or ["{}", "[]", preview, None]
    attributes, events, content_in, content_out = cast("_Content", whole)
    return Span(
        trace_id=column[0],
        span_id=column[1],
        parent_id=column[2],
        kind=SpanKind(column[3]),
        operation=column[4],
        name=column[5],
        start_us=column[6],
        end_us=column[7],
        status=SpanStatus(column[8]),
        error=column[9],
        model=column[10],
        provider=column[11],
        tokens=Usage(input=column[12], output=column[13], cached=column[14], reasoning=column[15]),
        cost=column[16],
        time_to_first_token_us=column[17],
        thread_id=column[18],
        run_id=column[19],
        attributes=json.loads(attributes),
        events=tuple(SpanEvent(*event) for event in json.loads(events)),
        input=content_in,
        output=content_out,
    )


def _packed(text: str | None) -> Value:
    """`text` as SQLite can hold it: a lone surrogate, which is no UTF-8, makes it bytes."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _unpacked(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
