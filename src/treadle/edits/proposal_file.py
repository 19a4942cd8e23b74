"""The SQLite file of the proposals: its shape, and how it is opened."""

import sqlite3
from pathlib import Path

from treadle.databases import migrate, use_write_ahead_log
from treadle.owner_only import private_file

_BUSY_SECONDS = 10.0
"""How long a statement waits for another process."""

MIGRATIONS = (
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
    "ALTER TABLE proposals ADD COLUMN undone TEXT NOT NULL DEFAULT '[]';",
    "ALTER TABLE proposals ADD COLUMN warnings TEXT NOT NULL DEFAULT '[]';",
)
"""Migration n brings a file from `user_version` n to n + 1. Never edited, only added to."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the file at `path`, which is made or brought to the present shape.

    Readable for its owner alone; any thread may use it, one at a time. A commit is on the disk
    when it returns, since files are written on its word. Raises sqlite3.Error, OSError, and
    StoreError for a file of a newer version.
    """
    private_file(path)
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection, MIGRATIONS, path, "proposals")
    except BaseException:
        connection.close()
        raise
    return connection
