"""Connections to the database of spans: a pool of readers, and the write-ahead log."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from treadle.database import Database
from treadle.errors import StoreError

INCREMENTAL = 2
"""The value of `auto_vacuum` for a file that can return free pages to the file system."""

_LOOK_EVERY = 10_000
_MAX_IDLE_CONNECTIONS = 4
_CHECKPOINT_BYTES = 4_000_000
_LARGE_LOG = 64_000_000
_WAIT_MS = 200
_LONGEST_WAIT_MS = 11_000


class Readers:
    """Connections that only read, each used by one thread at a time."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self._seconds = seconds
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """Open a connection that sees one state of the file.

        A query is cancelled at the deadline. Any failure becomes a StoreError.
        """
        deadline = time.monotonic() + self._seconds
        try:
            connection = self._take()
            try:
                connection.set_progress_handler(lambda: time.monotonic() > deadline, _LOOK_EVERY)
                connection.execute("BEGIN")
                yield connection
            finally:
                self._give_back(connection)
        except sqlite3.Error as error:
            late = time.monotonic() > deadline
            reason = f"it took more than {self._seconds:g} s" if late else str(error)
            hint = (
                "Try again. If the error remains, move the file away; Treadle then creates a new"
                " one. `treadle doctor` prints its path."
            )
            if late:
                hint = "Request fewer spans, for example with since:7d."
            raise StoreError(f"The trace store cannot be read: {reason}.", hint=hint) from error

    def close(self) -> None:
        """Close the connections. A connection in use is closed when its thread returns it."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        connection = self._database.connect()
        connection.execute("PRAGMA query_only = 1")
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        connection.set_progress_handler(None, 0)
        with suppress(sqlite3.Error):
            connection.rollback()
            with self._lock:
                if not self._closed and len(self._idle) < _MAX_IDLE_CONNECTIONS:
                    self._idle.append(connection)
                    return
        connection.close()


class LogKeeper:
    """Moves committed pages from the write-ahead log into the file, after the commit is announced.

    SQLite cannot truncate the log while a reader uses an old state. When the log is large, the
    writer waits for the current readers, which have deadlines, and truncates it.

    """

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(path.name + "-wal")
        self._written = 0

    def keep_small(self, connection: sqlite3.Connection, size: int) -> None:
        """Record that about `size` bytes were committed. From time to time, empty the log."""
        self._written += size
        if self._written < _CHECKPOINT_BYTES:
            return
        self.empty(connection)

    def empty(self, connection: sqlite3.Connection) -> None:
        """Move the pages that no reader needs from the log into the file."""
        self._written = 0
        with suppress(
            OSError, sqlite3.Error
        ):  # if this fails, the log grows, and the next attempt may succeed
            large = self._log.stat().st_size / _LARGE_LOG
            if large > 1:  # the wait grows with the log, up to the deadline of a reader
                empty_log(connection, min(int(_WAIT_MS * large**2), _LONGEST_WAIT_MS))
            else:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def empty_log(connection: sqlite3.Connection, wait_ms: int) -> bool:
    """Truncate the log. Returns False if a reader still needs the log after `wait_ms`."""
    before = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
    try:
        blocked = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout = {before}")
    return not blocked
