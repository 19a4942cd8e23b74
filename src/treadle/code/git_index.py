"""The files that git tracks, read from its index: what is tracked counts though it is ignored."""

import os
import struct
from pathlib import Path
from typing import NamedTuple

from treadle.code.git_folders import GitFolders
from treadle.inside import read_regular

_MAX_INDEX_BYTES = 200_000_000
_MAX_PATH_BYTES = 200_000_000
"""Of all paths and their folders: an index can name far more than it has bytes."""
_HEAD = struct.Struct(">4sII")
_FIXED = 62
"""Bytes of an entry before its path, with a SHA-1 hash."""
_EXTENDED = 0x4000
_SUBMODULE = 0o160000


class Tracked(NamedTuple):
    """Paths below a folder (POSIX, relative to it): files, the folders of these, and submodules."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    submodules: frozenset[str] = frozenset()


def tracked_below(root: Path, git_root: Path) -> Tracked:
    """What the work tree at `git_root` tracks below `root`; nothing where the index is unreadable.

    A split index and one with hashes of 32 bytes are not read.
    """
    prefix = root.relative_to(git_root).as_posix().removeprefix(".")
    lead = f"{prefix}/" if prefix else ""
    files: set[str] = set()
    submodules: set[str] = set()
    room = _MAX_PATH_BYTES
    for path, mode in _entries(_index_bytes(git_root)):
        if path.startswith(lead):
            (submodules if mode == _SUBMODULE else files).add(path[len(lead) :])
    folders: set[str] = set()
    for path in (*files, *submodules):
        above = path.rpartition("/")[0]
        while above and above not in folders:
            room -= len(above)
            if room < 0:
                return Tracked()
            folders.add(above)
            above = above.rpartition("/")[0]
    return Tracked(frozenset(files), frozenset(folders), frozenset(submodules))


def _index_bytes(git_root: Path) -> bytes:
    try:
        return read_regular(os.fspath(GitFolders.of(git_root).own / "index"), _MAX_INDEX_BYTES)
    except OSError:
        return b""


def _entries(data: bytes) -> "list[tuple[str, int]]":
    """Path and mode of each entry; none if the bytes are not an index of version 2 to 4."""
    found: list[tuple[str, int]] = []
    try:
        signature, version, count = _HEAD.unpack_from(data)
        if signature != b"DIRC" or not 2 <= version <= 4:
            return []
        position = _HEAD.size
        path = b""
        room = _MAX_PATH_BYTES
        for _ in range(count):
            (mode,) = struct.unpack_from(">I", data, position + 24)
            (flags,) = struct.unpack_from(">H", data, position + 60)
            start = position + _FIXED + (2 if flags & _EXTENDED else 0)
            if version == 4:  # only what differs from the path before
                removed, start = _number(data, start)
                end = data.index(b"\0", start)
                path = path[: len(path) - removed] + data[start:end]
                position = end + 1
            else:
                end = data.index(b"\0", start)
                path = data[start:end]
                position += (end - position + 8) & ~7
            room -= len(path)
            if room < 0:
                return []
            found.append((os.fsdecode(path), mode & 0o170000))
    except (struct.error, ValueError, IndexError):
        return []
    return found


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A number of variable length, as git packs offsets, and where it ends."""
    byte = data[position]
    value = byte & 0x7F
    while byte & 0x80:
        position += 1
        byte = data[position]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, position + 1
