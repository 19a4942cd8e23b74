"""SQLite files: permissions, the write-ahead log, locks, transactions, migrations and errors.

This module imports little, because every code search opens a SQLite file.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from treadle.errors import StoreError, TreadleError
from treadle.owner_only import SIDECARS, close_to_others, private_file

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")

_SWITCH_SECONDS = 10.0
_PAUSE_SECONDS = 0.01
_EXAMINE_SECONDS = 5.0
_MAX_NAMED_TABLES = 3
_FILE_ERRORS: tuple[type[Exception], ...] = (sqlite3.Error, OSError, UnicodeError)
"""Exceptions that mean that the file or its data cannot be used.

UnicodeError occurs for lone surrogates, which SQLite cannot store.
"""

Migration = str | Callable[[sqlite3.Connection], None]
"""A migration: SQL statements, or a function that changes the tables."""

DURABLE = ("synchronous = FULL", "foreign_keys = ON")
"""SQLite settings (pragmas) with which a commit survives a loss of power."""
FAST = ("synchronous = NORMAL", "foreign_keys = ON")
"""SQLite settings (pragmas) with which a commit survives a crash of the process.

A loss of power may undo the last commits.
"""


class Schema(NamedTuple):
    """The tables of one kind of file, and the settings of its connections."""

    records: str
    """The name of the file's content in messages, such as "conversations"."""
    version: int
    """The `user_version` of a file that is up to date."""
    upgrade: Callable[[sqlite3.Connection, int], None]
    """Upgrades the tables from an older version in a transaction. Version 0 is an empty file."""
    pragmas: tuple[str, ...] = DURABLE
    file_pragmas: tuple[str, ...] = ()
    """SQLite settings (pragmas) that take effect only before the first table is created."""
    busy_seconds: float = 10.0
    """The seconds that a statement waits for the lock of another process."""
    upgrade_seconds: float = 10.0
    """The seconds that `open_connection` waits while another process upgrades the file."""
    cached_statements: int = 128
    is_cache: bool = False
    """Whether the file can be rebuilt.

    If it can be rebuilt, a damaged file is deleted, and `upgrade` accepts any version.
    """
    row_errors: tuple[type[Exception], ...] = ()
    """Further errors that mean that a row is damaged."""

    @classmethod
    def of_migrations(
        cls,
        records: str,
        migrations: Sequence[Migration],
        *,
        pragmas: tuple[str, ...] = DURABLE,
        busy_seconds: float = 10.0,
        row_errors: tuple[type[Exception], ...] = (),
    ) -> Self:
        """Return a schema whose migration n upgrades a file from version n to n + 1."""

        def upgrade(connection: sqlite3.Connection, version: int) -> None:
            for migration in migrations[version:]:
                if callable(migration):
                    migration(connection)
                else:
                    for statement in filter(str.strip, migration.split(";")):
                        connection.execute(statement)

        return cls(
            records,
            len(migrations),
            upgrade,
            pragmas=pragmas,
            busy_seconds=busy_seconds,
            row_errors=row_errors,
        )


class Database:
    """One SQLite file that only its owner can read, opened or created at the first use.

    A lock admits one thread at a time. Any number of processes may open the same file. Methods
    raise StoreError when the file fails, unless their docstring states otherwise.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self.path = path
        self._schema = schema
        self._errors = _FILE_ERRORS + schema.row_errors
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._thread: ThreadPoolExecutor | None = None

    def open(self) -> Self:
        """Open the file now instead of at the first use, so that a failure is reported early."""
        with self.use():
            return self

    def close(self) -> None:
        """Close the file. A second call has no effect."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection. Other threads wait until the block ends."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self.open_connection()
                yield self._connection
            except self._errors as error:
                raise self.error(error) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction. Other threads wait until the block ends."""
        with self.use() as connection, transaction(connection):
            yield connection

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in the thread of this file, and return its result.

        Calls run one after another. The work is completed even if the caller is cancelled.
        """
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        def job() -> T:
            with self.use() as connection:
                return work(connection)

        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix=self.path.stem)
        # Without the shield, a cancelled caller would remove the work from the thread's queue.
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, job))

    async def aclose(self) -> None:
        """Complete the work of the thread, then close the file and end the thread."""
        import asyncio

        thread, self._thread = self._thread, None
        if thread is None:
            self.close()
            return
        try:
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(thread, self.close))
        finally:
            thread.shutdown(wait=False)

    def open_connection(self) -> sqlite3.Connection:
        """Open a connection to the file. Creates or upgrades the file if necessary.

        Raises sqlite3.Error or OSError on failure. Raises StoreError if another program or a newer
        version of Treadle wrote the file.
        """
        try:
            return self._prepared()
        except sqlite3.OperationalError:
            raise  # the file is locked or cannot be reached, but it may be sound
        except sqlite3.DatabaseError:
            if not self._schema.is_cache:
                raise
            self.delete()
            return self._prepared()

    def connect(self, *, read_only: bool = False) -> sqlite3.Connection:
        """Open another connection to the file, whose tables must be up to date.

        Raises sqlite3.Error.
        """
        schema = self._schema
        connection = sqlite3.connect(
            f"{self.path.resolve().as_uri()}?mode=ro" if read_only else self.path,
            uri=read_only,
            timeout=schema.busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=schema.cached_statements,
        )
        try:
            for pragma in () if read_only else schema.pragmas:
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    def delete(self) -> None:
        """Delete the file. Processes that have it open can still use it."""
        for ending in ("", *SIDECARS):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    def examine(self) -> str | None:
        """Read the whole file, and return the reason why it cannot be used.

        Returns None if the file can be used or does not exist.
        """
        if not self.path.exists():
            return "it is a broken link" if self.path.is_symlink() else None
        try:
            close_to_others(self.path)
            with closing(self.connect(read_only=True)) as connection:
                connection.execute(f"PRAGMA busy_timeout = {_EXAMINE_SECONDS * 1000:.0f}")
                (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if found != "ok":
                    return str(found).replace("\n", " ")
                reason = self._difference(connection)
        except TreadleError as error:
            return error.message
        except (OSError, sqlite3.Error) as error:
            return str(error)
        if reason is None and not os.access(self.path, os.W_OK):
            return "it is not writable; run `chmod u+w` on it"
        return reason

    def error(self, reason: object) -> StoreError:
        """Return a StoreError for the file. `reason` is the reason why the file cannot be used."""
        return StoreError(
            f"The {self._schema.records} in {self.path} cannot be read or written: {reason}.",
            hint="Check the file, its permissions and the free space. If you move the file away, "
            "Treadle creates a new one.",
        )

    def _prepared(self) -> sqlite3.Connection:
        private_file(self.path)
        connection = self.connect()
        try:
            version = _version(connection)
            if version == 0:
                for pragma in self._schema.file_pragmas:
                    connection.execute(f"PRAGMA {pragma}")
            _use_write_ahead_log(connection)
            if version != self._schema.version:
                self._upgrade(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        schema = self._schema
        self._check_version(_version(connection))
        connection.execute(f"PRAGMA busy_timeout = {schema.upgrade_seconds * 1000:.0f}")
        with transaction(connection):
            version = _version(connection)  # another process may have upgraded the file meanwhile
            self._check_version(version)
            if version != schema.version:
                schema.upgrade(connection, version)
                connection.execute(f"PRAGMA user_version = {schema.version}")
        connection.execute(f"PRAGMA busy_timeout = {schema.busy_seconds * 1000:.0f}")

    def check_version(self, connection: sqlite3.Connection) -> None:
        """Raise StoreError if a newer version of Treadle has upgraded the file meanwhile."""
        self._check_version(_version(connection))

    def _check_version(self, version: int) -> None:
        if self._schema.is_cache or 0 <= version <= self._schema.version:
            return
        content = f"the {self._schema.records} in {self.path} (format {version})"
        if version < 0:
            raise StoreError(
                f"Treadle did not write {content}.",
                hint="Move the file away, and Treadle creates a new one; or set TREADLE_HOME to "
                "another folder.",
            )
        raise StoreError(
            f"A newer version of Treadle wrote {content}.",
            hint="Update Treadle, or set TREADLE_HOME to another folder.",
        )

    def _difference(self, connection: sqlite3.Connection) -> str | None:
        """Return why the file does not fit the schema, or None if it fits.

        A file with an older version of the schema fits.
        """
        version = _version(connection)
        if version > self._schema.version:
            return f"a newer version of Treadle wrote it (format {version}); update Treadle"
        if version < 0:
            return f"Treadle did not write it (format {version})"
        if version < self._schema.version:
            return None
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as sound:
            self._schema.upgrade(sound, 0)
            missing = sorted(_tables(sound) - _tables(connection))
        named = ", ".join(missing[:_MAX_NAMED_TABLES])
        return f"it lacks the tables {named}" if missing else None


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a file to WAL. Raises sqlite3.OperationalError if it stays locked for ten seconds.

    SQLite ignores the busy time-out for this statement, so this function retries it. Without
    retries, one of two processes that create the same file would fail with "database is locked".
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
    """Run the block in a transaction: all its statements are committed, or none.

    The transaction takes the write lock at its beginning. SQLite waits there for another process
    until the busy time-out. A lock that is taken later can fail without a wait.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends some failed transactions itself
            connection.execute("ROLLBACK")
        raise


def storable_text(text: str) -> str:
    """Escape the lone surrogates in `text`, since SQLite cannot store them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def ids_with_prefix(
    connection: sqlite3.Connection,
    table: str,
    prefix: str,
    limit: int,
    *,
    where: str = "1",
    values: Sequence[object] = (),
) -> list[str]:
    """Return at most `limit` ids of a table that begin with `prefix`, in order.

    `where` is a further SQL condition on the rows.
    """
    rows = connection.execute(
        f"SELECT id FROM {table} WHERE id >= ? AND id < ? || char(0x10FFFF) AND {where}"  # noqa: S608  (constants)
        " ORDER BY id LIMIT ?",
        (storable_text(prefix), storable_text(prefix), *values, limit),
    )
    return [identity for (identity,) in rows]


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _tables(connection: sqlite3.Connection) -> set[str]:
    names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return {name for (name,) in connection.execute(names)}
