"""Few large SQL statements instead of many small ones.

Each step of SQLite gives up the interpreter's lock, and gets it back only when another thread that
runs Python lets it go, up to 5 ms later. So rows are written a hundred at a time.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

Value = str | bytes | int | float | None

PREPARED = 512
"""How many prepared statements a connection should keep, so that none below is prepared twice."""

_SIZES = (128, 32, 8, 2, 1)


def insert(
    connection: sqlite3.Connection, head: str, rows: Iterable[Sequence[Value]], tail: str = ""
) -> None:
    """Run `head VALUES (…), (…) tail` over all rows, in order."""
    for some in _parts(tuple(rows)):
        connection.execute(f"{head} VALUES {_places(some)} {tail}", _flat(some))


def select(
    connection: sqlite3.Connection, statement: str, values: Iterable[Any]
) -> Iterator[tuple[Any, ...]]:
    """All rows of `statement`, in which `{}` stands for a part of the values.

    It is `… IN ({})` for single values, `(VALUES {})` for tuples.
    """
    for some in _parts(tuple(values)):
        yield from connection.execute(statement.format(_places(some)), _flat(some))


def run(connection: sqlite3.Connection, statement: str, values: Iterable[Any]) -> None:
    """The same for a statement that gives no rows."""
    for some in _parts(tuple(values)):
        connection.execute(statement.format(_places(some)), _flat(some))


def _parts(values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    position = 0
    for size in _SIZES:
        while len(values) - position >= size:
            yield values[position : position + size]
            position += size


def _places(some: tuple[Any, ...]) -> str:
    if isinstance(some[0], tuple):
        return ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
    return ", ".join("?" * len(some))


def _flat(some: tuple[Any, ...]) -> tuple[Value, ...]:
    return tuple(chain.from_iterable(some)) if isinstance(some[0], tuple) else some
