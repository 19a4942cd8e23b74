"""Copies all rows of a database into an empty database of another engine.

A copy can be interrupted at any moment and continued. The table `copy_progress` of the target
states which rows have been copied. It changes in the same transaction as the copied rows. At the
end, the copy compares both databases and removes this table.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from treadle.database.connection import Connection, PackedText, transaction
from treadle.database.copy_side import CopySide, Row
from treadle.database.database import COPY_PROGRESS as PROGRESS
from treadle.database.database import Database
from treadle.database.tables import Table, tables_of
from treadle.errors import StoreError, UsageError

_SOURCE = ""
"""The row of `copy_progress` that names the source."""
_ROWS_AT_ONCE = 2_000
_BYTES_AT_ONCE = 4_000_000
_MASK = (1 << 64) - 1

Writer = Callable[[Connection, Sequence[Row]], None]
"""Inserts rows into a table that the two engines store in different ways."""
Shown = Callable[[str, int], None]
"""Receives the name of a table and how many of its rows have been copied."""


@dataclass(slots=True)
class Content:
    """The number of rows of a table, and a sum over the hashes of its rows."""

    rows: int = 0
    hashes: int = 0

    def add(self, row: Row) -> None:
        """Count a row. The order of the rows makes no difference."""
        digest = blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self.rows += 1
        self.hashes = (self.hashes + int.from_bytes(digest)) & _MASK


@dataclass(slots=True)
class _Position:
    """The position of the copy of one table."""

    key: Row | None = None
    """The key of the last copied row."""
    is_complete: bool = False
    content: Content = field(default_factory=Content)

    def encode(self) -> str:
        key = None if self.key is None else [_encoded(value) for value in self.key]
        return json.dumps([key, self.is_complete, self.content.rows, self.content.hashes])

    @classmethod
    def decode(cls, text: str) -> "_Position":
        key, is_complete, rows, hashes = json.loads(text)
        decoded = None if key is None else tuple(map(_decoded, key))
        return cls(decoded, is_complete, Content(rows, hashes))


def copy_database(
    source: Database,
    target: Database,
    *,
    shown: Shown,
    writers: Mapping[str, Writer] | None = None,
    prepare: Callable[[Connection], None] | None = None,
) -> Mapping[str, int]:
    """Copy all rows of `source` into `target`, and return the number of rows of each table.

    `writers` has the tables that need a special way of writing. `prepare` receives the connection
    that writes before the first row. Raises UsageError if the target has
    other data, and StoreError if the databases differ at the end or cannot be used.
    """
    tables = tables_of(source.schema)
    reading, writing = CopySide.of(source), CopySide.of(target)
    with reading.snapshot() as read, target.hold("copy") as held, target.use() as write:
        if not held:
            raise UsageError(f"Another process copies into {target.name} at present.")
        copy = _Copy(reading, read, writing, write, writers or {}, shown)
        is_resumed = copy.begin(tables)
        if prepare is not None:
            prepare(write)
        for table in tables:
            copy.copy_table(table)
        copy.compare(tables, again=is_resumed)
        with transaction(write):
            writing.set_next_numbers(write, tables, reading.last_numbers(read, tables))
            write.execute(f"DROP TABLE {PROGRESS}")
        return {table.name: reading.count(read, table) for table in tables}


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of one database. `read` reads the source, and `write` writes the target."""

    reading: CopySide
    read: Connection
    writing: CopySide
    write: Connection
    writers: Mapping[str, Writer]
    shown: Shown

    def begin(self, tables: Sequence[Table]) -> bool:
        """Prepare the target. Returns whether an earlier copy is continued."""
        write, source = self.write, self.reading.name
        with transaction(write):
            if self.writing.has_table(write, PROGRESS):
                if (known := self._state(_SOURCE)) != source:
                    raise UsageError(
                        f"{self.writing.name} has an unfinished copy of {known}.",
                        hint="Continue that copy, or use an empty target.",
                    )
                return True
            for table in tables:
                if not self._is_new(table):
                    raise UsageError(
                        f"{self.writing.name} already has data (the table {table.name}).",
                        hint="Copy into an empty database, or into another project.",
                    )
            for table in reversed(tables):
                write.execute(f"DELETE FROM {table.name}")  # noqa: S608  (names of our tables)
            write.execute(f"CREATE TABLE {PROGRESS} (name TEXT PRIMARY KEY, state TEXT NOT NULL)")
            self.writing.protect(write)
            self._set_state(_SOURCE, source)
        return False

    def copy_table(self, table: Table) -> None:
        """Copy the rows of a table that are not copied yet."""
        state = self._state(table.name)
        position = _Position() if state is None else _Position.decode(state)
        if position.is_complete:
            return
        self.shown(table.name, position.content.rows)
        for batch in _batches(self.reading.rows(self.read, table, position.key)):
            position.key = tuple(batch[-1][place] for place in table.key)
            for row in batch:
                position.content.add(row)
            with transaction(self.write):
                self._insert(table, batch)
                self._set_state(table.name, position.encode())
            self.shown(table.name, position.content.rows)
        position.is_complete = True
        with transaction(self.write):
            self._set_state(table.name, position.encode())

    def compare(self, tables: Sequence[Table], *, again: bool) -> None:
        """Raise StoreError if a table of the target differs from the source.

        The rows of the source were hashed while they were copied. If the copy was interrupted, the
        source may have changed since then. In this case `again` is True, and the rows of the source
        are hashed again.
        """
        with self.writing.snapshot() as written:
            for table in tables:
                expected = _Position.decode(self._state(table.name) or "").content
                if again:
                    expected = content_of(self.reading.rows(self.read, table, None))
                if content_of(self.writing.rows(written, table, None)) != expected:
                    raise StoreError(
                        f"The table {table.name} of {self.writing.name} differs from"
                        f" {self.reading.name}.",
                        hint="Stop all processes that use both places. Then delete the target, and"
                        " copy again.",
                    )

    def _is_new(self, table: Table) -> bool:
        """Whether a table has only the rows of a new database."""
        if self.writing.count(self.write, table) != len(table.first_rows):
            return False
        found = self.writing.rows(self.write, table, None)
        return sorted(map(repr, found)) == sorted(map(repr, table.first_rows))

    def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        if writer := self.writers.get(table.name):
            writer(self.write, rows)
        else:
            self.writing.insert(self.write, table, rows)

    def _state(self, name: str) -> str | None:
        row = self.write.execute(
            f"SELECT state FROM {PROGRESS} WHERE name = ?",  # noqa: S608  (a constant)
            (name,),
        ).fetchone()
        return None if row is None else str(row[0])

    def _set_state(self, name: str, state: str) -> None:
        self.write.execute(
            f"INSERT INTO {PROGRESS} VALUES (?, ?)"  # noqa: S608  (a constant)
            " ON CONFLICT (name) DO UPDATE SET state = excluded.state",
            (name, state),
        )


def content_of(rows: Iterator[Row]) -> Content:
    """Return the number of rows and the sum over their hashes."""
    content = Content()
    for row in rows:
        content.add(row)
    return content


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(batch) == _ROWS_AT_ONCE or size > _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _encoded(value: Any) -> Any:
    """Return the JSON form of a value of a key."""
    if isinstance(value, PackedText):
        return {"packed": value.hex()}
    return {"bytes": value.hex()} if isinstance(value, bytes) else value


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "packed" in value:
        return PackedText.fromhex(value["packed"])
    return bytes.fromhex(value["bytes"])
