"""What the trace store does only on PostgreSQL: the text table, triggers, and cleaning."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any
from weakref import WeakSet

from treadle.database import Connection, Database
from treadle.database.postgres_arrays import word_vector
from treadle.traces.store import statements
from treadle.traces.store.columns import SpanRow
from treadle.traces.store.engine import Engine, Job, SearchTexts
from treadle.traces.store.long_texts import shortened, shortened_row
from treadle.traces.store.statements import Text
from treadle.traces.store.text_index import POSTGRES_TEXTS, TextColumns, text_columns

_TRIGGER_FUNCTION = """
    CREATE OR REPLACE FUNCTION record_changed_spans() RETURNS trigger LANGUAGE plpgsql AS '
    BEGIN
        INSERT INTO changed_spans
            SELECT id FROM changed WHERE id <= (SELECT max(last) FROM segments)
            ON CONFLICT DO NOTHING;
        RETURN NULL;
    END'"""
_TRIGGER = """
    CREATE OR REPLACE TRIGGER segments_{name} AFTER {event} ON spans
    REFERENCING {rows} TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION record_changed_spans()
"""

_WRITER_SETTINGS = (
    # Every statement of the writer looks up keys. Without statistics, as in a new store, the
    # planner would read whole tables instead, and keep that plan while the tables grow.
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_bitmapscan", "off"),
    ("jit", "off"),
    # Planning a statement for its values takes longer than running it, and finds the same plan.
    ("plan_cache_mode", "force_generic_plan"),
)
_WRITTEN = (
    "spans", "contents", "texts", "blobs", "blob_uses", "span_labels", "span_properties", "traces",
    "runs", "threads", "trace_facets", "rollups", "properties",
)  # fmt: skip
"""The tables that the writer fills."""

_UNCOMPRESSED = {
    "contents": ("data",),
    "blobs": ("data",),
    "texts": ("input", "output", "texts", "tokens"),
}
_CLEANED = (*_WRITTEN, "examined", "ruled", "segments", "segment_columns")
"""The tables that have rows of deleted spans."""
_CLEANING_DELAY_MS = 2
"""The pauses of a clean-up, which leave the disk to other statements, as those of autovacuum."""

_SIZES = """
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0),
        pg_table_size('texts'::regclass) + pg_table_size('contents'::regclass),
        greatest(pg_relation_size('texts'::regclass), pg_relation_size('contents'::regclass)) / 8192
    FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(current_schema()) AND c.relkind IN ('r', 'm')"""
_ROW = """
    (SELECT avg({sizes}) FROM {table} TABLESAMPLE SYSTEM (CAST(?1 AS REAL)) REPEATABLE (1))"""
_BYTES_OF_SPAN = "SELECT " + " + ".join(
    _ROW.format(
        sizes=" + ".join(f"coalesce(pg_column_size({column}), 0)" for column in columns),
        table=table,
    )
    for table, columns in (
        ("texts", ("name", "input", "output", "texts", "tokens", "folded")),
        ("contents", ("data",)),
    )
)
"""The average bytes of a span in the two largest tables. The sample is always the same pages."""
_SAMPLED_PAGES = 1_000
_FILLED = 0.9
"""The filled fraction of pages without deleted rows: 0.89 with 1,000,000 spans of 7.7 KB."""

_STATISTICS = """
    SELECT reltuples <= 0, pg_relation_size(oid) > 500000 FROM pg_class
    WHERE oid = 'spans'::regclass"""
_IS_COMMITTED = """
    SELECT CASE WHEN CAST(?1 AS xid8) < pg_snapshot_xmax(pg_current_snapshot())
        THEN coalesce(pg_xact_status(CAST(?1 AS xid8)) = 'committed', false) ELSE false END"""
"""Whether a transaction was committed.

A server that has crashed may not know the id any more. `pg_xact_status` would raise an error.
"""
_with_statistics: "WeakSet[Connection]" = WeakSet()
"""The connections of writers that have seen statistics of the spans."""


class PostgresEngine(Engine):
    """The parts of the trace store for PostgreSQL."""

    text_tables = POSTGRES_TEXTS
    adaptations = (
        # An index of both columns serves look-ups of traces too. An entry of `spans_in_short` could
        # exceed the limit of PostgreSQL, 2,704 bytes.
        "DROP INDEX spans_by_span_id, spans_of_trace, roots_of_trace, spans_in_short",
        "CREATE UNIQUE INDEX spans_of_trace ON spans (trace, span_id)",
        # These values are compressed already, or so short that compressing them gains nothing. The
        # attempt would take a tenth of the time of the server.
        *(
            f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL"
            for table, columns in _UNCOMPRESSED.items()
            for column in columns
        ),
    )
    triggers = (
        _TRIGGER_FUNCTION,
        *(
            _TRIGGER.format(name=event.lower(), event=event, rows=rows)
            for event, rows in (("INSERT", "NEW"), ("UPDATE", "OLD"), ("DELETE", "OLD"))
        ),
    )

    outage_seconds = 30.0

    def transaction_id(self, connection: Connection) -> str | None:
        (found,) = connection.execute("SELECT CAST(pg_current_xact_id() AS TEXT)").fetchone()
        return str(found)

    def is_committed(self, connection: Connection, transaction_id: str) -> bool:
        (committed,) = connection.execute(_IS_COMMITTED, (transaction_id,)).fetchone()
        return bool(committed)

    def prepare_writer(self, connection: Connection) -> None:
        for name, value in _WRITER_SETTINGS:
            connection.execute(f"SET {name} = {value}")
        connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false)"
            " WHERE current_setting('synchronous_commit') = 'off'"
        )

    def maintain(self, connection: Connection) -> None:
        """Collect the first statistics, without which the planner chooses unsuitable indexes.

        The server collects later ones itself.
        """
        if connection in _with_statistics:
            return
        missing, many = connection.execute(_STATISTICS).fetchone()
        if missing and many:
            connection.execute(f"ANALYZE {', '.join(_WRITTEN)}")
        if many:
            _with_statistics.add(connection)

    def index_text(self, text: Text) -> Text:
        return shortened(text)

    def index_row(self, row: SpanRow) -> SpanRow:
        return shortened_row(row)

    def text_row(self, texts: SearchTexts) -> tuple[Any, ...]:
        columns = text_columns(texts)
        return (*texts, word_vector(columns.texts), *columns[1:])

    def insert_texts(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        statements.insert(
            connection,
            f"INSERT INTO texts (rowid, name, input, output, {', '.join(TextColumns._fields)})",
            rows,
        )

    def delete_texts(self, connection: Connection, keys: Sequence[int]) -> None:
        statements.run(connection, "DELETE FROM texts WHERE rowid IN ({})", keys)

    def columns_of(self, connection: Connection, table: str) -> set[str]:
        found = connection.execute(
            "SELECT attname FROM pg_attribute"
            " WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped",
            (table,),
        )
        return {name for (name,) in found}

    def used_bytes(self, connection: Connection, spans: int) -> int:
        """Return the bytes of all tables, reduced by the fraction that deleted rows leave free.

        The files of PostgreSQL do not shrink after a deletion, because new rows use the room. So
        their size alone would let `Deleter.prune` delete more spans at each call. The fraction is
        that of the two largest tables, which have three quarters of the bytes.
        """
        total, files, pages = connection.execute(_SIZES).fetchone()
        percent = min(100.0, 100.0 * _SAMPLED_PAGES / max(1, pages))
        (row,) = connection.execute(_BYTES_OF_SPAN, (percent,)).fetchone()
        if row is None or not files:
            return int(total)
        return int(total * min(1.0, spans * float(row) / (int(files) * _FILLED)))

    def clean(self, database: Database, do: Callable[[Job[Any]], Any]) -> None:  # noqa: ARG002
        """Remove deleted rows from the tables and their indexes, while the writer goes on.

        The write-ahead log of the server, its replicas and its backups can still contain them.
        """
        with closing(database.connect()) as connection:
            connection.execute(f"SET vacuum_cost_delay = {_CLEANING_DELAY_MS}")
            for table in _CLEANED:
                connection.execute(f"VACUUM {table}")
            connection.execute("RESET vacuum_cost_delay")


POSTGRES = PostgresEngine()
