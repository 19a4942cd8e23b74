"""Connections to PostgreSQL that run the SQL of stores, and the pool of idle connections.

A connection raises the errors of `sqlite3`, so a store handles one set of exceptions. Messages do
not contain the password of the server.
"""

import atexit
import re
import select
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any

import psycopg
from psycopg.sql import SQL, Literal

from treadle.database import postgres_arrays, postgres_values
from treadle.database.address import PostgresAddress
from treadle.database.connection import Cursor
from treadle.database.dialect import translated
from treadle.database.postgres_functions import PROJECT_SETTING
from treadle.database.postgres_functions import SCHEMA as SHARED
from treadle.database.postgres_search import HAS_WORDS
from treadle.database.schema import Schema

_CONNECT_SECONDS = 10
_LOST_SECONDS = 30
"""The seconds after which a connection to a server that does not answer counts as lost."""
_ABANDONED_SECONDS = 300
"""The seconds after which the server ends a transaction whose process has stopped."""
_MAX_IDLE = 16
_ASSIGN = f"""
    RESET ALL;
    SET tcp_keepalives_idle = {_LOST_SECONDS};
    SET tcp_keepalives_interval = {_LOST_SECONDS // 3};
    SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = {_LOST_SECONDS * 1000};
    SET idle_in_transaction_session_timeout = {_ABANDONED_SECONDS * 1000};
    SET jit = off;
    SET lock_timeout = {{lock_timeout}};
    SELECT set_config('search_path', {{path}}, false),
        set_config('{PROJECT_SETTING}', {{project}}, false)"""
"""The statements that assign a connection to a store, and remove the settings of its last store.

With the limits, the server releases the locks of a machine that disappears, instead of waiting for
hours.
"""

_READS = """
    SET statement_timeout = {milliseconds};
    SET work_mem = '64MB';
    SET enable_mergejoin = off;
    SET max_parallel_workers_per_gather = 0"""
"""The settings of a session that runs blocks of reads.

Starting parallel processes takes longer than most reads.
Sums over many rows need more memory than the default of 4 MB. Merge joins are off, because the
planner would use one for a page of sorted rows, and it would read far more rows than the page has.
"""
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_LOCK_TIMEOUT = "55P03"
_TIMEOUT = "57014"
_REASONS = {
    _LOCK_TIMEOUT: "another process has locked it for too long",
    _TIMEOUT: "the statement took too long",
}
_PREFIX = re.compile(r"^(?:connection failed|consuming input failed|sending query failed): ")

_Parameters = Sequence[Any] | Mapping[str, Any]


class PostgresConnection:
    """A connection that translates the SQL of stores, and raises the errors of `sqlite3`."""

    def __init__(self, raw: "psycopg.Connection[tuple[Any, ...]]", pool: "Pool") -> None:
        self.raw = raw
        self._pool = pool
        self.schema = ""
        self._deadline: float | None = None
        """The moment after which `execute` runs no more statements, by `time.monotonic`."""
        self._begins_read = False
        """Whether the next statement begins the transaction of a block of reads."""
        self._values: dict[tuple[str, tuple[Any, ...]], Any] = {}
        """The results of `first_value` in the present block of reads."""
        self._read_seconds: float | None = None
        """The limit of a statement for which the session is set up. None if it is not."""

    @property
    def is_alive(self) -> bool:
        """Whether the connection can be used, as far as this machine knows.

        A server sends nothing to an idle connection, except when it ends the connection. The check
        therefore asks the server only if something has arrived.
        """
        if self.raw.closed:
            return False
        poll = select.poll()
        poll.register(self.raw.fileno(), select.POLLIN)
        if not poll.poll(0):
            return True
        try:
            self.raw.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

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
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise sqlite3.OperationalError(_REASONS[_TIMEOUT])
        with as_sqlite_errors():
            if sql == "BEGIN IMMEDIATE":
                return self.begin()
            if self._begins_read:
                self._begins_read = False
                self.raw.execute(_BEGIN_READ)
            # The plan of a prepared statement would compute the patterns for each row.
            prepare = False if HAS_WORDS in statement.sql else None
            return _Rows(self.raw.execute(statement.sql, values, prepare=prepare))

    @contextmanager
    def reads(self, seconds: float) -> Iterator[None]:
        """Run a block whose statements see one state of the database.

        The first statement begins the transaction. A statement that runs after `seconds` fails.
        """
        if self._read_seconds != seconds:
            with as_sqlite_errors():
                self.raw.execute(_READS.format(milliseconds=max(1, round(seconds * 1000))))
            self._read_seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._begins_read = True
        try:
            yield
        finally:
            self._deadline = None
            self._begins_read = False
            self._values.clear()
            with suppress(sqlite3.Error):
                self.rollback()

    def first_value(self, sql: str, parameters: Sequence[Any]) -> Any:
        """Return the first value of a query. A block of reads runs an equal query only once."""
        key = (sql, tuple(parameters))
        if key in self._values:
            return self._values[key]
        (value, *_) = self.execute(sql, parameters).fetchone()
        if self._deadline is not None:
            self._values[key] = value
        return value

    def forget_reads(self) -> None:
        """Note that the session is not set up for blocks of reads."""
        self._read_seconds = None

    def begin(self, *statements: str) -> Cursor:
        """Begin a transaction with the write lock of the schema, and then run `statements`.

        Returns the rows of the last statement. All statements take one round trip.
        """
        lock = f"SELECT pg_advisory_xact_lock({lock_key(self.schema)})"
        with as_sqlite_errors():
            try:
                cursor = self.raw.execute("; ".join(("BEGIN", lock, *statements)))
            except psycopg.Error:
                self.rollback()
                raise
            while cursor.nextset():
                pass
            return _Rows(cursor)

    @contextmanager
    def pipelined_transaction(self) -> Iterator[None]:
        """Run a block whose statements do not wait for their results, and then commit.

        The server runs a statement while this process prepares the next one. Only reading rows
        waits for the server. A failed statement prevents all later ones, including the commit.
        """
        failure: BaseException | None = None
        with as_sqlite_errors():
            try:
                with self.raw.pipeline() as pipeline:
                    try:
                        yield
                        self.raw.execute("COMMIT")
                        pipeline.sync()
                    except BaseException as error:  # noqa: BLE001  (raised after the pipeline)
                        failure = error
            except psycopg.Error as error:  # the consequence of an earlier failure, if there is one
                failure = failure or error
            if failure is not None:
                self.rollback()
                raise failure

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Cursor:
        """Run a statement for each sequence of parameters."""
        statement = translated(sql)
        rows = list(parameters)
        if (positions := statement.positions) is not None:
            rows = [[row[position] for position in positions] for row in rows]
        cursor = self.raw.cursor()
        if rows:  # psycopg would wait for the server without rows too
            with as_sqlite_errors():
                cursor.executemany(statement.sql, rows)
        return _Rows(cursor)

    def rollback(self) -> None:
        """End the open transaction, if there is one, without its changes."""
        with as_sqlite_errors():
            if self.in_transaction:
                self.raw.execute("ROLLBACK")

    def close(self) -> None:
        """Give the connection back to the pool."""
        self._pool.give_back(self)


class _Rows:
    """The rows of a statement. Methods that read them raise the errors of `sqlite3`."""

    def __init__(self, cursor: "psycopg.Cursor[tuple[Any, ...]]") -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        return self._cursor.rowcount

    def fetchone(self) -> Any:
        with as_sqlite_errors():
            return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        with as_sqlite_errors():
            return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        with as_sqlite_errors():
            yield from self._cursor


class Pool:
    """The idle connections of this process to one database.

    All stores of all projects share them, so more projects do not need more connections.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[PostgresConnection] = []
        self._lock = threading.Lock()

    def take(self, address: PostgresAddress, schema: Schema) -> PostgresConnection:
        """Return an idle connection for the store at `address`, or a new one if none is idle."""
        while (idle := self._take_idle(address)) is not None:
            with suppress(psycopg.OperationalError):  # the server was restarted meanwhile
                if idle.is_alive:
                    self._assign(idle, address, schema)
                    return idle
            idle.raw.close()
        connection = PostgresConnection(self._connect(), self)
        try:
            self._assign(connection, address, schema)
        except BaseException:
            connection.raw.close()
            raise
        return connection

    def _take_idle(self, address: PostgresAddress) -> PostgresConnection | None:
        """Return an idle connection, preferably one of the same store."""
        with self._lock:
            suited = next((c for c in self._idle if c.schema == address.schema), None)
            connection = suited or (self._idle[-1] if self._idle else None)
            if connection is not None:
                self._idle.remove(connection)
            return connection

    def _connect(self) -> "psycopg.Connection[tuple[Any, ...]]":
        try:
            raw = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                application_name="treadle",
                keepalives_idle=_LOST_SECONDS,
                keepalives_interval=_LOST_SECONDS // 3,
                keepalives_count=3,
                tcp_user_timeout=_LOST_SECONDS * 1000,
            )
        except psycopg.ProgrammingError:  # its message can contain the password
            raise sqlite3.OperationalError("the setting is not a valid address") from None
        postgres_values.adapt(raw)
        postgres_arrays.adapt(raw)
        return raw

    def _assign(
        self, connection: PostgresConnection, address: PostgresAddress, schema: Schema
    ) -> None:
        """Assign the connection to the project and the store of `address`.

        Plans contain the result of `is_project`. PostgreSQL makes a new plan if the search path is
        not the one with which it made the plan, and each schema has its own search path.
        """
        connection.raw.execute(
            SQL(_ASSIGN).format(
                lock_timeout=Literal(round(schema.busy_seconds * 1000)),
                path=Literal(f"{address.schema}, {SHARED}"),
                project=Literal(address.project),
            )
        )
        connection.forget_reads()
        connection.schema = address.schema

    def give_back(self, connection: PostgresConnection) -> None:
        """Keep a connection for its next use, or close it if it is damaged or not needed."""
        with suppress(psycopg.Error, sqlite3.Error):
            connection.rollback()
            with self._lock:
                if any(idle is connection for idle in self._idle):
                    return  # it was closed twice
                if not connection.raw.closed and len(self._idle) < _MAX_IDLE:
                    self._idle.append(connection)
                    return
        connection.raw.close()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.raw.close()


_pools: dict[str, Pool] = {}
_pools_lock = threading.Lock()


@atexit.register
def _close_pools() -> None:
    for pool in _pools.values():
        pool.close()


def pool_of(url: str) -> Pool:
    """Return the pool of this process for the database at `url`."""
    with _pools_lock:
        return _pools.setdefault(url, Pool(url))


@contextmanager
def as_sqlite_errors() -> Iterator[None]:
    """Raise the errors of psycopg as the errors of `sqlite3` with the same names (PEP 249)."""
    try:
        yield
    except psycopg.Error as error:
        kinds = (psycopg.IntegrityError, psycopg.OperationalError, psycopg.DataError)
        kind = next((each for each in kinds if isinstance(error, each)), psycopg.DatabaseError)
        raise getattr(sqlite3, kind.__name__)(_message(error)) from error


def lock_key(name: str) -> int:
    """Return the number of the advisory lock with this name."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), signed=True)


def _message(error: psycopg.Error) -> str:
    """Return the reason for an error in one line."""
    if error.sqlstate in _REASONS:
        return _REASONS[error.sqlstate]
    lines = (error.diag.message_primary or str(error)).splitlines() or [type(error).__name__]
    return _PREFIX.sub("", lines[0]).replace("FATAL:  ", "")
