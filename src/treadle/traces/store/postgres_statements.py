"""Runs the statements of `store.statements` on PostgreSQL, with few round trips to the server.

A writer copies rows into a temporary table, and one statement inserts them from there. PostgreSQL
does not allow COPY into a table with row-level security. Lists of keys are arrays, so that one
prepared statement serves any number of keys.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from treadle.database import Connection, PackedText
from treadle.database.postgres_connection import PostgresConnection, as_sqlite_errors
from treadle.database.postgres_values import is_stored_unchanged, stored_text

_FEWEST_COPIED = 8
"""For fewer rows, an INSERT with VALUES needs less time than a copy."""
_ROWS_AT_ONCE = 16

_HEAD = re.compile(r"\s*INSERT INTO (\w+) \(([^)]*)\)\s*")
_LIST = re.compile(r"IN \(\{\}\)")
_ROWS = re.compile(r"\(VALUES \{\}\) AS (\w+)")
_COLUMN_TYPES = """
    SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
    WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped"""

_LARGE = ("texts", "contents", "blobs")
"""Tables with large rows. A pipeline of single rows needs less time than writing them twice."""

_COPIED_TYPES = ("bigint", "text", "bytea", "double precision", "text[]")

_Types = Mapping[str, str]
_USES_OF_A_FILE = 500
"""The number of copies into temporary tables after which one of their files is replaced."""

_uses = count(1)
_copied: "WeakKeyDictionary[Connection, dict[str, _Types]]" = WeakKeyDictionary()
"""The tables into which each connection can copy rows, with the types of their columns."""


def allow_copies(connection: Connection, tables: Sequence[str]) -> None:
    """Create a temporary table for each table, so that `insert` can copy rows.

    Call the function outside of a transaction.
    """
    copied: dict[str, _Types] = {}
    for table in tables:
        types: _Types = dict(connection.execute(_COLUMN_TYPES, (table,)))
        columns = ", ".join(f"{name} {_copied_type(kind)}" for name, kind in types.items())
        connection.execute(f"DROP TABLE IF EXISTS pg_temp.{_temporary(table)}")
        connection.execute(f"CREATE TEMPORARY TABLE {_temporary(table)} ({columns})")
        copied[table] = types
    _copied[connection] = copied


def insert(
    connection: Connection, head: str, rows: Sequence[Sequence[Any]], tail: str = ""
) -> None:
    """Run `head VALUES (…), (…) tail` over all rows, in order."""
    table, columns = _named(head)
    types = _copied.get(connection, {}).get(table)
    if types is None or len(rows) < _FEWEST_COPIED:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            _insert_some(connection, head, rows[start : start + _ROWS_AT_ONCE], tail)
        return
    if table in _LARGE:
        values = ", ".join(f"?::{types[column]}" for column in columns)
        connection.executemany(f"{head} VALUES ({values}) {tail}", _storable(rows))
        return
    assert isinstance(connection, PostgresConnection)
    listed = ", ".join(columns)
    copied = f"COPY {_temporary(table)} ({listed}) FROM STDIN (FORMAT BINARY)"
    with as_sqlite_errors(), connection.raw.cursor() as cursor, cursor.copy(copied) as copy:
        copy.set_types([_copied_type(types[column]) for column in columns])
        for row in _storable(rows):
            copy.write_row(row)
    values = ", ".join(f"CAST({column} AS {types[column]})" for column in columns)
    connection.execute(f"{head} SELECT {values} FROM {_temporary(table)} {tail}")  # noqa: S608
    connection.execute(f"{_emptying()} {_temporary(table)}")


def _emptying() -> str:
    """Return the words that empty a temporary table.

    TRUNCATE, and ON COMMIT DELETE ROWS as well, take several milliseconds for each table, because
    they replace its file. DELETE is fast, but leaves the file as large as it is.
    """
    return "TRUNCATE" if next(_uses) % _USES_OF_A_FILE == 0 else "DELETE FROM"


def select(
    connection: Connection, statement: str, values: Sequence[Any]
) -> Iterator[tuple[Any, ...]]:
    """Run `statement` for all `values`, and yield the rows."""
    if values:
        yield from connection.execute(*_with_arrays(statement, values))


def run(connection: Connection, statement: str, values: Sequence[Any]) -> None:
    """Run a statement for all `values`."""
    if values:
        connection.execute(*_with_arrays(statement, values))


def _insert_some(
    connection: Connection, head: str, rows: Sequence[Sequence[Any]], tail: str
) -> None:
    row = f"({', '.join('?' * len(rows[0]))})"
    values = [value for each in rows for value in each]
    connection.execute(f"{head} VALUES {', '.join([row] * len(rows))} {tail}", values)


def _with_arrays(statement: str, values: Sequence[Any]) -> tuple[str, list[list[Any]]]:
    """Return the statement with one array for each column of `values`."""
    first = values[0]
    rows = values if isinstance(first, tuple) else [(value,) for value in values]
    arrays = [_array(column) for column in zip(*rows, strict=True)]
    kinds = tuple(map(_array_type, arrays))
    return _for_arrays(statement, kinds), arrays


@lru_cache(1_024)
def _for_arrays(statement: str, kinds: tuple[str, ...]) -> str:
    names = ", ".join(f"column{number}" for number in range(1, len(kinds) + 1))
    arrays = ", ".join(f"?::{kind}" for kind in kinds)
    statement = _LIST.sub(f"= ANY(?::{kinds[0]})", statement)
    return _ROWS.sub(rf"unnest({arrays}) AS \1 ({names})", statement)


def _array_type(column: Sequence[Any]) -> str:
    first = next((value for value in column if value is not None), None)
    if isinstance(first, int):
        return "bigint[]"
    return "text[]" if isinstance(first, str | PackedText) or first is None else "bytea[]"


def _copied_type(kind: str) -> str:
    """Return the type as which a value is copied. psycopg copies some types only as text."""
    return kind if kind in _COPIED_TYPES else "text"


def _array(column: Sequence[Any]) -> list[Any]:
    """Return the values of a column. If one text is packed, all are, since an array has one type.

    psycopg converts each text, so a text must not be in its stored form already.
    """
    if not any(isinstance(value, PackedText) for value in column):
        return list(column)
    return [PackedText(value.encode()) if isinstance(value, str) else value for value in column]


def _storable(rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """Return the rows with texts that PostgreSQL can store."""
    texts = [value for row in rows for value in row if isinstance(value, str | PackedText)]
    texts += [text for row in rows for value in row if isinstance(value, list) for text in value]
    if all(isinstance(text, str) for text in texts) and is_stored_unchanged("".join(texts)):  # type: ignore[arg-type]
        return rows
    return [[_storable_value(value) for value in row] for row in rows]


def _storable_value(value: Any) -> Any:
    if isinstance(value, str | PackedText):
        return stored_text(value)
    return list(map(_storable_value, value)) if isinstance(value, list) else value


@lru_cache(64)
def _named(head: str) -> tuple[str, tuple[str, ...]]:
    """Return the table and the columns that an INSERT names."""
    found = _HEAD.fullmatch(head)
    assert found is not None, head
    return found[1], tuple(name.strip() for name in found[2].split(","))


def _temporary(table: str) -> str:
    return f"arriving_{table}"
