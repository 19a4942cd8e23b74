"""Which files and items of the index are the places that a report names."""

import os
import sqlite3
from collections.abc import Sequence
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
    known = _files_named(connection, {frame.name for frame in frames}) if frames else {}
    calls: set[tuple[int, int | None]] = set()
    for frame in frames:
        file_id = _own_file(frame.path, known.get(frame.name, ()))
        if file_id is None:
            continue
        item_id = _item_at(connection, file_id, frame)
        of_file, of_item = _NAMED
        if frame.is_call:
            of_file, of_item = _CALLS[min(len(calls), len(_CALLS) - 1)]
            calls.add((file_id, item_id))
        found.files[file_id] = max(of_file, found.files.get(file_id, 0.0))
        if item_id is not None:
            found.items[item_id] = max(of_item, found.items.get(item_id, 0.0))
    return found


def _files_named(
    connection: sqlite3.Connection, names: set[str]
) -> dict[str, list[tuple[int, str]]]:
    """The files of the index with one of some names."""
    found: dict[str, list[tuple[int, str]]] = {}
    for file_id, stored in connection.execute("SELECT id, path FROM files WHERE items > 0"):
        path = os.fsdecode(stored)
        name = path.rpartition("/")[2]
        if name in names:
            found.setdefault(name, []).append((file_id, path))
    return found


def _own_file(path: str, known: Sequence[tuple[int, str]]) -> int | None:
    """The one of `known` that shares the longest end with `path`; None if that says too little.

    A path of several parts has to share two of them, since names such as `index.js` are in every
    package.
    """
    parts = path.split("/")
    shared = [(_shared(parts, own.split("/")), file_id) for file_id, own in known]
    most = max((same for same, _ in shared), default=0)
    best = [file_id for same, file_id in shared if same == most]
    if len(best) != 1 or most < min(2, len(parts)):
        return None
    outside = any(
        folder in parts and parts.index(folder) + 1 < len(parts) - most for folder in _INSTALLED
    )
    return None if outside else best[0]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count


def items_of_file(connection: sqlite3.Connection, file_id: int, columns: str) -> list[Any]:
    """Some columns of the items of a file."""
    first = file_id << PLACE_BITS
    return connection.execute(
        f"SELECT {columns} FROM items WHERE id BETWEEN ? AND ?",  # noqa: S608
        (first, first | PLACES),
    ).fetchall()


def _item_at(connection: sqlite3.Connection, file_id: int, frame: Frame) -> int | None:
    """The item of a frame: by its name, since lines differ between versions, or by its line."""
    rows = [
        row
        for row in items_of_file(connection, file_id, "id, name, kind, start_line, end_line")
        if row[2] not in TEXT_KINDS
    ]
    line = frame.line
    named = [row for row in rows if frame.function and row[1] == frame.function]
    if named:
        return int(min(named, key=lambda row: abs(row[3] - (line or row[3])))[0])
    if line is None:
        return None
    around = [row for row in rows if row[3] <= line <= row[4] and row[2] in FUNCTION_KINDS]
    return int(min(around, key=lambda row: row[4] - row[3])[0]) if around else None
