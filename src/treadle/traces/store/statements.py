"""Runs SQL statements over many rows, packs text for SQLite, and reads rows as named tuples.

Each step of SQLite releases the interpreter lock. After each step, another thread that runs Python
may hold the lock for up to 5 ms. Therefore one statement writes about a hundred rows.
`postgres_statements` has the same functions for PostgreSQL.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, TypeVar

from treadle.database import Connection, PackedText

Value = str | bytes | int | float | None

PREPARED = 512
"""The number of prepared statements that a connection should cache for these functions."""

_SIZES = (128, 32, 8, 2, 1)


def insert(
    connection: Connection, head: str, rows: Iterable[Sequence[Value]], tail: str = ""
) -> None:
    """Run `head VALUES (…), (…) tail` over all rows, in order."""
    if not isinstance(connection, sqlite3.Connection):
        from treadle.traces.store import postgres_statements

        postgres_statements.insert(connection, head, tuple(rows), tail)
        return
    for batch in _parts(tuple(rows)):
        connection.execute(f"{head} VALUES {_placeholders(batch)} {tail}", _flat(batch))


def select(
    connection: Connection, statement: str, values: Iterable[Any]
) -> Iterator[tuple[Any, ...]]:
    """Run `statement` for batches of `values`, and yield the rows of all batches.

    The placeholders of a batch replace `{}`. Use `… IN ({})` for single values, and `(VALUES {})`
    for tuples.
    """
    if not isinstance(connection, sqlite3.Connection):
        from treadle.traces.store import postgres_statements

        yield from postgres_statements.request(connection, statement, tuple(values))
        return
    for batch in _parts(tuple(values)):
        yield from connection.execute(statement.format(_placeholders(batch)), _flat(batch))


def request(
    connection: Connection, statement: str, values: Iterable[Any]
) -> Iterable[tuple[Any, ...]]:
    """Run `statement` as `select` does, but at once, and return the rows.

    In a block of `Database.write`, PostgreSQL sends the rows when the first of them is read. So
    requests before that take one round trip together.
    """
    if not isinstance(connection, sqlite3.Connection):
        from treadle.traces.store import postgres_statements

        return postgres_statements.request(connection, statement, tuple(values))
    return list(select(connection, statement, values))


def run(connection: Connection, statement: str, values: Iterable[Any]) -> None:
    """Run a statement for batches of `values`, as `select` does, and return no rows."""
    if not isinstance(connection, sqlite3.Connection):
        from treadle.traces.store import postgres_statements

        postgres_statements.run(connection, statement, tuple(values))
        return
    for batch in _parts(tuple(values)):
        connection.execute(statement.format(_placeholders(batch)), _flat(batch))


def _parts(values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    position = 0
    for size in _SIZES:
        while len(values) - position >= size:
            yield values[position : position + size]
            position += size


def _placeholders(batch: tuple[Any, ...]) -> str:
    if isinstance(batch[0], tuple):
        return ", ".join([f"({', '.join('?' * len(batch[0]))})"] * len(batch))
    return ", ".join("?" * len(batch))


def _flat(batch: tuple[Any, ...]) -> tuple[Value, ...]:
    return tuple(chain.from_iterable(batch)) if isinstance(batch[0], tuple) else batch


Text = str | bytes
"""A text in a column. A text with a lone surrogate is bytes, since UTF-8 cannot encode it."""


def pack_text(text: str) -> Text:
    """Return `text` as a value of a column. Text with a lone surrogate becomes bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return PackedText(text.encode("utf-8", "surrogatepass"))
    return text


def packed(text: str | None) -> Text | None:
    """Return `text` as a value of a column that allows NULL. None stays None."""
    return None if text is None else pack_text(text)


def unpacked(value: Text) -> str:
    """Return the text of a value that `packed` returned."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


@lru_cache(4_096)
def labels_of(column: str | None) -> tuple[Text, ...]:
    """Return the labels in a value of `spans.labels`, each packed as by `pack_text`."""
    return tuple(pack_text(label) for label in json.loads(column)) if column else ()


T = TypeVar("T")


class From:
    """Marks a field that is read from SQL expressions, as in `Annotated[int, From("s.id")]`.

    `convert` receives one argument for each expression. Without `convert` the value is unchanged.
    """

    def __init__(self, *sql: str, convert: Callable[..., Any] | None = None) -> None:
        self.sql = sql
        self.convert = convert


class Selection(Generic[T]):
    """Selects the fields of a named tuple in SQL, and builds the tuple from a row.

    A field without `From` is the column of `table` with the same name. The fields in `given` are
    not selected. The caller passes their values to `read`.
    """

    def __init__(self, kind: type[T], table: str, *, given: Sequence[str] = ()) -> None:
        self._make: Callable[[Sequence[Any]], T] = kind._make  # type: ignore[attr-defined]  # a named tuple
        sql: list[str] = []
        columns: list[int] = []
        self._given: list[tuple[int, str]] = []
        self._converted: list[tuple[int, Callable[[Sequence[Any]], Any]]] = []
        for position, (name, hint) in enumerate(kind.__annotations__.items()):
            columns.append(len(sql))
            if name in given:
                self._given.append((position, name))
                continue
            marks = getattr(hint, "__metadata__", ())
            default = From(f"{table}.{name}")
            source = next((each for each in marks if isinstance(each, From)), default)
            if source.convert is not None:
                self._converted.append((position, _converter(source, len(sql))))
            sql += source.sql
        self.sql = ", ".join(sql)
        self._pick = itemgetter(*(min(column, len(sql) - 1) for column in columns))

    def read(self, row: Sequence[Any], **given: Any) -> T:
        """Build the tuple from a row with the columns of `sql`, and from the `given` values."""
        values = list(map(plain, row)) if has_packed(row) else row
        found = list(self._pick(values))
        for position, convert in self._converted:
            found[position] = convert(values)
        for position, name in self._given:
            found[position] = given[name]
        return self._make(found)


def _converter(source: From, first: int) -> Callable[[Sequence[Any]], Any]:
    convert, last = source.convert, first + len(source.sql)
    assert convert is not None
    if len(source.sql) == 1:
        return lambda values: convert(values[first])
    return lambda values: convert(*values[first:last])


_PACKED = frozenset({bytes, PackedText})


def has_packed(row: Iterable[object]) -> bool:
    """Return whether a value of a row is a text that the database stores as bytes."""
    return not _PACKED.isdisjoint(map(type, row))


def plain(value: Any) -> Any:
    """Return a value of a row. Text that SQLite stores as bytes is decoded."""
    return unpacked(value) if isinstance(value, bytes) else value
