"""The files of a tree: an iterative walk that honours ignore files and never follows a link."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from treadle.code.ignore import IgnoreRules
from treadle.paths import why_private

__all__ = ["FileEntry", "IgnoreRules", "walk"]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One regular file.

    `path` is relative to the root of the walk, POSIX, with bytes that are no UTF-8 as
    surrogates (PEP 383). `size` is in bytes; size, `mtime_ns` and `inode` together tell
    cheaply that a file was not touched.
    """

    path: str
    size: int
    mtime_ns: int
    inode: int


def walk(root: Path, *, on_skip: Callable[[str, str], None] | None = None) -> Iterator[FileEntry]:
    """Every regular file below `root` that no ignore rule leaves out, in a stable order.

    Files that usually hold keys or passwords are passed over (see `treadle.paths`).
    Links are never followed: what they point to inside the tree is found at its own place.
    Nested repositories and submodules are walked like any folder, without their `.git`.
    `on_skip(path, reason)` hears of those, of what could not be read, and of links.
    """
    rules = IgnoreRules(root)
    skip = on_skip or (lambda _path, _reason: None)
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            skip(folder or ".", f"unreadable folder: {error.strerror}")
            continue
        below: list[str] = []
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            try:
                is_dir = entry.is_dir(follow_symlinks=False)
                if rules.entry_ignored(path, is_dir=is_dir):
                    continue
                reason = "link" if entry.is_symlink() else why_private(path)
                if reason is not None:
                    skip(path, reason)
                elif is_dir:
                    below.append(path)
                elif entry.is_file(follow_symlinks=False):
                    stat = entry.stat(follow_symlinks=False)
                    yield FileEntry(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)
            except OSError as error:
                skip(path, f"unreadable: {error.strerror}")
        folders.extend(reversed(below))
