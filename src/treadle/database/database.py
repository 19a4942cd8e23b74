"""What a store does with its database, on every engine."""

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from treadle.database.connection import Connection, transaction
from treadle.database.schema import Schema
from treadle.errors import StoreError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")

COPY_PROGRESS = "copy_progress"
"""A database has this table while a copy into the database is incomplete (`copying`)."""
UNFINISHED_COPY = "a copy into it has not been completed; run `treadle store copy` again"

_FILE_ERRORS: tuple[type[Exception], ...] = (sqlite3.Error, OSError, UnicodeError)
"""Exceptions that mean that the database or its data cannot be used.

UnicodeError occurs for lone surrogates, which SQLite cannot store.
"""


class Database(ABC):
    """One database that only its owner can read, opened or created at the first use.

    A lock admits one thread at a time. Any number of processes may open the same database. Methods
    raise StoreError when the database fails, unless their docstring states otherwise.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._errors = _FILE_ERRORS + schema.row_errors
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._depth = 0
        self._listeners: list[Callable[[], None]] = []
        self._thread: ThreadPoolExecutor | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the database in messages, without secrets."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The local folder for files that belong to the store, such as locks of this machine."""

    @property
    def machine(self) -> str:
        """The id of this machine if several machines can share the database, otherwise empty.

        A record about a local file contains this id.
        """
        return ""

    @property
    @abstractmethod
    def exists(self) -> bool:
        """Whether the database has been created. A database is created at its first use."""

    @abstractmethod
    def open_connection(self) -> Connection:
        """Open a connection. Creates or upgrades the tables if necessary.

        Raises sqlite3.Error or OSError on failure. Raises StoreError if another program or a newer
        version of Treadle wrote the database.
        """

    @abstractmethod
    def migrate(self) -> None:
        """Upgrade the tables to the version of this code. Creates them if necessary.

        `open_connection` does not upgrade tables that servers of an older version still use
        (`Schema.works_since`).
        """

    @abstractmethod
    def connect(self) -> Connection:
        """Open another connection to the database, whose tables must be up to date.

        Raises sqlite3.Error.
        """

    @abstractmethod
    def connect_reader(self) -> Connection:
        """Open another connection that only reads stored tables. Raises sqlite3.Error."""

    def is_usable(self, connection: Connection) -> bool:  # noqa: ARG002  (for engines with a server)
        """Whether a connection that no statement uses can be used again."""
        return True

    @abstractmethod
    def read(self, connection: Connection, seconds: float) -> AbstractContextManager[None]:
        """Run a block that sees one state of the database.

        `connection` comes from `connect_reader`. A statement that still runs after `seconds` is
        cancelled and raises sqlite3.Error.
        """

    @abstractmethod
    def change_number(self, connection: Connection) -> int | None:
        """Return a number that changes when another connection changes the database.

        The result is None if the engine has no such number.
        """

    @abstractmethod
    def hold(self, name: str) -> AbstractContextManager[bool]:
        """Hold the lock `name` while the context is active.

        The value of the context is whether the lock is held. It is False if another holder, in this
        process or another one, already has the lock. The lock ends with its process.
        """

    @abstractmethod
    def is_held(self, name: str) -> bool:
        """Whether a process holds the lock `name`."""

    @abstractmethod
    def size(self) -> int:
        """Return the bytes of the database on disk, or 0 if it does not exist."""

    @abstractmethod
    def check_version(self, connection: Connection) -> None:
        """Raise StoreError if a newer version of Treadle has upgraded the tables by now."""

    @contextmanager
    def write(self, connection: Connection) -> Iterator[None]:
        """Run a block in a transaction on tables that this version of Treadle can use.

        PostgreSQL may run a statement of the block later than its call: when the block reads rows,
        or at its end. So a later call can raise the error, and `rowcount` is not known. Raises
        StoreError if a newer version of Treadle has upgraded the tables.
        """
        with transaction(connection):
            self.check_version(connection)
            yield

    @abstractmethod
    def examine(self) -> str | None:
        """Examine the whole database, and return the reason why it cannot be used.

        Returns None if the database can be used or does not exist.
        """

    @abstractmethod
    def stored_version(self) -> int:
        """Return the version of the tables, or 0 if the database does not exist."""

    def exposure(self) -> str | None:
        """Return why other projects could read the records of this project, or None."""
        return None

    @abstractmethod
    def error(self, reason: object) -> StoreError:
        """Return a StoreError for the database. `reason` is why it cannot be used."""

    def open(self) -> Self:
        """Open the database now, not at the first use, so that failures are reported early."""
        with self.use():
            return self

    def close(self) -> None:
        """Close the database. A second call has no effect."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """Yield the connection. Other threads wait until the block ends.

        If the server has closed the connection, the block gets a new one. A block inside another
        block of this thread keeps the connection, because the outer block may be in a transaction.
        """
        with self._lock:
            self._depth += 1
            try:
                if self._connection is not None and self._depth == 1:
                    self._drop_unusable(self._connection)
                if self._connection is None:
                    self._connection = self.open_connection()
                yield self._connection
            except self._errors as error:
                raise self.error(error) from error
            finally:
                self._depth -= 1

    def _drop_unusable(self, connection: Connection) -> None:
        if not self.is_usable(connection):
            self._connection = None
            connection.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield the connection in a transaction. Other threads wait until the block ends."""
        with self.use() as connection, transaction(connection):
            yield connection
        for listener in self._listeners:
            listener()

    def on_commit(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each commit of `transaction`, in the thread of the commit."""
        self._listeners.append(listener)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in the thread of this database, and return its result.

        Calls run one after another. The work is completed even if the caller is cancelled.
        """
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        def job() -> T:
            with self.use() as connection:
                return work(connection)

        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix=self.schema.records)
        # Without the shield, a cancelled caller would remove the work from the thread's queue.
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, job))

    async def aclose(self) -> None:
        """Complete the work of the thread, then close the database and end the thread."""
        import asyncio

        thread, self._thread = self._thread, None
        if thread is None:
            self.close()
            return
        try:
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(thread, self.close))
        finally:
            thread.shutdown(wait=False)
