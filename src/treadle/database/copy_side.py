"""How each engine reads and writes the rows of a copy."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TYPE_CHECKING, Any

from treadle.database.connection import Connection, PackedText
from treadle.database.database import Database
from treadle.database.sqlite import SqliteDatabase
from treadle.database.tables import Table
from treadle.errors import UsageError

if TYPE_CHECKING:
    from treadle.database.postgres import PostgresDatabase

Row = tuple[Any, ...]


class CopySide(ABC):
    """A database as the source or the target of a copy."""

    def __init__(self, database: Database) -> None:
        self.name = database.name

    @staticmethod
    def of(database: Database) -> "CopySide":
        """Return the side for a database of any engine."""
        if isinstance(database, SqliteDatabase):
            return _SqliteSide(database)
        from treadle.database.postgres import PostgresDatabase

        assert isinstance(database, PostgresDatabase)
        return _PostgresSide(database)

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Connection]:
        """Open a connection that reads one state of the database and changes nothing.

        Raises UsageError if its tables have another version.
        """

    @abstractmethod
    def rows(self, connection: Connection, table: Table, after: Row | None) -> Iterator[Row]:
        """Return the rows with keys after `after`, in the order of their keys."""

    @abstractmethod
    def insert(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows into a table."""

    @abstractmethod
    def has_table(self, connection: Connection, name: str) -> bool:
        """Whether the database has a table with this name."""

    @abstractmethod
    def protect(self, connection: Connection) -> None:
        """Protect new tables from other readers, with the means of the engine."""

    @abstractmethod
    def last_numbers(self, connection: Connection, tables: Sequence[Table]) -> Mapping[str, int]:
        """Return the last number that the database assigned, for each table with numbered rows."""

    @abstractmethod
    def set_next_numbers(
        self, connection: Connection, tables: Sequence[Table], last: Mapping[str, int]
    ) -> None:
        """Make the database assign only numbers above those of `last`."""

    def count(self, connection: Connection, table: Table) -> int:
        """Return the number of rows of a table."""
        (number,) = connection.execute(
            f"SELECT count(*) FROM {table.name}"  # noqa: S608  (names of our tables)
        ).fetchone()
        return int(number)

    def _check_version(self, found: int, expected: int) -> None:
        if found != expected:
            raise UsageError(
                f"{self.name} has tables of another version of Treadle ({found}).",
                hint="Run `treadle store migrate` with the settings of that place first.",
            )


def select_rows(table: Table, *, is_first: bool) -> str:
    """Return the statement that reads the rows of a table after a key, or from the first row."""
    keys = ", ".join(table.columns[place] for place in table.key)
    parameters = ", ".join("?" * len(table.key))
    where = "" if is_first else f" WHERE ({keys}) > ({parameters})"
    return f"SELECT {', '.join(table.columns)} FROM {table.name}{where} ORDER BY {keys}"  # noqa: S608


class _SqliteSide(CopySide):
    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self._database = database

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        with closing(self._database.connect(read_only=True)) as connection:
            connection.execute("BEGIN")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            self._check_version(version, self._database.schema.version)
            yield connection

    def rows(self, connection: Connection, table: Table, after: Row | None) -> Iterator[Row]:
        found = connection.execute(select_rows(table, is_first=after is None), after or ())
        for row in found:
            if any(isinstance(row[place], bytes) for place in table.texts):
                yield tuple(
                    PackedText(value)
                    if place in table.texts and isinstance(value, bytes)
                    else value
                    for place, value in enumerate(row)
                )
            else:
                yield row

    def insert(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        parameters = ", ".join("?" * len(table.columns))
        connection.executemany(
            f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({parameters})",  # noqa: S608
            rows,
        )

    def has_table(self, connection: Connection, name: str) -> bool:
        found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,))
        return found.fetchone() is not None

    def protect(self, connection: Connection) -> None:
        """Do nothing: only the owner of the file can read it."""

    def last_numbers(self, connection: Connection, tables: Sequence[Table]) -> Mapping[str, int]:
        last: dict[str, int] = {}
        if self.has_table(connection, "sqlite_sequence"):
            last = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
        for table in tables:
            if table.number is not None and table.name not in last:
                (number,) = connection.execute(
                    f"SELECT max({table.number}) FROM {table.name}"  # noqa: S608
                ).fetchone()
                last[table.name] = number or 0
        return last

    def set_next_numbers(
        self, connection: Connection, tables: Sequence[Table], last: Mapping[str, int]
    ) -> None:
        if self.has_table(connection, "sqlite_sequence"):
            for table in tables:
                connection.execute(
                    "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?",
                    (last.get(table.name, 0), table.name),
                )


class _PostgresSide(CopySide):
    def __init__(self, database: "PostgresDatabase") -> None:
        super().__init__(database)
        self._database = database

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        from treadle.database.postgres_tables import stored_version

        with closing(self._database.connect()) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            found = stored_version(connection).version
            self._check_version(found, self._database.schema.version)
            yield connection

    def rows(self, connection: Connection, table: Table, after: Row | None) -> Iterator[Row]:
        from treadle.database.postgres_rows import stream

        return stream(connection, select_rows(table, is_first=after is None), after or ())

    def insert(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        from treadle.database.postgres_rows import insert

        insert(connection, table.name, table.columns, rows)

    def has_table(self, connection: Connection, name: str) -> bool:
        found = connection.execute(
            "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = ? AND c.relname = ?",
            (self._database.address.schema, name),
        )
        return found.fetchone() is not None

    def protect(self, connection: Connection) -> None:
        from treadle.database.postgres_connection import PostgresConnection
        from treadle.database.postgres_tables import protect_tables

        assert isinstance(connection, PostgresConnection)
        protect_tables(connection, self._database.address.project)

    def last_numbers(self, connection: Connection, tables: Sequence[Table]) -> Mapping[str, int]:
        last = {}
        for table in tables:
            if table.number is not None:
                (number,) = connection.execute(
                    "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(?, ?)), 0)",
                    (f"{self._database.address.schema}.{table.name}", table.number),
                ).fetchone()
                last[table.name] = int(number)
        return last

    def set_next_numbers(
        self, connection: Connection, tables: Sequence[Table], last: Mapping[str, int]
    ) -> None:
        for table in tables:
            if (number := last.get(table.name, 0)) > 0:
                connection.execute(
                    "SELECT setval(pg_get_serial_sequence(?, ?), ?)",
                    (f"{self._database.address.schema}.{table.name}", table.number, number),
                )
