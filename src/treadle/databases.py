"""What all SQLite files of Treadle share: the write-ahead log, transactions, migrations.

Imports stay light: a search opens one.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from treadle.errors import StoreError

_SWITCH_SECONDS = 10.0
_PAUSE_SECONDS = 0.01
_SHOWN = 3
"""Missing tables that are named."""


def use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a file to WAL. Raises sqlite3.OperationalError when it is busy for ten seconds.

    SQLite waits for nobody at this one change, whatever its busy time-out, so two processes that
    both make a new file would meet "database is locked".
    """
    deadline = time.monotonic() + _SWITCH_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


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


def migrate(
    connection: sqlite3.Connection, migrations: Sequence[str], path: Path, what: str
) -> None:
    """Bring a file to the present shape: migration n takes its `user_version` from n to n + 1.

    Raises StoreError for a file of a version that is not known; `what` says what it holds.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < 0:
        raise StoreError(
            f"The {what} in {path} were not written by Treadle (form {version}).",
            hint=(
                "Move the file away, and Treadle creates a new one; or set TREADLE_HOME to "
                "another folder."
            ),
        )
    if version > len(migrations):
        raise StoreError(
            f"The {what} in {path} were written by a newer version of Treadle.",
            hint="Update Treadle, or set TREADLE_HOME to another folder.",
        )
    for number in range(version, len(migrations)):
        # The version is read again under the lock: another process may have been quicker.
        with transaction(connection):
            if connection.execute("PRAGMA user_version").fetchone() == (number,):
                for statement in filter(str.strip, migrations[number].split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number + 1}")


def why_unusable(connection: sqlite3.Connection, sound: sqlite3.Connection) -> str | None:
    """How a file differs from a `sound` one that was just made; None where it can be used.

    A file of an older version can be used: it is brought to the present shape when it is opened.
    """
    (version,), (present,) = (
        each.execute("PRAGMA user_version").fetchone() for each in (connection, sound)
    )
    if version > present:
        return f"a newer version of Treadle wrote it (form {version}); update Treadle"
    if version < 0:
        return f"it was not written by Treadle (form {version})"
    if version < present:
        return None
    lacking = sorted(_tables(sound) - _tables(connection))
    return f"it lacks the tables {', '.join(lacking[:_SHOWN])}" if lacking else None


def _tables(connection: sqlite3.Connection) -> set[str]:
    names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return {name for (name,) in connection.execute(names)}
