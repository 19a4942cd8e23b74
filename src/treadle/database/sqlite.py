"""SQLite files: permissions, the write-ahead log, locks, migrations and examinations."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from treadle.database.connection import Connection, transaction
from treadle.database.database import COPY_PROGRESS, UNFINISHED_COPY, Database
from treadle.database.schema import Schema
from treadle.errors import StoreError, TreadleError
from treadle.owner_only import SIDECARS, close_to_others, private_file
from treadle.paths import usable_folder

_SWITCH_SECONDS = 10.0
_PAUSE_SECONDS = 0.01
_EXAMINE_SECONDS = 5.0
_MAX_NAMED_TABLES = 3
_LOOK_EVERY = 10_000
"""The number of SQLite's instructions between two checks of a deadline."""


class SqliteDatabase(Database):
    """One SQLite file that only its owner can read."""

    def __init__(self, path: Path, schema: Schema) -> None:
        super().__init__(schema)
        self.path = path

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def exists(self) -> bool:
        return self.path.exists()

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
            if not self.schema.is_cache:
                raise
            self.delete()
            return self._prepared()

    def migrate(self) -> None:
        self.open()

    def connect(self, *, read_only: bool = False) -> sqlite3.Connection:
        """Open another connection to the file, whose tables must be up to date.

        Raises sqlite3.Error.
        """
        schema = self.schema
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

    def connect_reader(self) -> sqlite3.Connection:
        connection = self.connect()
        connection.execute("PRAGMA query_only = 1")
        return connection

    @contextmanager
    def read(self, connection: Connection, seconds: float) -> Iterator[None]:
        assert isinstance(connection, sqlite3.Connection)
        deadline = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _LOOK_EVERY)
        try:
            connection.execute("BEGIN")
            yield
        finally:
            connection.set_progress_handler(None, 0)
            with suppress(sqlite3.Error):
                connection.rollback()

    def change_number(self, connection: Connection) -> int:
        (number,) = connection.execute("PRAGMA data_version").fetchone()
        return int(number)

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        from treadle.file_lock import lock_file, unlock_file

        path = self._lock_path(name)
        file = lock_file(path)
        try:
            yield file is not None
        finally:
            if file is not None:
                unlock_file(path, file)

    def is_held(self, name: str) -> bool:
        if not self._lock_path(name).exists():
            return False
        with self.hold(name) as held:
            return not held

    def _lock_path(self, name: str) -> Path:
        return self.path.with_name(f"{self.path.name}.running") / name

    def size(self) -> int:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

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

    def stored_version(self) -> int:
        if not self.path.exists():
            return 0
        try:
            with closing(self.connect(read_only=True)) as connection:
                return _version(connection)
        except sqlite3.Error as error:
            raise self.error(error) from error

    def error(self, reason: object) -> StoreError:
        """Return a StoreError for the file. `reason` is the reason why the file cannot be used."""
        return StoreError(
            f"The {self.schema.records} in {self.path} cannot be read or written: {reason}.",
            hint="Check the file, its permissions and the free space. If you move the file away, "
            "Treadle creates a new one.",
        )

    def _prepared(self) -> sqlite3.Connection:
        if not self.schema.is_cache:
            usable_folder(self.path.parent, "data")
        private_file(self.path)
        connection = self.connect()
        try:
            version = _version(connection)
            if version == 0:
                for pragma in self.schema.file_pragmas:
                    connection.execute(f"PRAGMA {pragma}")
            _use_write_ahead_log(connection)
            if version != self.schema.version:
                self._upgrade(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        schema = self.schema
        self._check_version(_version(connection))
        connection.execute(f"PRAGMA busy_timeout = {schema.upgrade_seconds * 1000:.0f}")
        with transaction(connection):
            version = _version(connection)  # another process may have upgraded the file meanwhile
            self._check_version(version)
            if version != schema.version:
                schema.upgrade(connection, version)
                connection.execute(f"PRAGMA user_version = {schema.version}")
        connection.execute(f"PRAGMA busy_timeout = {schema.busy_seconds * 1000:.0f}")

    def check_version(self, connection: Connection) -> None:
        """Raise StoreError if a newer version of Treadle has upgraded the file meanwhile."""
        self._check_version(_version(connection))

    def _check_version(self, version: int) -> None:
        if self.schema.is_cache or 0 <= version <= self.schema.version:
            return
        content = f"the {self.schema.records} in {self.path} (format {version})"
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
        if version > self.schema.version:
            return f"a newer version of Treadle wrote it (format {version}); update Treadle"
        if version < 0:
            return f"Treadle did not write it (format {version})"
        if COPY_PROGRESS in _tables(connection):
            return UNFINISHED_COPY
        if version < self.schema.version:
            return None
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as sound:
            self.schema.upgrade(sound, 0)
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


def _version(connection: Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _tables(connection: sqlite3.Connection) -> set[str]:
    names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return {name for (name,) in connection.execute(names)}
