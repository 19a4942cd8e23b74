"""What the tables of a store hold, comparable whatever the order in which it was written."""

import sqlite3
from collections.abc import Sequence

from treadle.database import Connection
from treadle.traces import TraceStore
from treadle.traces.store.columns import COLUMNS
from treadle.traces.store.counters import COUNTER_NAMES

_GIVEN = {"id", "trace", "revision", "same_as"}
_SUMS = ", ".join(COUNTER_NAMES)
_OWN = ", ".join(f"spans.{name}" for name in COLUMNS if name not in _GIVEN)
_ROOT = "(SELECT span_id FROM spans WHERE id = root)"
_NAMED = "FROM spans JOIN traces ON traces.id = spans.trace"

_TABLES = {
    "spans": f"SELECT trace_id, {_OWN} {_NAMED}",
    "same calls": "SELECT t.trace_id, s.span_id, o.span_id FROM spans s"
    " JOIN traces t ON t.id = s.trace JOIN spans o ON o.id = s.same_as",
    "contents": f"SELECT trace_id, span_id, data {_NAMED} JOIN contents ON contents.id = spans.id",
    "texts": f"SELECT trace_id, span_id, texts.name, texts.input, texts.output {_NAMED}"
    " JOIN texts ON texts.rowid = spans.id",
    "blobs": "SELECT hash, media_type, size FROM blobs",
    "uses": f"SELECT trace_id, span_id, hash {_NAMED} JOIN blob_uses ON blob_uses.span = spans.id",
    "traces": "SELECT trace_id, own_run, own_thread, run_id, rooted, start_us, last_us,"
    f" {_ROOT}, {_SUMS} FROM traces",
    "runs": f"SELECT run_id, thread_id, start_us, last_us, {_ROOT}, {_SUMS} FROM runs",
    "threads": f"SELECT thread_id, runs, start_us, last_us, {_SUMS} FROM threads",
    "facets": "SELECT facet, value, trace_id, count FROM trace_facets"
    " JOIN traces ON traces.id = trace_facets.trace",
    "labels": f"SELECT label, trace_id, span_id {_NAMED} JOIN span_labels ON span = spans.id",
    "properties": f"SELECT name, value, {_SUMS} FROM properties",
    "named": "SELECT p.name, p.value, trace_id, span_id FROM span_properties p"
    " JOIN spans ON spans.id = p.span JOIN traces ON traces.id = spans.trace",
    "rollups": f"SELECT dimension, value, hour_us, {_SUMS} FROM rollups",
}
_COUNTED = (
    "spans",
    "contents",
    "texts",
    "span_labels",
    "span_properties",
    "blob_uses",
)


def dump(store: TraceStore, words: Sequence[str] = ()) -> dict[str, list[str]]:
    """The rows of every table, and which spans are found by which word; and that they fit."""
    with store.reader() as connection:
        found = {name: _rows(connection, statement) for name, statement in _TABLES.items()}
        for word in words:
            statement = f"SELECT trace_id, span_id {_NAMED} JOIN texts w ON w.rowid = spans.id"
            found[f"search {word}"] = _rows(connection, f"{statement} WHERE w.texts MATCH ?", word)
        sizes = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in _COUNTED
        }
        if isinstance(connection, sqlite3.Connection):
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            indexed = connection.execute("SELECT count(*) FROM texts_docsize").fetchone()[0]
            assert indexed == sizes["texts"]
    assert sizes["contents"] == sizes["texts"] == sizes["spans"]
    assert sizes["blob_uses"] == len(found["uses"])
    assert sizes["span_labels"] == len(found["labels"])
    assert sizes["span_properties"] == len(found["named"])
    return found


def _rows(connection: Connection, statement: str, *values: str) -> list[str]:
    return sorted(map(repr, connection.execute(statement, values)))
