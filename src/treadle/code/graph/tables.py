"""Reads the tables of the item graph: references by file, and files that mention a name."""

import os
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from treadle.code.graph.reference_blobs import Unpacked, mention, mentions, pack
from treadle.code.model import TEXT_KINDS, Kind
from treadle.code.references import FileReferences
from treadle.code.storage.postings import GROUP_BITS, POSITION_BITS, POSITION_MASK, groups

SCHEMA = """
CREATE TABLE refs (file_id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE mentions (
    file_group INTEGER NOT NULL, name INTEGER NOT NULL, file_id INTEGER NOT NULL,
    PRIMARY KEY (file_group, name, file_id)
) WITHOUT ROWID;
"""

_ITEM = (
    "id, file_id, parent_id, name, canonical_path, kind, start_byte, end_byte, start_line,"
    " end_line, signature_start, signature_end"
)

_NAMELESS = TEXT_KINDS | {Kind.METHOD, Kind.IMPL}
"""Kinds of items that other files cannot refer to by their name alone."""
_MAX_MANIFESTS = 1_000
_MAX_REMEMBERED = 500
"""A graph is full when it has cached the references of this many files."""


class Node(NamedTuple):
    """An item in the graph. The ranges have the same meaning as in `Item`."""

    id: int
    file_id: int
    parent_id: int | None
    name: str
    canonical_path: str
    kind: str
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    signature_start: int
    signature_end: int


def top_level(items: Iterable[Node], name: str) -> Node | None:
    """Return the top-level definition of a name in a file, or None."""
    return next(
        (
            node
            for node in items
            if node.name == name and node.parent_id is None and node.kind not in _NAMELESS
        ),
        None,
    )


def unique_definition(graph: "Graph", name: str, canonical_path: str) -> Node | None:
    """Return the definition with a canonical path, or None if no file or several files have it."""
    found = [node for node in graph.named(name, canonical_path) if node.kind not in TEXT_KINDS]
    return found[0] if len({node.file_id for node in found}) == 1 else None


def pack_references(found: FileReferences) -> tuple[bytes, set[int]] | None:
    """Return the references of a file as a blob, and the keys of their names.

    The result is None for a file without references.
    """
    if not (found.references or found.imports or found.module):
        return None
    return pack(found), mentions(found)


def delete_references(connection: sqlite3.Connection, file_id: int) -> None:
    """Delete the references of a file."""
    row = connection.execute(
        "DELETE FROM refs WHERE file_id = ? RETURNING data", (file_id,)
    ).fetchone()
    if row is not None:
        connection.executemany(
            "DELETE FROM mentions WHERE file_group = ? AND name = ? AND file_id = ?",
            ((file_id >> GROUP_BITS, name, file_id) for name in mentions(Unpacked(row[0]))),
        )


class Graph:
    """Reads the tables within one transaction, and caches the rows."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._files: dict[int, tuple[str, str]] = {}
        self._ids: dict[str, int | None] = {}
        self._items: dict[int, list[Node]] = {}
        self._references: dict[int, Unpacked] = {}
        self._manifests: dict[str, list[tuple[str, str]]] = {}
        self._named: dict[tuple[str, str], list[Node]] = {}
        self._impls: dict[str, list[Node]] = {}

    @property
    def is_full(self) -> bool:
        """Whether the cache is so large that the caller should create a new graph."""
        return len(self._references) >= _MAX_REMEMBERED

    def _rows(self, sql: str, *parameters: object) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def file(self, file_id: int) -> tuple[str, str]:
        """Return the path and the language of a file. The language may be empty."""
        if file_id not in self._files:
            ((path, language),) = self._rows(
                "SELECT path, language FROM files WHERE id = ?", file_id
            )
            self._files[file_id] = (os.fsdecode(path), language or "")
        return self._files[file_id]

    def file_id(self, path: str) -> int | None:
        """Return the id of the file at a path, or None if the index has no items of the file."""
        if path not in self._ids:
            rows = self._rows(
                "SELECT id FROM files WHERE path = ? AND items > 0",
                path.encode("utf-8", "surrogateescape"),
            )
            self._ids[path] = rows[0][0] if rows else None
        return self._ids[path]

    def files_below(self, folder: str) -> list[int]:
        """Return the files directly in a folder, ordered by path."""
        start = os.fsencode(f"{folder}/" if folder else "")
        rows = self._rows(
            "SELECT id, path FROM files WHERE path >= ? AND path < ? AND items > 0 ORDER BY path",
            start,
            start[:-1] + b"0" if start else b"\xff",  # "0" follows "/"
        )
        return [row[0] for row in rows if b"/" not in row[1][len(start) :]]

    def manifests(self, name: str) -> list[tuple[str, str]]:
        """Return the folder and the module name of each `go.mod` or `Cargo.toml` of the repository.

        The longest module names come first. See `FileReferences.module`.
        """
        if name not in self._manifests:
            found: list[tuple[str, str]] = []
            for file_id in self.mentioning(name, _MAX_MANIFESTS):
                kind, _, module = self.references(file_id).module.partition(" ")
                if kind == name:
                    found.append((self.file(file_id)[0].rpartition("/")[0], module))
            self._manifests[name] = sorted(found, key=lambda entry: (-len(entry[1]), entry))
        return self._manifests[name]

    def item(self, item_id: int) -> Node | None:
        """Return the item with an id, or None if the item does not exist."""
        rows = self._rows(f"SELECT {_ITEM} FROM items WHERE id = ?", item_id)  # noqa: S608
        return Node(*rows[0]) if rows else None

    def items(self, file_id: int) -> list[Node]:
        """Return the items of a file in order. The last item is the file itself."""
        if file_id not in self._items:
            first = file_id << POSITION_BITS
            rows = self._rows(
                f"SELECT {_ITEM} FROM items WHERE id BETWEEN ? AND ? ORDER BY id",  # noqa: S608
                first,
                first | POSITION_MASK,
            )
            self._items[file_id] = [Node(*row) for row in rows]
        return self._items[file_id]

    def references(self, file_id: int) -> Unpacked:
        """Return the references in a file."""
        if file_id not in self._references:
            rows = self._rows("SELECT data FROM refs WHERE file_id = ?", file_id)
            self._references[file_id] = Unpacked(rows[0][0] if rows else b"")
        return self._references[file_id]

    def mentioning(self, name: str, limit: int) -> list[int]:
        """Return at most `limit` files that may refer to a name."""
        rows = self._rows(
            "SELECT m.file_id FROM json_each(?) AS g CROSS JOIN mentions AS m"
            " ON m.file_group = g.value AND m.name = ? LIMIT ?",
            str(groups(self._connection)),
            mention(name),
            limit,
        )
        return [row[0] for row in rows]

    def named(self, name: str, canonical_path: str) -> list[Node]:
        """Return the items with exactly this name and canonical path."""
        key = (name, canonical_path)
        if key not in self._named:
            rows = self._rows(
                f"SELECT {_ITEM} FROM items WHERE name = ? AND canonical_path = ?"  # noqa: S608
                " ORDER BY id LIMIT 200",
                name,
                canonical_path,
            )
            self._named[key] = [Node(*row) for row in rows]
        return self._named[key]

    def impls(self, name: str) -> list[Node]:
        """Return the impl blocks of all types with the name `name`."""
        if name not in self._impls:
            rows = self._rows(
                f"SELECT {_ITEM} FROM items WHERE name = ? AND kind = 'impl'"  # noqa: S608
                " ORDER BY id LIMIT 200",
                name,
            )
            self._impls[name] = [Node(*row) for row in rows]
        return self._impls[name]
