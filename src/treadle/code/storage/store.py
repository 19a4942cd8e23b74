"""The index on disk: one SQLite file for each root. The file can always be rebuilt."""

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from treadle.code.model import EXTRA_GRAMMARS
from treadle.database import Connection, Schema, transaction
from treadle.database.sqlite import SqliteDatabase
from treadle.errors import StoreError

try:
    from _blake2 import (
        blake2b,
    )  # hashlib loads OpenSSL, which takes a tenth as long as a search
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from treadle.code.storage.entries import FileRows
    from treadle.code.storage.writer import IndexWriter

SCHEMA_VERSION = 8 * 10 + (find_spec(EXTRA_GRAMMARS) is not None)
"""The version of the index.

Raise it with each change of the tables, the terms, the origins, or the extraction of a language. An
index of another version is rebuilt. The optional dependency `grammars` adds languages, so its
presence is part of the version.
"""


def _upgrade(connection: Connection, _version: int) -> None:
    # imported late, since it is rarely needed and loads slowly
    from treadle.code.storage.writer import create_tables

    create_tables(connection)


_SCHEMA = Schema(
    "code index",
    SCHEMA_VERSION,
    _upgrade,
    pragmas=(
        "synchronous = NORMAL",
        "wal_autocheckpoint = 8000",  # 32 MB, since each checkpoint waits for the disk
        "cache_size = -32000",
        "mmap_size = 268435456",
    ),
    busy_seconds=30.0,
    upgrade_seconds=30.0,
    is_cache=True,
)


class StoredFile(NamedTuple):
    """The state of a file when it was indexed, which a refresh compares with the current state.

    `read_ns` is the time in ns before the file was read. `hash` is empty if the file was not read.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    read_ns: int
    hash: bytes
    skipped: str | None


def store_path(cache_dir: Path, root: Path) -> Path:
    """Return the path of the index file for `root`, which must be a resolved path."""
    key = blake2b(os.fsencode(root), digest_size=8).hexdigest()
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in root.name)[:40]
    return cache_dir / "index" / f"{name}-{key}.sqlite3"


class Store:
    """The database of the index.

    One connection reads. A second connection writes, and is opened when it is first needed. Each
    connection is used by one thread at a time. Any number of processes may open the file (WAL, busy
    timeout).
    """

    def __init__(self, path: Path) -> None:
        """Open the file. A damaged file or a file of another version is replaced by an empty index.

        Raises `StoreError` if the file cannot be written.
        """
        self.path = path
        self._database = SqliteDatabase(path, _SCHEMA)
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        self._open()

    def _open(self) -> None:
        try:
            self._reader = self._database.open_connection()
        except (OSError, sqlite3.Error) as error:
            raise self.error(error) from error
        self._opened_writer: sqlite3.Connection | None = None

    @property
    def _writer(self) -> sqlite3.Connection:
        if self._opened_writer is None:
            self._opened_writer = self._database.connect()
        return self._opened_writer

    def error(self, reason: Exception) -> StoreError:
        """Return the `StoreError` for an error of SQLite or of the file system."""
        return self._database.error(reason)

    def rebuild(self) -> None:
        """Delete the file and create an empty one.

        Other processes can use the deleted file until they close it.
        """
        with self._write_lock, self._read_lock:
            self.close()
            self._database.delete()
            self._open()

    def close(self) -> None:
        """Close both connections."""
        with self._write_lock, self._read_lock:
            self._reader.close()
            if self._opened_writer is not None:
                self._opened_writer.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the reading connection inside one snapshot of the data."""
        with self._read_lock:
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("ROLLBACK")

    def files(self) -> dict[str, StoredFile]:
        """Return all files, indexed and skipped, by path."""
        with self.reading() as connection:
            rows = connection.execute(
                "SELECT size, mtime_ns, ctime_ns, inode, read_ns, hash, skipped, path FROM files"
            ).fetchall()
        return {os.fsdecode(row[7]): StoredFile._make(row[:7]) for row in rows}

    def paths(self) -> list[str]:
        """Return the paths of all files."""
        with self.reading() as connection:
            return [os.fsdecode(row[0]) for row in connection.execute("SELECT path FROM files")]

    def failures(self) -> dict[bytes, str]:
        """Return the hashes of texts at which a parser failed, with the reasons."""
        with self.reading() as connection:
            return dict(connection.execute("SELECT hash, reason FROM failures").fetchall())

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of indexed files, items, and skipped files."""
        with self.reading() as connection:
            row = connection.execute(
                "SELECT COUNT(*) - COUNT(skipped), COUNT(skipped), TOTAL(items) FROM files"
            ).fetchone()
        return int(row[0]), int(row[2]), int(row[1])

    def write(self, parsed: "Iterable[tuple[FileRows, int]]") -> None:
        """Store files in one transaction, each with the time in ns before it was read.

        The new rows of a file replace its stored rows. If a file has the same hash as before, only
        its size, times and inode are replaced.
        """
        with self._batch() as batch:
            for entry, read_ns in parsed:
                batch.add(entry, read_ns)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files from the index."""
        with self._batch() as batch:
            for path in paths:
                batch.remove(os.fsencode(path))

    def settle(self, read: "Iterable[tuple[str, int]]") -> None:
        """Record that files were read again and have not changed.

        Each path has the time of the read in ns.
        """
        rows = [(read_ns, os.fsencode(path)) for path, read_ns in read]
        with self.writing() as connection:
            connection.executemany(
                "UPDATE files SET read_ns = MAX(read_ns, ?) WHERE path = ?", rows
            )

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the writing connection inside one transaction."""
        with self._write_lock, transaction(self._writer):
            yield self._writer

    @contextmanager
    def _batch(self) -> "Iterator[IndexWriter]":
        # imported late, since it is only needed if a file has changed
        from treadle.code.storage.writer import IndexWriter

        with self.writing() as connection:
            batch = IndexWriter(connection)
            yield batch
            batch.finish()
