"""Writes the index: its tables, and the changes of one transaction."""

import itertools
import os
import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from treadle.code.dense.vector_tables import SCHEMA as VECTORS_SCHEMA
from treadle.code.dense.vector_tables import drop_vectors, put_vectors
from treadle.code.graph.tables import SCHEMA as GRAPH_SCHEMA
from treadle.code.graph.tables import delete_references
from treadle.code.history.tables import SCHEMA as HISTORY_SCHEMA
from treadle.code.history.tables import key_of
from treadle.code.storage.postings import (
    GROUP_BITS,
    POSITION_BITS,
    POSITION_MASK,
    POSTING_BYTES,
    pack,
)
from treadle.code.storage.postings import SCHEMA as POSTINGS_SCHEMA
from treadle.database import Connection

if TYPE_CHECKING:
    from treadle.code.parse.file import ParsedFile
    from treadle.code.storage.entries import FileRows

T = TypeVar("T")

_IN_GROUP = (1 << GROUP_BITS) - 1
"""The bits of a file id that are the position of the file in its group."""
_MANY_TERMS = 3_000
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,
    path_key INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    read_ns INTEGER NOT NULL,
    hash BLOB NOT NULL,
    language TEXT,
    lines INTEGER NOT NULL,
    skipped TEXT,
    reading TEXT NOT NULL,
    origin TEXT NOT NULL,
    items INTEGER NOT NULL
);
CREATE INDEX files_by_key ON files (path_key);
CREATE TABLE failures (hash BLOB PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file_terms (file_id INTEGER PRIMARY KEY, terms BLOB NOT NULL);
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
"""


def create_tables(connection: Connection) -> None:
    """Replace all tables by empty tables of this version."""
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    for (name,) in tables:
        connection.execute(f'DROP TABLE "{name}"')
    schemas = (_SCHEMA, POSTINGS_SCHEMA, GRAPH_SCHEMA, VECTORS_SCHEMA, HISTORY_SCHEMA)
    for statement in "".join(schemas).split(";"):
        connection.execute(statement)
    connection.executemany("INSERT INTO meta VALUES (?, 0)", [("items",)])


class IndexWriter:
    """The changes of one transaction. Rows of large tables are collected and written in order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._term_ids: dict[str, int] = {}
        self._documents: Counter[int] = Counter()
        self._postings: list[tuple[int, int, int, bytes]] = []
        self._came: defaultdict[int, defaultdict[int, list[int]]] = _by_group(list)
        self._left: defaultdict[int, defaultdict[int, set[int]]] = _by_group(set)
        self._mentions: list[tuple[int, int, int]] = []
        self._items = 0
        self._free = self._free_ids()

    def _free_ids(self) -> Iterator[int]:
        """Yield free ids for files.

        Ids of removed files come first, so that groups stay full.
        """
        count, last = self._connection.execute(
            "SELECT COUNT(*), COALESCE(MAX(id), 0) FROM files"
        ).fetchone()
        if count < last:
            used = {row[0] for row in self._connection.execute("SELECT id FROM files")}
            yield from [number for number in range(1, last) if number not in used]
        yield from itertools.count(last + 1)

    def add(self, entry: "FileRows", read_ns: int) -> None:
        """Replace the rows of a file.

        If the hash is the same, only the size, times and inode are replaced.
        """
        file = entry.file
        path = os.fsencode(file.path)
        row = self._connection.execute(
            "SELECT id, hash, skipped FROM files WHERE path = ?", (path,)
        ).fetchone()
        same = row and file.content_hash and (row[1], row[2]) == (file.content_hash, file.skipped)
        if same:
            self._connection.execute(
                "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, read_ns = ?"
                " WHERE id = ?",
                (file.size, file.mtime_ns, file.ctime_ns, file.inode, read_ns, row[0]),
            )
            return
        if file.failed:
            self._connection.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?)", (file.content_hash, file.skipped)
            )
        if file.unchanged:
            return  # another process changed the row, so the next refresh reads the file
        if row:
            self.remove(path)
        self._insert(row[0] if row else next(self._free), path, entry, read_ns)

    def remove(self, path: bytes) -> None:
        """Remove a file, its items and its postings."""
        row = self._connection.execute(
            "DELETE FROM files WHERE path = ? RETURNING id, items", (path,)
        ).fetchone()
        if row is None:
            return
        file_id, items = row
        (packed,) = self._connection.execute(
            "DELETE FROM file_terms WHERE file_id = ? RETURNING terms", (file_id,)
        ).fetchone()
        delete_references(self._connection, file_id)
        drop_vectors(self._connection, file_id)
        first = file_id << POSITION_BITS
        self._connection.execute(
            "DELETE FROM items WHERE id BETWEEN ? AND ?", (first, first | POSITION_MASK)
        )
        left = self._left[file_id >> GROUP_BITS]
        for term_id in _unpack(packed):
            left[term_id].add(file_id & _IN_GROUP)
            (size,) = self._connection.execute(
                "DELETE FROM postings WHERE file_group = ? AND term_id = ? AND file_id = ?"
                " RETURNING length(data)",
                (file_id >> GROUP_BITS, term_id, file_id),
            ).fetchone()
            self._documents[term_id] -= size // POSTING_BYTES
        self._items -= items

    def _insert(self, file_id: int, path: bytes, entry: "FileRows", read_ns: int) -> None:
        file = entry.file
        self._connection.execute(
            "INSERT INTO files (id, path, path_key, size, mtime_ns, ctime_ns, inode, read_ns, hash,"
            " language, lines, skipped, reading, origin, items)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                file_id,
                path,
                key_of(path),
                file.size,
                file.mtime_ns,
                file.ctime_ns,
                file.inode,
                read_ns,
                file.content_hash,
                file.language,
                file.lines,
                file.skipped,
                file.reading.value,
                file.origin.value,
                len(entry.items),
            ),
        )
        self._insert_postings(file_id, entry)
        self._insert_references(file_id, file)
        first = file_id << POSITION_BITS
        self._connection.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (first + position, file_id, None if parent is None else first + parent, *columns)
                for position, (parent, *columns) in enumerate(entry.items)
            ),
        )
        if entry.vectors is not None:
            put_vectors(self._connection, file_id, entry.vectors)
        self._items += len(entry.items)

    def _insert_postings(self, file_id: int, entry: "FileRows") -> None:
        used = self._ids_of(entry.terms)
        self._connection.execute("INSERT INTO file_terms VALUES (?, ?)", (file_id, _pack(used)))
        group = file_id >> GROUP_BITS
        position = file_id & _IN_GROUP
        came = self._came[group]
        for term_id, data, count in zip(used, entry.postings, entry.in_file, strict=True):
            self._postings.append((group, term_id, file_id, data))
            if count:
                came[term_id].append(count << POSITION_BITS | position)
            self._documents[term_id] += len(data) // POSTING_BYTES

    def _insert_references(self, file_id: int, file: "ParsedFile") -> None:
        if file.references is not None:
            data, names = file.references
            self._connection.execute("INSERT INTO refs VALUES (?, ?)", (file_id, data))
            group = file_id >> GROUP_BITS
            self._mentions += [(group, name, file_id) for name in names]

    def _ids_of(self, terms: list[str]) -> list[int]:
        """Return the ids of terms. New terms get new ids."""
        unknown = [term for term in terms if term not in self._term_ids]
        if unknown:
            self._term_ids.update(
                self._connection.execute(
                    "SELECT term, id FROM terms WHERE term IN (SELECT value FROM json_each(?))",
                    (
                        '["' + '","'.join(unknown) + '"]',
                    ),  # terms contain no character that JSON escapes
                )
            )
            new = [term for term in unknown if term not in self._term_ids]
            last = self._connection.execute("SELECT COALESCE(MAX(id), 0) FROM terms").fetchone()[0]
            self._term_ids.update(zip(new, range(last + 1, last + 1 + len(new)), strict=True))
            self._connection.executemany(
                "INSERT INTO terms VALUES (?, ?, 0)", ((self._term_ids[term], term) for term in new)
            )
        return [self._term_ids[term] for term in terms]

    def _write_file_postings(self) -> None:
        """Replace the postings of whole files for each group and term that has changed."""
        for group in {*self._came, *self._left}:
            came, left = self._came[group], self._left[group]
            known = self._known_file_postings(group, {*came, *left})
            rows: list[tuple[int, int, bytes]] = []
            for term_id in sorted({*came, *left}):
                data = pack(came.get(term_id, ()))
                if term_id in known:
                    removed = left.get(term_id, ())
                    before = _unpack(known[term_id])
                    data = (
                        pack(each for each in before if each & POSITION_MASK not in removed) + data
                    )
                rows.append((group, term_id, data))
            self._connection.executemany(
                "INSERT OR REPLACE INTO file_postings VALUES (?, ?, ?)", rows
            )
            self._connection.executemany(
                "DELETE FROM file_postings WHERE file_group = ? AND term_id = ?",
                [row[:2] for row in rows if not row[2]],
            )

    def _known_file_postings(self, group: int, terms: set[int]) -> dict[int, bytes]:
        """Return the postings of whole files in a group for the given terms.

        If there are many terms, one query reads all rows of the group, which is faster than a
        search for each term.
        """
        if len(terms) >= _MANY_TERMS:
            rows = self._connection.execute(
                "SELECT term_id, data FROM file_postings WHERE file_group = ?", (group,)
            )
        else:
            rows = self._connection.execute(
                "SELECT p.term_id, p.data FROM json_each(?) AS t CROSS JOIN file_postings AS p"
                " ON p.file_group = ? AND p.term_id = t.value",
                (str(list(terms)), group),
            )
        return dict(rows.fetchall())

    def finish(self) -> None:
        """Write the collected rows. The caller ends the transaction after this."""
        self._mentions.sort()
        self._connection.executemany("INSERT INTO mentions VALUES (?, ?, ?)", self._mentions)
        self._postings.sort()
        self._write_file_postings()
        self._connection.executemany("INSERT INTO postings VALUES (?, ?, ?, ?)", self._postings)
        self._connection.executemany(
            "UPDATE terms SET documents = documents + ? WHERE id = ?",
            ((change, term_id) for term_id, change in self._documents.items() if change),
        )
        self._connection.executemany(
            "UPDATE meta SET value = value + ? WHERE key = ?",
            [(self._items, "items")],
        )


def _by_group(factory: Callable[[], T]) -> defaultdict[int, defaultdict[int, T]]:
    """Return a dictionary by group whose values are dictionaries by term."""
    return defaultdict(lambda: defaultdict(factory))


def _pack(ids: list[int]) -> bytes:
    return array("I", sorted(ids)).tobytes()


def _unpack(packed: bytes) -> list[int]:
    ids: array[int] = array("I")
    ids.frombytes(packed)
    return ids.tolist()
