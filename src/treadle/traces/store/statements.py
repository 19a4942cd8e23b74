"""Few large SQL statements instead of many small ones.

Each step of SQLite gives up the interpreter's lock, and gets it back only when another thread that
runs Python lets it go, up to 5 ms later. So rows are written a hundred at a time.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

Value = str | bytes | int | float | None

_SIZES = (128, 32, 8, 2, 1)
"""How many rows a statement may have: few sizes, so that all stay prepared."""
_IN_SIZE = 100

PREPARED = 512
"""How many prepared statements a connection keeps."""


def insert(
    connection: sqlite3.Connection, head: str, rows: Sequence[Sequence[Value]], tail: str = ""
) -> None:
    """Run `head VALUES (…), (…) tail` over all rows, in order."""
    position = 0
    for size in _SIZES:
        while len(rows) - position >= size:
            some = rows[position : position + size]
            places = f"({', '.join('?' * len(some[0]))})"
            connection.execute(
                f"{head} VALUES {', '.join([places] * size)} {tail}",
                tuple(chain.from_iterable(some)),
            )
            position += size


def select(
    connection: sqlite3.Connection, statement: str, values: Iterable[Value]
) -> Iterator[tuple[Value, ...]]:
    """All rows of `statement`, in which `{}` stands for a part of `values`: `… IN ({})`."""
    return chain.from_iterable(
        connection.execute(statement.format(", ".join("?" * len(some))), some)
        for some in _parts(values)
    )


def run(connection: sqlite3.Connection, statement: str, values: Iterable[Value]) -> None:
    """The same for a statement that gives no rows."""
    for some in _parts(values):
        connection.execute(statement.format(", ".join("?" * len(some))), some)


def _parts(values: Iterable[Value]) -> Iterator[tuple[Value, ...]]:
    """The values in parts of one size; the last one is filled up with its last value."""
    every = tuple(values)
    for position in range(0, len(every), _IN_SIZE):
        some = every[position : position + _IN_SIZE]
        yield some if len(some) < 8 else some + some[-1:] * (_IN_SIZE - len(some))
