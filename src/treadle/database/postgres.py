"""Databases of records in PostgreSQL: one schema for each store of each project.

A row-level policy of every table compares the session setting `treadle.project` with the project
of the schema. A connection therefore reads rows of its own project only, even if a statement names
the schema of another project. The engine takes the setting from the address of the store, in
`PostgresDatabase.connect`, and nowhere else.

SQLite admits one writer at a time, and stores rely on it. `BEGIN IMMEDIATE` takes an advisory lock
of the schema, so transactions that write run one after another here too.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from treadle.database.address import PostgresAddress
from treadle.database.connection import Connection, transaction
from treadle.database.database import COPY_PROGRESS, UNFINISHED_COPY, Database
from treadle.database.postgres_connection import (
    PostgresConnection,
    as_sqlite_errors,
    lock_key,
    pool_of,
)
from treadle.database.postgres_functions import SCHEMA as SHARED
from treadle.database.postgres_tables import (
    READ_VERSION,
    StoredVersion,
    bypassing_role,
    columns,
    create_functions,
    create_store,
    is_current,
    protect_tables,
    run_ddl,
    set_version,
    stored_version,
    unprotected_tables,
)
from treadle.database.schema import Schema
from treadle.errors import StoreError, TreadleError
from treadle.owner_only import private_folder

_MAX_NAMED_TABLES = 3
_SCRATCH = "treadle_examination"
"""The schema in which `examine` creates tables for a comparison. It is always rolled back."""
_DENIED = "42501"
_IS_HELD = """
    SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (classid::bigint << 32 | objid::bigint) = %s)"""


class PostgresDatabase(Database):
    """The tables of one store of one project, in a schema of a PostgreSQL database."""

    def __init__(self, address: PostgresAddress, schema: Schema) -> None:
        super().__init__(schema)
        self.address = address

    @property
    def name(self) -> str:
        return f"the PostgreSQL schema {self.address.schema}"

    @property
    def folder(self) -> Path:
        return self.address.folder

    @property
    def machine(self) -> str:
        path = self.address.folder / "machine"
        if not path.exists():
            private_folder(path.parent)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
                file.write(uuid4().hex)
            with suppress(FileExistsError):  # another process has created it meanwhile
                os.link(file.name, path)
            Path(file.name).unlink()
        return path.read_text()

    @property
    def exists(self) -> bool:
        with self._used() as connection:
            return stored_version(connection).version > 0

    def open_connection(self) -> PostgresConnection:
        with as_sqlite_errors():
            connection = pool_of(self.address.url).take(self.address, self.schema)
            try:
                if not is_current(connection, self.schema):
                    self._upgrade(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def migrate(self) -> None:
        with self._used() as connection, as_sqlite_errors():
            self._upgrade(connection, oldest_tables=self.schema.version)

    def connect(self) -> PostgresConnection:
        with as_sqlite_errors():
            return pool_of(self.address.url).take(self.address, self.schema)

    def connect_reader(self) -> PostgresConnection:
        return self.connect()

    def read(self, connection: Connection, seconds: float) -> AbstractContextManager[None]:
        assert isinstance(connection, PostgresConnection)
        return connection.reads(seconds)

    def change_number(self, connection: Connection) -> None:
        assert isinstance(connection, PostgresConnection)

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        key = lock_key(f"{self.address.schema}/{name}")
        with self._used() as connection:  # no other holder uses this connection meanwhile
            with as_sqlite_errors():
                row = connection.raw.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone()
            held = row is not None and bool(row[0])
            try:
                yield held
            finally:
                if held and connection.is_alive:
                    with as_sqlite_errors():
                        connection.raw.execute("SELECT pg_advisory_unlock(%s)", (key,))

    def is_held(self, name: str) -> bool:
        key = lock_key(f"{self.address.schema}/{name}")
        with self._used() as connection, as_sqlite_errors():
            row = connection.raw.execute(_IS_HELD, (key,)).fetchone()
            return row is not None and bool(row[0])

    def size(self) -> int:
        with self._used() as connection:
            (size,) = connection.execute(
                "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
                " JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE n.nspname = ? AND c.relkind IN ('r', 'm')",
                (self.address.schema,),
            ).fetchone()
            return int(size)

    def examine(self) -> str | None:
        try:
            with self._used() as connection, as_sqlite_errors():
                stored = stored_version(connection)
                if stored.version == 0:
                    return None
                self._check_version(stored)
                return self._difference(connection, stored.version)
        except TreadleError as error:
            return error.message

    def _difference(self, connection: PostgresConnection, version: int) -> str | None:
        """Return why the tables do not fit the schema, or None if they fit."""
        if COPY_PROGRESS in columns(connection, self.address.schema):
            return UNFINISHED_COPY
        if tables := unprotected_tables(connection):
            return f"no row-level policy protects {_named(tables)}; run `treadle store migrate`"
        if version < self.schema.version:
            return None
        expected = self._expected_columns(connection)
        found = columns(connection, self.address.schema)
        if missing := sorted(expected.keys() - found.keys()):
            return f"it lacks {_named(missing)}"
        lacking = [f"{table}.{column}" for table in sorted(expected)
                   for column in sorted(expected[table] - found[table])]  # fmt: skip
        return f"it lacks the columns {', '.join(lacking[:_MAX_NAMED_TABLES])}" if lacking else None

    def _expected_columns(self, connection: PostgresConnection) -> Mapping[str, set[str]]:
        """Return the columns of the tables that the schema creates, without a lasting change."""
        connection.execute("BEGIN")
        try:
            run_ddl(connection, "CREATE SCHEMA {}", _SCRATCH)
            connection.raw.execute("SELECT set_config('search_path', %s, true)",
                                   (f"{_SCRATCH}, {SHARED}",))  # fmt: skip
            self.schema.upgrade(connection, 0)
            return columns(connection, _SCRATCH)
        finally:
            connection.rollback()

    def stored_version(self) -> int:
        with self._used() as connection, as_sqlite_errors():
            return stored_version(connection).version

    def exposure(self) -> str | None:
        with self._used() as connection, as_sqlite_errors():
            role = bypassing_role(connection)
        if role is None:
            return None
        return f"row-level security does not apply to the role {role}, which bypasses it"

    def error(self, reason: object) -> StoreError:
        hint = "Check that the server of the setting store.url runs and accepts this user."
        if getattr(getattr(reason, "__cause__", None), "sqlstate", None) == _DENIED:
            hint = (
                "Ask an administrator of the server to run `GRANT CREATE, TEMPORARY ON DATABASE …"
                " TO …` for this database and this user."
            )
        return StoreError(
            f"The {self.schema.records} in {self.name} cannot be read or written: {reason}.",
            hint=hint,
        )

    def is_usable(self, connection: Connection) -> bool:
        return isinstance(connection, PostgresConnection) and connection.is_alive

    def check_version(self, connection: Connection) -> None:
        assert isinstance(connection, PostgresConnection)
        with as_sqlite_errors():
            self._check_version(stored_version(connection))

    @contextmanager
    def write(self, connection: Connection) -> Iterator[None]:
        assert isinstance(connection, PostgresConnection)
        row = connection.begin(READ_VERSION).fetchone()
        try:
            self._check_version(StoredVersion(*row))
        except StoreError:
            connection.rollback()
            raise
        with connection.pipelined_transaction():
            yield

    def _check_version(self, stored: StoredVersion) -> None:
        if self.schema.version < stored.works_since:
            raise StoreError(
                f"A newer version of Treadle wrote the {self.schema.records} in {self.name}"
                f" (format {stored.version}).",
                hint="Update Treadle on this machine.",
            )

    @contextmanager
    def _used(self) -> Iterator[PostgresConnection]:
        try:
            with closing(self.connect()) as connection:
                yield connection
        except self._errors as error:
            raise self.error(error) from error

    def _upgrade(self, connection: PostgresConnection, oldest_tables: int | None = None) -> None:
        """Create the tables, or upgrade tables that are older than `oldest_tables`."""
        oldest = self.schema.oldest_tables if oldest_tables is None else oldest_tables
        self._check_version(stored_version(connection))
        _set_lock_timeout(connection, self.schema.upgrade_seconds)
        with transaction(connection):
            stored = stored_version(connection)  # another process may have upgraded it meanwhile
            self._check_version(stored)
            create_functions(connection)
            if stored.version == 0:
                create_store(connection)
            if stored.version < oldest:
                self.schema.upgrade(connection, stored.version)
                set_version(connection, self.schema)
            protect_tables(connection, self.address.project)
        _set_lock_timeout(connection, self.schema.busy_seconds)


def _set_lock_timeout(connection: PostgresConnection, seconds: float) -> None:
    connection.raw.execute(
        "SELECT set_config('lock_timeout', %s, false)", (f"{seconds * 1000:.0f}",)
    )


def _named(tables: list[str]) -> str:
    return f"the tables {', '.join(tables[:_MAX_NAMED_TABLES])}"
