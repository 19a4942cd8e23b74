"""Runs few large SQL statements instead of many small ones.

Each step of SQLite releases the interpreter lock. Another thread that runs Python may then hold the
lock for up to 5 ms. Therefore a statement writes a hundred rows.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

Value = str | bytes | int | float | None

PREPARED = 512
"""The number of prepared statements that a connection should cache for these functions."""

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
    """All rows of `statement`, with placeholders for a part of the values instead of `{}`.

    Use `… IN ({})` for single values, and `(VALUES {})` for tuples.
    """
    for some in _parts(tuple(values)):
        yield from connection.execute(statement.format(_places(some)), _flat(some))


def run(connection: sqlite3.Connection, statement: str, values: Iterable[Any]) -> None:
    """Run a statement as `select` does, but without rows as a result."""
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
