"""Reads the branch or the commit that a work tree has checked out, without starting git."""

import os
import re
from pathlib import Path
from typing import NamedTuple, Self

from treadle.code.files.git import GitFolders
from treadle.code.files.ignore import git_root_of
from treadle.inside import read_regular

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH = "ref: refs/heads/"
_MAX_HEAD_BYTES = 4_096

_UNKNOWN = ".invalid"
"""The branch name that git writes to HEAD if it stores the real branch in a `reftable`."""


class Checkout(NamedTuple):
    """The branch that a work tree has checked out, or the commit if its HEAD is detached.

    One of the two fields is None. Both are None if git stores its refs in a `reftable`.
    """

    branch: str | None
    commit: str | None

    @classmethod
    def of(cls, root: Path) -> Self | None:
        """Return the checkout of the work tree that contains `root`, or None if there is none."""
        git_root = git_root_of(root)
        if git_root is None:
            return None
        try:
            head = os.fspath(GitFolders.of(git_root).own / "HEAD")
            value = os.fsdecode(read_regular(head, _MAX_HEAD_BYTES)).strip()
        except OSError:
            return None
        if value.startswith(_BRANCH):
            branch = value.removeprefix(_BRANCH)
            return cls(None if branch == _UNKNOWN else branch, None)
        return cls(None, value if _COMMIT.fullmatch(value) else None)
