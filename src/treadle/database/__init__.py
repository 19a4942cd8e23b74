"""Databases of records: SQLite files, and schemas of a PostgreSQL server.

A store states its tables as a `Schema` and keeps one SQL text, in the dialect of SQLite. It opens
its database with `open_database`. A PostgreSQL connection translates each statement.

This package imports few modules. Every code search opens a SQLite file, so it waits for these
imports.
"""

from pathlib import Path

from treadle.database.address import PostgresAddress, StoreAddress
from treadle.database.connection import (
    Connection,
    Cursor,
    PackedText,
    ids_with_prefix,
    storable_text,
    transaction,
)
from treadle.database.database import Database
from treadle.database.schema import DURABLE, FAST, Migration, Schema
from treadle.errors import StoreError

__all__ = [
    "DURABLE",
    "FAST",
    "Connection",
    "Cursor",
    "Database",
    "Migration",
    "PackedText",
    "PostgresAddress",
    "Schema",
    "StoreAddress",
    "ids_with_prefix",
    "open_database",
    "storable_text",
    "transaction",
]


def open_database(address: StoreAddress, schema: Schema) -> Database:
    """Return the database at `address`, which is opened or created at its first use."""
    if isinstance(address, Path):
        from treadle.database.sqlite import SqliteDatabase

        return SqliteDatabase(address, schema)
    try:
        from treadle.database.postgres import PostgresDatabase
    except ImportError as error:
        if error.name != "psycopg":
            raise
        raise StoreError(
            "The setting store.url names a PostgreSQL database, but psycopg is not installed.",
            hint="Run `pip install 'treadle[team]'`, or remove the setting.",
        ) from error

    return PostgresDatabase(address, schema)
