"""The folders in which git keeps what belongs to a work tree."""

import os
from pathlib import Path
from typing import NamedTuple, Self

from treadle.inside import read_regular

_LARGEST = 4_096
"""Bytes of a file that names a folder."""


class GitFolders(NamedTuple):
    """`own` has the index and HEAD of one work tree; `common` is shared by all of a repository.

    They differ only for a linked work tree. Neither need exist.
    """

    own: Path
    common: Path

    @classmethod
    def of(cls, git_root: Path) -> Self:
        """The folders of the work tree at `git_root`: `.git`, or where that file points to."""
        own = git_root / ".git"
        if own.is_dir():
            return cls(own, own)
        own = git_root / _text(own).removeprefix("gitdir:").strip()
        return cls(own, own / _text(own / "commondir"))


def _text(path: Path) -> str:
    try:
        data = read_regular(os.fspath(path), _LARGEST)
    except OSError:
        return ""
    return os.fsdecode(data).strip()
