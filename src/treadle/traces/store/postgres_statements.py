"""Runs the statements of `store.statements` on PostgreSQL, with few round trips to the server.

One statement receives all its rows as one array for each column. So its text does not depend on
the number of rows, and the server plans it once. COPY would not be faster: PostgreSQL does not
allow it into a table with row-level security, and a temporary table costs two more round trips.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from treadle.database import Connection
from treadle.database.postgres_arrays import array, kind_of
from treadle.database.postgres_connection import PostgresConnection

_HEAD = re.compile(r"\s*INSERT INTO (\w+) \(([^)]*)\)\s*")
_LIST = re.compile(r"IN \(\{\}\)")
_ROWS = re.compile(r"\(VALUES \{\}\) AS (\w+)")
_COLUMN_TYPES = """
    SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
    WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped"""

_ROWS_AT_ONCE = 500
"""The maximum number of rows of one statement, which limits the memory of the server."""

_Types = Mapping[str, str]

_columns: "WeakKeyDictionary[Connection, dict[tuple[str, str], _Types]]" = WeakKeyDictionary()
"""The types of the columns that each connection has looked up, by schema and table."""


def insert(
    connection: Connection, head: str, rows: Sequence[Sequence[Any]], tail: str = ""
) -> None:
    """Run `head VALUES (…), (…) tail` over all rows, in order."""
    if not rows:
        return
    table, columns = _named(head)
    types = _column_types(connection, table, columns)
    statement = _inserting(head, types, tail)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        values = zip(*rows[start : start + _ROWS_AT_ONCE], strict=True)
        connection.execute(statement, list(map(array, types, values)))


@lru_cache(256)
def _inserting(head: str, types: tuple[str, ...], tail: str) -> str:
    # The server would unnest an array of arrays at all levels, so it receives these as texts.
    values = ", ".join(
        "unnest(?::text[])::text[]" if kind == "text[]" else f"unnest(?::{kind}[])"
        for kind in types
    )
    return f"{head} SELECT {values} {tail}"


def _column_types(connection: Connection, table: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    assert isinstance(connection, PostgresConnection)
    known = _columns.setdefault(connection, {})
    types = known.get((connection.schema, table), {})
    if not types.keys() >= set(columns):
        types = dict(connection.execute(_COLUMN_TYPES, (table,)))
        known[connection.schema, table] = types
    return tuple(types[column] for column in columns)


def request(
    connection: Connection, statement: str, values: Sequence[Any]
) -> Iterable[tuple[Any, ...]]:
    """Run `statement` for all `values`, and return the rows."""
    return connection.execute(*_with_arrays(statement, values)) if values else ()


def run(connection: Connection, statement: str, values: Sequence[Any]) -> None:
    """Run a statement for all `values`."""
    if values:
        connection.execute(*_with_arrays(statement, values))


def _with_arrays(statement: str, values: Sequence[Any]) -> tuple[str, list[bytes]]:
    """Return the statement with one array for each column of `values`."""
    columns = list(zip(*values, strict=True)) if isinstance(values[0], tuple) else [values]
    kinds = tuple(map(kind_of, columns))
    return _for_arrays(statement, kinds), list(map(array, kinds, columns))


@lru_cache(1_024)
def _for_arrays(statement: str, kinds: tuple[str, ...]) -> str:
    names = ", ".join(f"column{number}" for number in range(1, len(kinds) + 1))
    arrays = ", ".join(f"?::{kind}[]" for kind in kinds)
    statement = _LIST.sub(f"= ANY(?::{kinds[0]}[])", statement)
    return _ROWS.sub(rf"unnest({arrays}) AS \1 ({names})", statement)


@lru_cache(64)
def _named(head: str) -> tuple[str, tuple[str, ...]]:
    """Return the table and the columns that an INSERT names."""
    found = _HEAD.fullmatch(head)
    assert found is not None, head
    return found[1], tuple(name.strip() for name in found[2].split(","))
