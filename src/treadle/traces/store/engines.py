"""Chooses the engine of a database or of a connection."""

import sqlite3

from treadle.database import Connection, Database
from treadle.database.sqlite import SqliteDatabase
from treadle.traces.store.engine import Engine
from treadle.traces.store.sqlite_engine import SQLITE


def engine_for(database: Database) -> Engine:
    """Return the engine of a database."""
    if isinstance(database, SqliteDatabase):
        return SQLITE
    from treadle.traces.store.postgres_engine import POSTGRES

    return POSTGRES


def engine_of(connection: Connection) -> Engine:
    """Return the engine of a connection."""
    if isinstance(connection, sqlite3.Connection):
        return SQLITE
    from treadle.traces.store.postgres_engine import POSTGRES

    return POSTGRES
