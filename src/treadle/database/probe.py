"""Examines quickly whether a database can be written, for the probes of load balancers."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from treadle.database.address import PostgresAddress, StoreAddress
from treadle.errors import StoreError

_BUSY_SECONDS = 1.5
_LEAST_FREE = 50_000_000
"""The minimum free bytes of a disk. With less, commits fail soon."""


def require_writable(address: StoreAddress) -> None:
    """Raise StoreError if the database at `address` cannot be read or written at present.

    Nothing is written. A SQLite file that does not exist is writable if its folder is.
    """
    try:
        if isinstance(address, Path):
            _require_writable_file(address)
        else:
            _require_writable_server(address)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"The store cannot be written: {error}.") from error


def _require_writable_file(path: Path) -> None:
    folder = path.parent
    if not os.access(folder, os.W_OK):
        raise StoreError(f"The folder {folder} is not writable.")
    if (free := shutil.disk_usage(folder).free) < _LEAST_FREE:
        raise StoreError(f"The disk of {folder} has only {free // 1_000_000} MB left.")
    if not path.exists():
        return
    uri = f"{path.resolve().as_uri()}?mode=rw"
    with closing(
        sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    ) as file:
        file.execute("BEGIN IMMEDIATE")
        file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        file.execute("ROLLBACK")


def _require_writable_server(address: PostgresAddress) -> None:
    from treadle.database.postgres_connection import as_sqlite_errors, pool_of
    from treadle.database.postgres_tables import require_suitable
    from treadle.database.schema import Schema

    schema = Schema.of_migrations("stores", (), busy_seconds=_BUSY_SECONDS)
    with as_sqlite_errors(), closing(pool_of(address.url).take(address, schema)) as connection:
        row = connection.raw.execute("SELECT current_setting('transaction_read_only')").fetchone()
        if row is None or row[0] != "off":
            raise StoreError("The PostgreSQL server is a read-only copy, or set to be read-only.")
        require_suitable(connection)
