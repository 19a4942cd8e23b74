"""Reads the commit of a work tree from git's own files.

Starting git would take longer than a search. Refs in a `reftable` are not read. A tree with such
refs counts as a tree without commits.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple, Self

from treadle.code.files.git import GitFolders
from treadle.code.files.ignore import git_root_of
from treadle.inside import read_regular

_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(rb"refs/[^\0-\x20\x7f]+")
_MAX_REF_BYTES = 4_096
_MAX_PACKED_BYTES = 50_000_000
_MAX_SHALLOW_BYTES = 4_000_000
_MAX_LINKS = 5
"""The maximum number of symbolic refs that are followed in a row. Git has the same limit."""


class Head(NamedTuple):
    """The commit of a work tree, and the folder of git's objects.

    `shallow` is git's list of the commits whose parents were not fetched. `prefix` is the path from
    the top of the work tree to the indexed root. `prefix` is empty or ends with a slash.
    """

    commit: str
    objects: Path
    shallow: bytes
    prefix: bytes

    @classmethod
    def of(cls, root: Path) -> Self | None:
        """Return the commit of the work tree that contains `root`, or None if it has none."""
        git_root = git_root_of(root)
        if git_root is None:
            return None
        folders = GitFolders.of(git_root)
        commit = _commit(folders)
        if commit is None:
            return None
        below = root.relative_to(git_root).as_posix()
        return cls(
            commit.decode(),
            folders.common / "objects",
            _read(folders.common / "shallow", _MAX_SHALLOW_BYTES),
            b"" if below == "." else os.fsencode(below) + b"/",
        )


def _commit(folders: GitFolders) -> bytes | None:
    value = _read(folders.own / "HEAD", _MAX_REF_BYTES).strip()
    for _ in range(_MAX_LINKS):
        if _COMMIT.fullmatch(value):
            return value
        name = value.removeprefix(b"ref:").strip()
        if name == value or not _REF.fullmatch(name) or b".." in name:
            return None
        path = os.fsdecode(name)
        value = (
            _read(folders.own / path, _MAX_REF_BYTES).strip()
            or _read(folders.common / path, _MAX_REF_BYTES).strip()
            or _packed(folders.common, name)
        )
    return None


def _packed(common: Path, name: bytes) -> bytes:
    """Return the value of a ref in the file `packed-refs`, or an empty value."""
    data = b"\n" + _read(common / "packed-refs", _MAX_PACKED_BYTES)
    end = data.find(b" " + name + b"\n")
    return data[data.rfind(b"\n", 0, end) + 1 : end] if end > 0 else b""


def _read(path: Path, limit: int) -> bytes:
    try:
        return read_regular(os.fspath(path), limit)
    except OSError:
        return b""
