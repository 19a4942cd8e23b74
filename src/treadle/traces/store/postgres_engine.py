"""What the trace store does only on PostgreSQL: the text table, triggers, and cleaning."""

from collections.abc import Callable, Sequence
from typing import Any

from treadle.database import Connection
from treadle.traces.store import statements
from treadle.traces.store.engine import Engine, Job
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


class PostgresEngine(Engine):
    """The parts of the trace store for PostgreSQL."""

    text_tables = POSTGRES_TEXTS
    triggers = (
        _TRIGGER_FUNCTION,
        *(
            _TRIGGER.format(name=event.lower(), event=event, rows=rows)
            for event, rows in (("INSERT", "NEW"), ("UPDATE", "OLD"), ("DELETE", "OLD"))
        ),
    )

    def insert_texts(
        self, connection: Connection, rows: Sequence[tuple[int, str, str, str]]
    ) -> None:
        texts: list[tuple[Any, ...]] = [(*row, *text_columns(row[1:])) for row in rows]
        statements.insert(
            connection,
            f"INSERT INTO texts (rowid, name, input, output, {', '.join(TextColumns._fields)})",
            texts,
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

    def used_bytes(self, connection: Connection) -> int:
        (size,) = connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
            " WHERE c.relnamespace = to_regnamespace(current_schema()) AND c.relkind IN ('r', 'm')"
        ).fetchone()
        return int(size)

    def clean(self, do: Callable[[Job[Any]], Any]) -> None:
        """Mark the space of deleted rows as free."""


POSTGRES = PostgresEngine()
