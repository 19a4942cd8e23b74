"""Databases of records in PostgreSQL: one schema for each store of each project.

A row-level policy of every table compares the session setting `treadle.project` with the project
of the schema. A connection therefore reads rows of its own project only, even if a statement names
the schema of another project. The engine takes the setting from the address of the store, in
`PostgresDatabase.connect`, and nowhere else.

SQLite admits one writer at a time, and stores rely on it. `BEGIN IMMEDIATE` takes an advisory lock
of the schema, so transactions that write run one after another here too.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from treadle.database.address import PostgresAddress
from treadle.database.connection import Connection, Cursor, transaction
from treadle.database.database import Database
from treadle.database.dialect import translated
from treadle.database.schema import Schema
from treadle.errors import StoreError, TreadleError

try:
    import psycopg
    from psycopg.sql import SQL, Identifier, Literal
except ImportError as error:
    raise StoreError(
        "The setting store.url names a PostgreSQL database, but psycopg is not installed.",
        hint="Run `pip install 'treadle[team]'`, or remove the setting.",
    ) from error

from treadle.database.postgres_functions import FUNCTIONS
from treadle.database.postgres_functions import SCHEMA as SHARED
from treadle.database.postgres_functions import VERSION as FUNCTIONS_VERSION
from treadle.database.postgres_values import adapt

_CONNECT_SECONDS = 10
_MAX_IDLE = 16
_MAX_NAMED_TABLES = 3
_VERSION_TABLE = "schema_version"
_PROJECT = "treadle.project"

_Parameters = Sequence[Any] | Mapping[str, Any]


class PostgresConnection:
    """A connection that translates the SQL of stores, and raises the errors of `sqlite3`."""

    def __init__(self, raw: "psycopg.Connection[tuple[Any, ...]]", pool: "_Pool") -> None:
        self.raw = raw
        self._pool = pool
        self.schema = ""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        idle = psycopg.pq.TransactionStatus.IDLE
        return not self.raw.closed and self.raw.info.transaction_status is not idle

    def execute(self, sql: str, parameters: _Parameters = (), /) -> Cursor:
        """Run a statement in the dialect of SQLite."""
        statement = translated(sql)
        values: Any = parameters
        if statement.positions is not None:
            assert not isinstance(parameters, Mapping)
            values = [parameters[position] for position in statement.positions]
        with _as_sqlite_errors():
            cursor = self.raw.execute(statement.sql, values)
            if sql == "BEGIN IMMEDIATE":
                self.raw.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self.schema,))
        return _Rows(cursor)

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Cursor:
        """Run a statement for each sequence of parameters."""
        statement = translated(sql)
        rows: Iterable[Sequence[Any]] = parameters
        if (positions := statement.positions) is not None:
            rows = [[row[position] for position in positions] for row in parameters]
        cursor = self.raw.cursor()
        with _as_sqlite_errors():
            cursor.executemany(statement.sql, rows)
        return _Rows(cursor)

    def rollback(self) -> None:
        """End the open transaction, if there is one, without its changes."""
        with _as_sqlite_errors():
            if self.in_transaction:
                self.raw.execute("ROLLBACK")

    def close(self) -> None:
        """Give the connection back to the pool."""
        self._pool.give_back(self)


class _Rows:
    """The rows of a statement. Errors while they are read are those of `sqlite3`."""

    def __init__(self, cursor: "psycopg.Cursor[tuple[Any, ...]]") -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        return self._cursor.rowcount

    def fetchone(self) -> Any:
        with _as_sqlite_errors():
            return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        with _as_sqlite_errors():
            return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        with _as_sqlite_errors():
            yield from self._cursor


class _Pool:
    """The idle connections of this process to one database.

    All stores of all projects share them, so their number does not grow with the projects.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[PostgresConnection] = []
        self._lock = threading.Lock()

    def take(self, address: PostgresAddress, schema: Schema) -> PostgresConnection:
        """Return a connection for the store at `address`, a new one if none is idle."""
        with self._lock:
            suited = next((c for c in self._idle if c.schema == address.schema), None)
            connection = suited or (self._idle[-1] if self._idle else None)
            if connection is not None:
                self._idle.remove(connection)
        if connection is None:
            connection = PostgresConnection(self._connect(), self)
        try:
            self._assign(connection, address, schema)
        except psycopg.OperationalError:  # the server was restarted meanwhile
            connection.raw.close()
            connection = PostgresConnection(self._connect(), self)
            self._assign(connection, address, schema)
        return connection

    def _connect(self) -> "psycopg.Connection[tuple[Any, ...]]":
        raw = psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            application_name="treadle",
        )
        adapt(raw)
        return raw

    def _assign(
        self, connection: PostgresConnection, address: PostgresAddress, schema: Schema
    ) -> None:
        """Make the connection one of the project and the store at `address`."""
        connection.raw.execute(
            "SELECT set_config('search_path', %s, false), set_config(%s, %s, false),"
            " set_config('lock_timeout', %s, false), set_config('statement_timeout', '0', false)",
            (
                f"{address.schema}, {SHARED}",
                _PROJECT,
                address.project,
                f"{schema.busy_seconds * 1000:.0f}",
            ),
        )
        connection.schema = address.schema

    def give_back(self, connection: PostgresConnection) -> None:
        """Keep a connection for its next use, or close it if it is damaged or not needed."""
        with suppress(psycopg.Error, sqlite3.Error):
            connection.rollback()
            with self._lock:
                if not connection.raw.closed and len(self._idle) < _MAX_IDLE:
                    self._idle.append(connection)
                    return
        connection.raw.close()


_pools: dict[str, _Pool] = {}
_pools_lock = threading.Lock()


def _pool(url: str) -> _Pool:
    with _pools_lock:
        return _pools.setdefault(url, _Pool(url))


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
    def exists(self) -> bool:
        with self._used() as connection:
            return _version(connection) > 0

    def open_connection(self) -> PostgresConnection:
        with _as_sqlite_errors():
            connection = _pool(self.address.url).take(self.address, self.schema)
            try:
                if _version(connection) != self.schema.version:
                    self._upgrade(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def connect(self) -> PostgresConnection:
        with _as_sqlite_errors():
            return _pool(self.address.url).take(self.address, self.schema)

    def connect_reader(self) -> PostgresConnection:
        return self.connect()

    @contextmanager
    def read(self, connection: Connection, seconds: float) -> Iterator[None]:
        limit = f"{seconds * 1000:.0f}"
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            connection.execute("SELECT set_config('statement_timeout', ?, true)", (limit,))
            yield
        finally:
            with suppress(sqlite3.Error):
                connection.rollback()

    def change_number(self, connection: Connection) -> None:
        assert isinstance(connection, PostgresConnection)

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
            with self._used() as connection:
                version = _version(connection)
                if version == 0:
                    return None
                self._check_version(version)
                return None
        except TreadleError as error:
            return error.message

    def error(self, reason: object) -> StoreError:
        return StoreError(
            f"The {self.schema.records} in {self.name} cannot be read or written: {reason}.",
            hint="Check that the server of the setting store.url runs and accepts this user.",
        )

    def check_version(self, connection: Connection) -> None:
        self._check_version(_version(connection))

    def _check_version(self, version: int) -> None:
        if version > self.schema.version:
            raise StoreError(
                f"A newer version of Treadle wrote the {self.schema.records} in {self.name}"
                f" (format {version}).",
                hint="Update Treadle on this machine.",
            )

    @contextmanager
    def _used(self) -> Iterator[PostgresConnection]:
        try:
            with closing(self.connect()) as connection:
                yield connection
        except self._errors as error:
            raise self.error(error) from error

    def _upgrade(self, connection: PostgresConnection) -> None:
        self._check_version(_version(connection))
        limit = f"{self.schema.upgrade_seconds * 1000:.0f}"
        with transaction(connection):
            connection.execute("SELECT set_config('lock_timeout', ?, true)", (limit,))
            version = _version(connection)  # another process may have upgraded it meanwhile
            self._check_version(version)
            if version == self.schema.version:
                return
            _create_functions(connection)
            if version == 0:
                _run(connection, "CREATE SCHEMA IF NOT EXISTS {}", self.address.schema)
                _run(connection, f"CREATE TABLE {{}}.{_VERSION_TABLE} (version bigint NOT NULL)",
                     self.address.schema)  # fmt: skip
                connection.execute(f"INSERT INTO {_VERSION_TABLE} VALUES (0)")  # noqa: S608
            self.schema.upgrade(connection, version)
            connection.execute(f"UPDATE {_VERSION_TABLE} SET version = ?", (self.schema.version,))  # noqa: S608
            self._protect(connection)

    def _protect(self, connection: PostgresConnection) -> None:
        """Let each table without a policy show its rows to its own project only."""
        unprotected = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = ? AND c.relkind IN ('r', 'p') AND NOT c.relrowsecurity",
            (self.address.schema,),
        ).fetchall()
        for (table,) in unprotected:
            names = (self.address.schema, table)
            _run(connection, "ALTER TABLE {}.{} ENABLE ROW LEVEL SECURITY", *names)
            _run(connection, "ALTER TABLE {}.{} FORCE ROW LEVEL SECURITY", *names)
            check = SQL("current_setting({}, true) = {}").format(
                Literal(_PROJECT), Literal(self.address.project)
            )
            connection.raw.execute(
                SQL("CREATE POLICY project ON {}.{} USING ({check})").format(
                    *map(Identifier, names), check=check
                )
            )


def _create_functions(connection: PostgresConnection) -> None:
    """Create the functions that all projects share, unless their current version exists."""
    connection.raw.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (SHARED,))
    connection.raw.execute(f"CREATE SCHEMA IF NOT EXISTS {SHARED}")
    (found,) = connection.execute(
        "SELECT obj_description(to_regnamespace(?)::oid, 'pg_namespace')", (SHARED,)
    ).fetchone()
    if found == str(FUNCTIONS_VERSION):
        return
    for function in FUNCTIONS:
        connection.raw.execute(function)
    connection.raw.execute(f"COMMENT ON SCHEMA {SHARED} IS '{FUNCTIONS_VERSION}'")


def _run(connection: PostgresConnection, statement: str, *names: str) -> None:
    """Run a statement with quoted names in place of `{}`."""
    text = SQL(statement).format(*map(Identifier, names))
    connection.raw.execute(text)


def _version(connection: PostgresConnection | Connection) -> int:
    assert isinstance(connection, PostgresConnection)
    table = f"{connection.schema}.{_VERSION_TABLE}"
    (known,) = connection.execute("SELECT to_regclass(?) IS NOT NULL", (table,)).fetchone()
    if not known:
        return 0
    (version,) = connection.execute(f"SELECT version FROM {_VERSION_TABLE}").fetchone()  # noqa: S608
    return int(version)


@contextmanager
def _as_sqlite_errors() -> Iterator[None]:
    """Raise the errors of psycopg as the errors of `sqlite3` with the same names (PEP 249)."""
    try:
        yield
    except psycopg.Error as error:
        kinds = (psycopg.IntegrityError, psycopg.OperationalError, psycopg.DataError)
        kind = next((each for each in kinds if isinstance(error, each)), psycopg.DatabaseError)
        raise getattr(sqlite3, kind.__name__)(_message(error)) from error


def _message(error: psycopg.Error) -> str:
    """Return the message of an error in one line, without the address of the server."""
    return error.diag.message_primary or str(error).splitlines()[0]
