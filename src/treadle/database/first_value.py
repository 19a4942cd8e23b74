"""Reads single values, which queries of the same block may need several times."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from treadle.database.connection import Connection


def first_value(connection: Connection, sql: str, parameters: Sequence[Any] = ()) -> Any:
    """Return the first column of the first row of a query that has a row.

    In a block of reads, PostgreSQL runs the query once, because its result cannot change.
    """
    if not isinstance(connection, sqlite3.Connection):
        from treadle.database.postgres_connection import PostgresConnection

        assert isinstance(connection, PostgresConnection)
        return connection.first_value(sql, parameters)
    return connection.execute(sql, parameters).fetchone()[0]
