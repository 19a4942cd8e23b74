"""Files of spans as earlier versions of Treadle made them."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from treadle.spans.span import Span
from treadle.traces.store.statements import packed

_COLUMNS = """trace_id TEXT NOT NULL, span_id TEXT NOT NULL, parent_id TEXT,
    kind TEXT NOT NULL, operation TEXT NOT NULL, name TEXT NOT NULL,
    start_us INTEGER NOT NULL, end_us INTEGER, status TEXT NOT NULL, error TEXT,
    model TEXT, provider TEXT, input_tokens INTEGER, output_tokens INTEGER,
    cached_tokens INTEGER, reasoning_tokens INTEGER, cost REAL, ttft_us INTEGER,
    thread_id TEXT, run_id TEXT, preview TEXT"""

_FORM_1 = (
    f"CREATE TABLE spans ({_COLUMNS}, PRIMARY KEY (trace_id, span_id)) WITHOUT ROWID",
    """CREATE TABLE contents (
        trace_id TEXT NOT NULL, span_id TEXT NOT NULL,
        attributes TEXT NOT NULL, events TEXT NOT NULL, input TEXT, output TEXT,
        PRIMARY KEY (trace_id, span_id)
    )""",
    "CREATE TABLE traces (trace_id TEXT PRIMARY KEY, start_us INTEGER NOT NULL, thread_id TEXT)",
    "CREATE INDEX traces_by_time ON traces (start_us DESC, trace_id DESC)",
    "CREATE INDEX traces_by_thread ON traces (thread_id, start_us DESC, trace_id DESC)",
)

_FORM_2 = (
    "ALTER TABLE spans ADD COLUMN error_type TEXT",
    "ALTER TABLE spans ADD COLUMN work_us INTEGER",
    """CREATE INDEX tool_calls ON spans (kind, name, work_us, start_us, status, error_type)
        WHERE kind = 'tool'""",
)


def write_old_file(path: Path, spans: Sequence[Span], form: int) -> None:
    """A file of form 1 or 2 that holds `spans`."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            for statement in (*_FORM_1, *(_FORM_2 if form == 2 else ())):
                connection.execute(statement)
            for span in spans:
                _write(connection, span, form)
            connection.execute(f"PRAGMA user_version = {form}")


def _write(connection: sqlite3.Connection, span: Span, form: int) -> None:
    ids = (packed(span.trace_id), packed(span.span_id))
    tokens = span.tokens
    row = (
        *ids, packed(span.parent_id), span.kind.value, span.operation, packed(span.name),
        span.start_us, span.end_us, span.status.value, packed(span.error), span.model,
        span.provider, tokens.input, tokens.output, tokens.cached, tokens.reasoning, span.cost,
        span.time_to_first_token_us, packed(span.thread_id), packed(span.run_id), None,
        *((None, None) if form == 2 else ()),
    )  # fmt: skip
    connection.execute(f"INSERT INTO spans VALUES ({', '.join('?' * len(row))})", row)
    events = [(event.at_us, event.name, event.attributes) for event in span.events]
    content = (
        *ids, json.dumps(span.attributes), json.dumps(events),
        packed(span.input), packed(span.output),
    )  # fmt: skip
    connection.execute("INSERT INTO contents VALUES (?, ?, ?, ?, ?, ?)", content)
    connection.execute(
        "INSERT INTO traces VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (ids[0], span.start_us, packed(span.thread_id)),
    )
