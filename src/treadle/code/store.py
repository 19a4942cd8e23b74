"""The index on disk: one SQLite file per root, derived data that is rebuilt whenever in doubt."""

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from treadle.databases import use_write_ahead_log
from treadle.errors import StoreError
from treadle.owner_only import private_file

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, a tenth of what a search may take
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from treadle.code.entries import Entry
    from treadle.code.writing import Batch

GRAMMARS = "semble_grammars"
"""The package of the extra `grammars`."""
SCHEMA_VERSION = 8 * 10 + (find_spec(GRAMMARS) is not None)
"""Raised with the tables, the terms, the origins, or what a language extracts.

An index of another version is rebuilt. With the extra `grammars` more languages are parsed, so it
counts as well.
"""

_BUSY_SECONDS = 30.0


class StoredFile(NamedTuple):
    """What tells whether a file on disk is still the one indexed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    read_ns: int
    hash: bytes
    skipped: str | None


def store_path(cache_dir: Path, root: Path) -> Path:
    """Where the index of a resolved root is kept."""
    key = blake2b(os.fsencode(root), digest_size=8).hexdigest()
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in root.name)[:40]
    return cache_dir / "index" / f"{name}-{key}.sqlite3"


class Store:
    """Tables and transactions.

    One connection reads, one, opened when first needed, writes; each is used by one thread at a
    time, and any number of processes may do the same (WAL, busy time-out).
    """

    def __init__(self, path: Path) -> None:
        """Open the file; a file of another version or a broken one is made anew.

        Raises `StoreError` if the place cannot be written.
        """
        self.path = path
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        try:
            self._open()
        except (OSError, sqlite3.OperationalError) as error:
            raise cannot_use(path, error) from error

    def _open(self) -> None:
        try:
            self._reader = self._prepared()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self._discard()
            self._reader = self._prepared()
        self._opened_writer: sqlite3.Connection | None = None

    def _prepared(self) -> sqlite3.Connection:
        private_file(self.path)
        connection = self._connect()
        try:
            if version(connection) != SCHEMA_VERSION:
                from treadle.code.writing import make_tables  # seldom needed, slow to load

                make_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def _writer(self) -> sqlite3.Connection:
        if self._opened_writer is None:
            self._opened_writer = self._connect()
        return self._opened_writer

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint = 8000")  # 32 MB: each waits for the disk
            connection.execute("PRAGMA cache_size = -32000")
            connection.execute("PRAGMA mmap_size = 268435456")
        except BaseException:
            connection.close()
            raise
        return connection

    def rebuild(self) -> None:
        """Throw the file away and start anew; what others still have open is left to them."""
        with self._write_lock, self._read_lock:
            self.close()
            self._discard()
            self._open()

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def close(self) -> None:
        """Close both connections; the store is not used after."""
        with self._write_lock, self._read_lock:
            self._reader.close()
            if self._opened_writer is not None:
                self._opened_writer.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The reading connection inside one snapshot of the data."""
        with self._read_lock:
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("ROLLBACK")

    def files(self) -> dict[str, StoredFile]:
        """All files known, indexed and skipped, by path."""
        with self.reading() as connection:
            rows = connection.execute(
                "SELECT size, mtime_ns, ctime_ns, inode, read_ns, hash, skipped, path FROM files"
            ).fetchall()
        return {os.fsdecode(row[7]): StoredFile._make(row[:7]) for row in rows}

    def paths(self) -> list[str]:
        """The paths of all files known."""
        with self.reading() as connection:
            return [os.fsdecode(row[0]) for row in connection.execute("SELECT path FROM files")]

    def failures(self) -> dict[bytes, str]:
        """The hashes of texts at which a parser failed, with the reasons."""
        with self.reading() as connection:
            return dict(connection.execute("SELECT hash, reason FROM failures").fetchall())

    def counts(self) -> tuple[int, int, int]:
        """Indexed files, items, and skipped files."""
        with self.reading() as connection:
            row = connection.execute(
                "SELECT COUNT(*) - COUNT(skipped), COUNT(skipped), TOTAL(items) FROM files"
            ).fetchone()
        return int(row[0]), int(row[2]), int(row[1])

    def write(self, parsed: "Iterable[tuple[Entry, int]]") -> None:
        """Store files in one transaction, each with the time (ns) before it was read.

        What was known of them is replaced; where the hash is the same, only the stat is.
        """
        with self._batch() as batch:
            for entry, read_ns in parsed:
                batch.add(entry, read_ns)

    def remove(self, paths: Iterable[str]) -> None:
        """Forget files."""
        with self._batch() as batch:
            for path in paths:
                batch.remove(os.fsencode(path))

    def settle(self, read: "Iterable[tuple[str, int]]") -> None:
        """Note that files were read again at a time (ns) and still have the hash that is known."""
        rows = [(read_ns, os.fsencode(path)) for path, read_ns in read]
        with self.writing() as connection:
            connection.executemany(
                "UPDATE files SET read_ns = MAX(read_ns, ?) WHERE path = ?", rows
            )

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writing connection inside one transaction."""
        with self._write_lock, transaction(self._writer):
            yield self._writer

    @contextmanager
    def _batch(self) -> "Iterator[Batch]":
        from treadle.code.writing import Batch  # not needed where nothing changed

        with self.writing() as connection:
            batch = Batch(connection)
            yield batch
            batch.finish()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing of what is written inside; other writers wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def version(connection: sqlite3.Connection) -> int:
    """The version of the tables; 0 of a new file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def cannot_use(path: Path, error: Exception) -> StoreError:
    """The error for a person when SQLite or the file system refuses."""
    return StoreError(
        f"The code index at {path} cannot be used: {error}.",
        hint="Check that its folder can be written and has room, or delete it; it is rebuilt.",
    )
