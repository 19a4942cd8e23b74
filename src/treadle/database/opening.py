"""Opens the database at an address with the engine of that address."""

from pathlib import Path

from treadle.database.address import StoreAddress
from treadle.database.database import Database
from treadle.database.schema import Schema
from treadle.errors import StoreError


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
