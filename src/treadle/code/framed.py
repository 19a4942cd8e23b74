"""Which files and items of the index are the places that a report names."""

import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from treadle.code.frames import Frame
from treadle.code.model import FUNCTION_KINDS, TEXT_KINDS
from treadle.code.postings import PLACE_BITS, PLACES
from treadle.code.ranking import Framed

_NAMED = (1.0, 0.7)
"""How likely a file that a text names is right, and so is the item at its line."""
_CALLS = ((0.6, 0.5), (0.3, 0.3), (0.05, 0.05))
"""The same for the deepest calls of a trace that are in the index.

Of the issues of `bench.tasks.issues` for tuning, the file and the function of the deepest call
are right for 0.6 and 0.5, those of the next one for 0.25 and 0.43, others for 0.02.
"""
_INSTALLED = ("site-packages", "dist-packages")
"""Folders whose folders are packages: a path below another package is not of the repository."""


def find_framed(connection: sqlite3.Connection, frames: Sequence[Frame]) -> Framed:
    """The files and items of the index that frames are in."""
    found = Framed({}, {})
    if not frames:
        return found
    known = _files_by_end(connection, {end for frame in frames for end in _ends(frame.path)})
    items: dict[int, list[Any]] = {}
    calls: set[tuple[int, int | None]] = set()
    for frame in frames:
        file_id = _own_file(frame.path, known)
        if file_id is None:
            continue
        if file_id not in items:
            items[file_id] = _definitions_of_file(connection, file_id)
        item_id = _item_at(items[file_id], frame)
        of_file, of_item = _NAMED
        if frame.is_call:
            of_file, of_item = _CALLS[min(len(calls), len(_CALLS) - 1)]
            calls.add((file_id, item_id))
        found.files[file_id] = max(of_file, found.files.get(file_id, 0.0))
        if item_id is not None:
            found.items[item_id] = max(of_item, found.items.get(item_id, 0.0))
    return found


def _ends(path: str) -> Iterator[str]:
    """The ends of a path that begin with a folder or a file: the name first, the whole last."""
    parts = path.split("/")
    return ("/".join(parts[at:]) for at in range(len(parts) - 1, -1, -1))


def _files_by_end(connection: sqlite3.Connection, ends: Collection[str]) -> dict[str, int | None]:
    """The file of the index that alone has an end, for those of `ends` that any has.

    None where several have it.
    """
    found: dict[str, int | None] = {}
    for file_id, stored in connection.execute("SELECT id, path FROM files WHERE items > 0"):
        for end in takewhile(ends.__contains__, _ends(os.fsdecode(stored))):
            found[end] = None if end in found else file_id
    return found


def _own_file(path: str, known: Mapping[str, int | None]) -> int | None:
    """The one of `known` that shares the longest end with `path`; None if that says too little.

    A path of several parts has to share two of them, since names such as `index.js` are in every
    package.
    """
    parts = path.split("/")
    shared = [count for count, end in enumerate(_ends(path), start=1) if end in known]
    most = max(shared, default=0)
    if most < min(2, len(parts)):
        return None
    outside = any(
        folder in parts and parts.index(folder) + 1 < len(parts) - most for folder in _INSTALLED
    )
    return None if outside else known["/".join(parts[-most:])]


def _definitions_of_file(connection: sqlite3.Connection, file_id: int) -> list[Any]:
    first = file_id << PLACE_BITS
    rows = connection.execute(
        "SELECT id, name, kind, start_line, end_line FROM items WHERE id BETWEEN ? AND ?",
        (first, first | PLACES),
    )
    return [row for row in rows if row[2] not in TEXT_KINDS]


def _item_at(rows: Sequence[Any], frame: Frame) -> int | None:
    """The item of a frame: by its name, since lines differ between versions, or by its line."""
    line = frame.line
    named = [row for row in rows if frame.function and row[1] == frame.function]
    if named:
        return int(min(named, key=lambda row: abs(row[3] - (line or row[3])))[0])
    if line is None:
        return None
    around = [row for row in rows if row[3] <= line <= row[4] and row[2] in FUNCTION_KINDS]
    return int(min(around, key=lambda row: row[4] - row[3])[0]) if around else None
