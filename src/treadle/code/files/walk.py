"""Walks the files of a tree with its ignore rules, and reads single files."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from treadle.code.files.ignore import IGNORE_FILES, IgnoreRules, git_root_of
from treadle.inside import MAX_DEPTH, Folders, read_inside
from treadle.private_files import why_private_entry

__all__ = ["MAX_FILE_BYTES", "FileEntry", "IgnoreRules", "content_hash", "read_file", "walk"]

MAX_FILE_BYTES = 2_000_000
"""The maximum size in bytes of a file that is read. Larger files are generated code or data."""
MAX_NOTEBOOK_BYTES = 20_000_000
"""The maximum size in bytes of a notebook. Notebooks contain pictures, which are not indexed."""


class FileEntry(NamedTuple):
    """One regular file.

    `path` is a POSIX path relative to the root of the walk. Bytes of a path that are not UTF-8
    become surrogates (PEP 383). `size` is in bytes. `size`, `mtime_ns`, `ctime_ns` and `inode`
    together show whether the file may have changed.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


def walk(root: Path, *, on_skip: Callable[[str, str], None] | None = None) -> Iterator[FileEntry]:
    """Yield every regular file below `root` that no ignore rule excludes, in a stable order.

    Files that usually contain keys or passwords are skipped by name (see `treadle.private_files`).
    Symbolic links are never followed, since a target inside the tree is found at its own path.
    Submodules are walked like any folder, without their `.git`. Other clones and work trees inside
    a repository are skipped, since they contain another state of the code. `on_skip(path, reason)`
    reports skipped clones and work trees, private files, unreadable paths, and links.
    """
    rules = IgnoreRules(root)
    in_repository = git_root_of(root) is not None
    skip = on_skip or (lambda _path, _reason: None)
    pending = [""]
    with Folders(root) as folders:
        while pending:
            folder = pending.pop()
            try:
                entries = {entry.name: entry for entry in folders.entries(folder)}
            except OSError as error:
                skip(folder or ".", f"unreadable folder: {error.strerror}")
                continue
            of_git = in_repository and ".git" in entries
            if (reason := _why_passed_over(rules, root, folder, of_git=of_git)) is not None:
                skip(folder, reason)
                continue
            ignored = rules.in_folder(folder, [name for name in IGNORE_FILES if name in entries])
            lead = folder and folder + "/"
            below: list[str] = []
            for name, entry in sorted(entries.items()):
                try:
                    is_dir = entry.is_dir(follow_symlinks=False)
                    if ignored(name, is_dir):
                        continue
                    if reason := why_private_entry(folder, name, is_folder=is_dir):
                        skip(lead + name, reason)
                    elif is_dir:
                        below.append(lead + name)
                    elif (file := _file(lead + name, entry, skip)) is not None:
                        yield file
                except OSError as error:
                    skip(lead + name, f"unreadable: {error.strerror}")
            pending.extend(reversed(below))


def _file(
    path: str, entry: "os.DirEntry[str]", skip: Callable[[str, str], None]
) -> FileEntry | None:
    status = entry.stat(follow_symlinks=False)
    if stat.S_ISREG(status.st_mode):
        return FileEntry(
            path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        )
    if stat.S_ISLNK(status.st_mode):
        skip(path, "link")
    return None


def _why_passed_over(rules: IgnoreRules, root: Path, folder: str, *, of_git: bool) -> str | None:
    """Return the reason to skip a folder, or None.

    `of_git` states whether the folder has a `.git`.
    """
    if folder.count("/") >= MAX_DEPTH:
        return f"more than {MAX_DEPTH} folders deep"
    return "another work tree or clone" if of_git and _is_other_tree(rules, root, folder) else None


def _is_other_tree(rules: IgnoreRules, root: Path, folder: str) -> bool:
    """Whether a folder with a `.git` is neither the root nor a submodule.

    The `.git` of a submodule is a file that names a folder below `modules`.
    """
    if not folder or folder in rules.tracked.submodules:
        return False
    try:
        with read_inside(root, f"{folder}/.git") as file:
            pointer = file.read(4_096)
    except OSError:  # `.git` is a folder, for example
        return True
    names_module = b"/modules/" in pointer.replace(b"\\", b"/")
    return not (pointer.startswith(b"gitdir:") and names_module)


def read_file(root: Path | str, path: str) -> tuple[bytes | None, os.stat_result]:
    """Read the regular file at `path` below `root`, and return its bytes and its status.

    The bytes are None if the file is larger than `MAX_FILE_BYTES`, or `MAX_NOTEBOOK_BYTES` for a
    notebook. Links are not followed, and a named pipe does not block the function. Raises OSError.
    """
    with read_inside(root, path) as file:
        status = os.fstat(file.fileno())
        most = MAX_NOTEBOOK_BYTES if path.endswith(".ipynb") else MAX_FILE_BYTES
        data = file.read(most + 1)
    return (None if len(data) > most else data), status


def content_hash(data: bytes) -> bytes:
    """Return the BLAKE2b-256 hash of the raw bytes of a file."""
    # imported late, since it loads OpenSSL, which a search without changes does not need
    import hashlib

    return hashlib.blake2b(data, digest_size=32).digest()
