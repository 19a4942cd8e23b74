"""Reads and writes many rows of a PostgreSQL table with bounded memory."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from psycopg.sql import SQL, Identifier

from treadle.database.connection import Connection
from treadle.database.dialect import translated
from treadle.database.postgres_connection import PostgresConnection, as_sqlite_errors

_ROWS_AT_ONCE = 50
"""The rows that the server sends at once. Rows of blobs have several megabytes."""


def stream(
    connection: Connection, sql: str, parameters: Sequence[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query inside a transaction, without reading all of them first."""
    assert isinstance(connection, PostgresConnection)
    with as_sqlite_errors(), connection.raw.cursor(name=f"rows_{uuid4().hex}") as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(translated(sql).sql, parameters)
        yield from cursor


def insert(
    connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert rows inside a transaction.

    PostgreSQL does not allow COPY into a table with a row-level policy. The rows are therefore
    copied into a temporary table first.
    """
    assert isinstance(connection, PostgresConnection)
    names = SQL(", ").join(map(Identifier, columns))
    temporary, target = Identifier("copied_rows"), Identifier(table)
    with as_sqlite_errors(), connection.raw.cursor() as cursor:
        cursor.execute(
            SQL(
                "CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA"
            ).format(temporary, names, target)
        )
        with cursor.copy(SQL("COPY {} FROM STDIN").format(temporary)) as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(SQL("INSERT INTO {} ({}) SELECT * FROM {}").format(target, names, temporary))
