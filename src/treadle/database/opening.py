"""Opens the database at an address with the engine of that address."""

from pathlib import Path

from treadle.database.address import StoreAddress
from treadle.database.database import Database
from treadle.database.schema import Schema


def open_database(address: StoreAddress, schema: Schema) -> Database:
    """Return the database at `address`, which is opened or created at its first use."""
    if isinstance(address, Path):
        from treadle.database.sqlite import SqliteDatabase

        return SqliteDatabase(address, schema)
    from treadle.database.postgres import PostgresDatabase

    return PostgresDatabase(address, schema)
