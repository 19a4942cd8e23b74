"""The SQLite file of the proposals: its shape, and how it is opened and changed."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treadle.errors import StoreError

_BUSY_SECONDS = 10.0
"""How long a statement waits for another process."""

_MIGRATIONS = (
    """
    CREATE TABLE proposals (
        id TEXT PRIMARY KEY,
        root TEXT NOT NULL,
        state TEXT NOT NULL,
        summary TEXT NOT NULL,
        changes BLOB NOT NULL,
        created_us INTEGER NOT NULL,
        changed_us INTEGER NOT NULL,
        request_id TEXT,
        turn INTEGER NOT NULL,
        slot INTEGER NOT NULL,
        session_id TEXT,
        denied TEXT NOT NULL,
        words TEXT,
        reason TEXT,
        notes TEXT NOT NULL,
        made BLOB,
        written TEXT
    ) STRICT;
    CREATE INDEX proposals_by_root ON proposals (root, created_us);
    CREATE TABLE journal (
        proposal_id TEXT PRIMARY KEY REFERENCES proposals (id) ON DELETE CASCADE,
        root TEXT NOT NULL,
        goal TEXT NOT NULL,
        changes BLOB NOT NULL,
        written TEXT NOT NULL,
        temporaries TEXT NOT NULL
    ) STRICT;
    """,
)
"""Migration n brings a file from `user_version` n to n + 1. Never edited, only added to."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the file at `path`, which is made or brought to the present shape.

    Readable for its owner alone; any thread may use it, one at a time. A commit is on the disk
    when it returns, since files are written on its word. Raises sqlite3.Error, OSError, and
    StoreError for a file of a newer version.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All or nothing. The lock is taken at once, so that waiting for it can time out cleanly."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends some failed ones itself
            connection.execute("ROLLBACK")
        raise


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(_MIGRATIONS):
        raise StoreError(
            f"The proposals in {path} were written by a newer version of Treadle.",
            hint="Update Treadle, or set TREADLE_HOME to another folder.",
        )
    for number in range(version, len(_MIGRATIONS)):
        # The version is read again under the lock: another process may have been quicker.
        with transaction(connection):
            if connection.execute("PRAGMA user_version").fetchone() == (number,):
                for statement in filter(str.strip, _MIGRATIONS[number].split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number + 1}")
