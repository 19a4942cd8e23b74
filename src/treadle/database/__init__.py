"""Databases of records: SQLite files, and schemas of a PostgreSQL server.

A store states its tables as a `Schema` and keeps one SQL text, in the dialect of SQLite. It opens
its database with `open_database`. A PostgreSQL connection translates each statement.

This package imports few modules. Every code search opens a SQLite file, so it waits for these
imports.
"""

from treadle.database.address import PostgresAddress, StoreAddress
from treadle.database.connection import Connection, Cursor, transaction
from treadle.database.database import Database
from treadle.database.opening import open_database
from treadle.database.schema import DURABLE, FAST, Migration, Schema
from treadle.database.text import PackedText, ids_with_prefix, storable_text

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
