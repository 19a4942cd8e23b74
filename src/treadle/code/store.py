"""The index on disk: one SQLite file per root, derived data that is rebuilt whenever in doubt."""

import hashlib
import os
import sqlite3
import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.errors import StoreError

if TYPE_CHECKING:
    from treadle.code.parse import ParsedFile

SCHEMA_VERSION = 2
"""Raised with the tables, the terms, or what a language extracts; another version is rebuilt."""

_BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    read_ns INTEGER NOT NULL,
    hash BLOB NOT NULL,
    language TEXT,
    lines INTEGER NOT NULL,
    skipped TEXT,
    first_item INTEGER NOT NULL,
    items INTEGER NOT NULL,
    terms BLOB NOT NULL
);
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL,
    parent_id INTEGER,
    name TEXT NOT NULL COLLATE NOCASE,
    canonical_path TEXT NOT NULL,
    kind TEXT NOT NULL,
    start_byte INTEGER NOT NULL,
    end_byte INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    signature_start INTEGER NOT NULL,
    signature_end INTEGER NOT NULL
);
CREATE INDEX items_by_name ON items (name);
CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, documents INTEGER NOT NULL);
CREATE TABLE postings (
    term_id INTEGER NOT NULL,
    item_id INTEGER NOT NULL,
    frequency INTEGER NOT NULL,
    PRIMARY KEY (term_id, item_id)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """What tells whether a file on disk is still the one indexed."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    read_ns: int
    hash: bytes
    skipped: str | None


def store_path(cache_dir: Path, root: Path) -> Path:
    """Where the index of a resolved root is kept."""
    key = hashlib.blake2b(os.fsencode(root), digest_size=8).hexdigest()
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in root.name)[:40]
    return cache_dir / "index" / f"{name}-{key}.sqlite3"


class Store:
    """Tables and transactions.

    One connection reads, one writes; each is used by one thread at a time, and any number of
    processes may do the same (WAL, busy time-out).
    """

    def __init__(self, path: Path) -> None:
        """Open the file; a file of another version or a broken one is made anew.

        Raises `StoreError` if the place cannot be written.
        """
        self.path = path
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        except (OSError, sqlite3.OperationalError) as error:
            raise cannot_use(path, error) from error

    def _open(self) -> None:
        try:
            self._writer = self._prepared()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self._discard()
            self._writer = self._prepared()
        self._reader = self._connect()

    def _prepared(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            _make_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
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
            self._writer.close()

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
        """All files known, indexed and skipped."""
        with self.reading() as connection:
            rows = connection.execute(
                "SELECT path, size, mtime_ns, inode, read_ns, hash, skipped FROM files"
            ).fetchall()
        return {(path := os.fsdecode(row[0])): StoredFile(path, *row[1:]) for row in rows}

    def paths(self) -> list[str]:
        """The paths of all files known."""
        with self.reading() as connection:
            return [os.fsdecode(row[0]) for row in connection.execute("SELECT path FROM files")]

    def counts(self) -> tuple[int, int, int]:
        """Indexed files, items, and skipped files."""
        with self.reading() as connection:
            row = connection.execute(
                "SELECT COUNT(*) - COUNT(skipped), COUNT(skipped), TOTAL(items) FROM files"
            ).fetchone()
        return int(row[0]), int(row[2]), int(row[1])

    def write(self, parsed: "Iterable[tuple[ParsedFile, int]]") -> None:
        """Store files in one transaction, each with the time (ns) before it was read.

        What was known of them is replaced; where the hash is the same, only the stat is.
        """
        batch = _Batch(self._writer)
        with self._write_lock, _transaction(self._writer):
            for file, read_ns in parsed:
                batch.add(file, read_ns)
            batch.finish()

    def remove(self, paths: Iterable[str]) -> None:
        """Forget files."""
        batch = _Batch(self._writer)
        with self._write_lock, _transaction(self._writer):
            for path in paths:
                batch.remove(os.fsencode(path))
            batch.finish()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables if they are not those of this version."""
    if _version(connection) == SCHEMA_VERSION:
        return
    with _transaction(connection):
        if _version(connection) == SCHEMA_VERSION:  # another process was quicker
            return
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for (name,) in tables:
            connection.execute(f'DROP TABLE "{name}"')
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.executemany("INSERT INTO meta VALUES (?, 0)", [("items",)])
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def cannot_use(path: Path, error: Exception) -> StoreError:
    """The error for a person when SQLite or the file system refuses."""
    return StoreError(
        f"The code index at {path} cannot be used: {error}.",
        hint="Check that its folder can be written and has room, or delete it; it is rebuilt.",
    )


class _Batch:
    """The changes of one transaction: postings are gathered and written in key order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._term_ids: dict[str, int] = {}
        self._documents: Counter[int] = Counter()
        self._postings: list[tuple[int, int, int]] = []
        self._items = 0

    def add(self, file: "ParsedFile", read_ns: int) -> None:
        path = os.fsencode(file.path)
        row = self._connection.execute(
            "SELECT id, hash, skipped FROM files WHERE path = ?", (path,)
        ).fetchone()
        same = row and file.content_hash and (row[1], row[2]) == (file.content_hash, file.skipped)
        if same:
            self._connection.execute(
                "UPDATE files SET size = ?, mtime_ns = ?, inode = ?, read_ns = ? WHERE id = ?",
                (file.size, file.mtime_ns, file.inode, read_ns, row[0]),
            )
            return
        if file.unchanged:
            return  # another process has replaced or removed it; the next refresh will see
        if row:
            self.remove(path)
        self._insert(path, file, read_ns)

    def remove(self, path: bytes) -> None:
        """Drop a file, its items, and exactly the postings that it has."""
        row = self._connection.execute(
            "DELETE FROM files WHERE path = ? RETURNING first_item, items, terms", (path,)
        ).fetchone()
        if row is None:
            return
        first, items, packed = row
        last = first + items - 1
        self._connection.execute("DELETE FROM items WHERE id BETWEEN ? AND ?", (first, last))
        for term_id in _unpack(packed):
            deleted = self._connection.execute(
                "DELETE FROM postings WHERE term_id = ? AND item_id BETWEEN ? AND ?",
                (term_id, first, last),
            )
            self._documents[term_id] -= deleted.rowcount
        self._items -= items

    def _insert(self, path: bytes, file: "ParsedFile", read_ns: int) -> None:
        first = self._connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM items").fetchone()[0]
        terms = set[str]().union(*(indexed.terms for indexed in file.items))
        for term in terms.difference(self._term_ids):
            self._term_ids[term] = self._term_id(term)
        ids = self._term_ids
        used = [ids[term] for term in terms]
        for item_id, indexed in enumerate(file.items, start=first):
            self._documents.update(map(ids.__getitem__, indexed.terms))
            self._postings += [
                (ids[term], item_id, frequency) for term, frequency in indexed.terms.items()
            ]
        self._items += len(file.items)
        file_id = self._connection.execute(
            "INSERT INTO files (path, size, mtime_ns, inode, read_ns, hash, language, lines,"
            " skipped, first_item, items, terms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                path,
                file.size,
                file.mtime_ns,
                file.inode,
                read_ns,
                file.content_hash,
                file.language,
                file.lines,
                file.skipped,
                first,
                len(file.items),
                _pack(used),
            ),
        ).lastrowid
        self._connection.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    first + offset,
                    file_id,
                    None if item.parent is None else first + item.parent,
                    item.name,
                    item.canonical_path,
                    item.kind.value,
                    item.start_byte,
                    item.end_byte,
                    item.start_line,
                    item.end_line,
                    item.signature_start,
                    item.signature_end,
                )
                for offset, item in enumerate(indexed.item for indexed in file.items)
            ),
        )

    def _term_id(self, term: str) -> int:
        row = self._connection.execute("SELECT id FROM terms WHERE term = ?", (term,)).fetchone()
        if row is None:
            row = self._connection.execute(
                "INSERT INTO terms (term, documents) VALUES (?, 0) RETURNING id", (term,)
            ).fetchone()
        return int(row[0])

    def finish(self) -> None:
        self._postings.sort()
        self._connection.executemany("INSERT INTO postings VALUES (?, ?, ?)", self._postings)
        self._connection.executemany(
            "UPDATE terms SET documents = documents + ? WHERE id = ?",
            ((change, term_id) for term_id, change in self._documents.items() if change),
        )
        self._connection.executemany(
            "UPDATE meta SET value = value + ? WHERE key = ?",
            [(self._items, "items")],
        )


def _pack(ids: list[int]) -> bytes:
    return array("I", sorted(ids)).tobytes()


def _unpack(packed: bytes) -> list[int]:
    ids: array[int] = array("I")
    ids.frombytes(packed)
    return ids.tolist()
