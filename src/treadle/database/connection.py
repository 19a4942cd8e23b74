"""The part of a database connection that stores use, transactions, and texts in SQL."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement changed."""

    def fetchone(self) -> Any:
        """Return the next row as a tuple, or None if there is none."""

    def fetchall(self) -> list[Any]:
        """Return all remaining rows as tuples."""

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection that runs SQL in the dialect of SQLite.

    `sqlite3.Connection` and `postgres.PostgresConnection` have these methods. Errors of both are
    the exceptions of `sqlite3`, so a store handles one set of exceptions.
    """

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def execute(
        self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ..., /
    ) -> Cursor: ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Cursor: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


@contextmanager
def transaction(connection: Connection) -> Iterator[Connection]:
    """Run the block in a transaction: all its statements are committed, or none.

    The transaction takes the write lock at its beginning. If another process has the lock, the
    transaction waits for it until the busy time-out. If a transaction requested the lock later,
    SQLite could refuse it at once.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends some failed transactions itself
            connection.execute("ROLLBACK")
        raise


class PackedText(bytes):
    """A text with a lone surrogate, as UTF-8 with encoded surrogates.

    SQLite stores it as bytes. PostgreSQL stores it as text (`postgres_values`).
    """

    __slots__ = ()


def storable_text(text: str) -> str:
    """Escape the lone surrogates in `text`, since SQLite cannot store them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def ids_with_prefix(
    connection: Connection,
    table: str,
    prefix: str,
    limit: int,
    *,
    where: str = "TRUE",
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
