"""The tables of a schema: their columns and keys, in the order in which the schema creates them."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from treadle.database.schema import Schema

ROW_KEY = "rowid"
"""The key of a virtual table, whose declared columns do not include the key."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with records. Every table has a primary key."""

    name: str
    columns: tuple[str, ...]
    texts: frozenset[int]
    """The positions of the columns with text."""
    key: tuple[int, ...]
    """The positions of the columns of the primary key, in the order of the key."""
    number: str | None
    """The column for which the database assigns the next number, or None."""
    first_rows: tuple[tuple[Any, ...], ...]
    """The rows of a new database."""


def tables_of(schema: Schema) -> tuple[Table, ...]:
    """Return the tables that the schema creates. A table comes after those that it references."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        schema.upgrade(new, 0)
        kinds = {name: kind for _, name, kind, *_ in new.execute("PRAGMA table_list")}
        names = [
            name
            for (name,) in new.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid"
            )
            if kinds[name] in {"table", "virtual"} and not name.startswith("sqlite_")
        ]
        return tuple(_table(new, name, kinds) for name in names)


def _table(connection: sqlite3.Connection, name: str, kinds: Mapping[str, str]) -> Table:
    info = connection.execute(f"PRAGMA table_info({name})").fetchall()
    columns = [column for _, column, *_ in info]
    is_virtual = kinds[name] == "virtual"
    if is_virtual:
        columns.insert(0, ROW_KEY)
    keyed = sorted((place, position) for position, *_, place in info if place)
    key = (0,) if is_virtual else tuple(position for _, position in keyed)
    numbered = len(key) == 1 and not is_virtual and info[key[0]][2] == "INTEGER"
    texts = {
        position + is_virtual for position, _, kind, *_ in info if kind == "TEXT" or is_virtual
    }
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM {name}")  # noqa: S608
    return Table(
        name,
        tuple(columns),
        frozenset(texts),
        key,
        columns[key[0]] if numbered else None,
        tuple(rows),
    )
