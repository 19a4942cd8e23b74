"""The SQLite file of the conversations: its shape, and how it is opened and changed."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treadle.errors import StoreError

_BUSY_SECONDS = 10.0
"""How long a statement waits for another process."""

_MIGRATIONS = (
    """
    CREATE TABLE conversations (
        id TEXT PRIMARY KEY,
        root TEXT NOT NULL,
        model TEXT NOT NULL,
        title TEXT NOT NULL,
        created_us INTEGER NOT NULL,
        updated_us INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX conversations_by_root ON conversations (root, updated_us);
    CREATE TABLE messages (
        conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        stop_reason TEXT,
        PRIMARY KEY (conversation_id, position)
    ) STRICT, WITHOUT ROWID;
    """,
    # A tree: `position` is the number of a message, `head` that of the end of the branch in use.
    """
    ALTER TABLE messages ADD COLUMN parent INTEGER;
    ALTER TABLE messages ADD COLUMN state TEXT NOT NULL DEFAULT 'completed';
    UPDATE messages SET parent = position - 1 WHERE position > 0;
    ALTER TABLE conversations ADD COLUMN head INTEGER;
    UPDATE conversations SET head =
        (SELECT max(position) FROM messages WHERE conversation_id = conversations.id);
    """,
)
"""Migration n brings a file from `user_version` n to n + 1. Never edited, only added to."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the file at `path`, which is made or brought to the present shape.

    Readable for its owner alone. Raises sqlite3.Error, OSError, and StoreError for a file of a
    newer version.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
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
            f"The conversations in {path} were written by a newer version of Treadle.",
            hint="Update Treadle, or set TREADLE_HOME to another folder.",
        )
    for number in range(version, len(_MIGRATIONS)):
        # The version is read again under the lock: another process may have been quicker.
        with transaction(connection):
            if connection.execute("PRAGMA user_version").fetchone() == (number,):
                for statement in filter(str.strip, _MIGRATIONS[number].split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number + 1}")
