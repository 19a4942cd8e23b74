"""Connections to the database of spans: a pool of readers, and the write-ahead log."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from treadle.database import Connection, Database
from treadle.database.sqlite import SqliteDatabase
from treadle.errors import StoreError

INCREMENTAL = 2
"""The value of `auto_vacuum` for a file that can return free pages to the file system."""

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
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """Open a connection that sees one state of the store.

        A query is cancelled at the deadline. Any failure becomes a StoreError.
        """
        deadline = time.monotonic() + self._seconds
        try:
            connection = self._take()
            try:
                with self._database.read(connection, self._seconds):
                    yield connection
            finally:
                self._give_back(connection)
        except sqlite3.Error as error:
            late = time.monotonic() > deadline
            reason = f"it took more than {self._seconds:g} s" if late else str(error)
            hint = self._database.error(error).hint
            if late:
                hint = "Request fewer spans, for example with since:7d."
            raise StoreError(f"The trace store cannot be read: {reason}.", hint=hint) from error

    def close(self) -> None:
        """Close the connections. A connection in use is closed when its thread returns it."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            if idle is None:
                return self._database.connect_reader()
            if self._database.is_usable(idle):
                return idle
            idle.close()

    def _give_back(self, connection: Connection) -> None:
        if not connection.in_transaction:
            with self._lock:
                if not self._closed and len(self._idle) < _MAX_IDLE_CONNECTIONS:
                    self._idle.append(connection)
                    return
        connection.close()


class LogKeeper:
    """Moves committed pages from the write-ahead log into the file, after the commit is announced.

    SQLite cannot truncate the log while a reader uses an old state. When the log is large, the
    writer waits for the current readers, which have deadlines, and truncates it.

    Other engines have no such log, so the methods do nothing.
    """

    def __init__(self, database: Database) -> None:
        self._log: Path | None = None
        if isinstance(database, SqliteDatabase):
            self._log = database.path.with_name(database.path.name + "-wal")
        self._written = 0

    def keep_small(self, connection: Connection, size: int) -> None:
        """Record that about `size` bytes were committed. From time to time, empty the log."""
        self._written += size
        if self._written < _CHECKPOINT_BYTES:
            return
        self.empty(connection)

    def empty(self, connection: Connection) -> None:
        """Move the pages that no reader needs from the log into the file."""
        self._written = 0
        if self._log is None:
            return
        with suppress(
            OSError, sqlite3.Error
        ):  # if this fails, the log grows, and the next attempt may succeed
            large = self._log.stat().st_size / _LARGE_LOG
            if large > 1:  # the wait grows with the log, up to the deadline of a reader
                empty_log(connection, min(int(_WAIT_MS * large**2), _LONGEST_WAIT_MS))
            else:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def empty_log(connection: Connection, wait_ms: int) -> bool:
    """Truncate the log. Returns False if a reader still needs the log after `wait_ms`."""
    before = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
    try:
        blocked = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute(f"PRAGMA busy_timeout = {before}")
    return not blocked
