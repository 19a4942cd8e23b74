"""The SQLite file of the conversations: its shape, and how it is opened."""

import sqlite3
from pathlib import Path

from treadle.databases import migrate, use_write_ahead_log
from treadle.owner_only import private_file

_BUSY_SECONDS = 10.0
"""How long a statement waits for another process."""

MIGRATIONS = (
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
    # `agent`: whose it is, null for the assistant's; `about`: what its last question was about.
    """
    ALTER TABLE conversations ADD COLUMN agent TEXT;
    ALTER TABLE conversations ADD COLUMN about TEXT NOT NULL DEFAULT '';
    ALTER TABLE messages ADD COLUMN request_id TEXT;
    """,
)
"""Migration n brings a file from `user_version` n to n + 1. Never edited, only added to."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the file at `path`, which is made or brought to the present shape.

    Readable for its owner alone. Raises sqlite3.Error, OSError, and StoreError for a file of a
    newer version.
    """
    private_file(path)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection, MIGRATIONS, path, "conversations")
    except BaseException:
        connection.close()
        raise
    return connection
