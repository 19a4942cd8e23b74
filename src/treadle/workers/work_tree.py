"""Reads which commit a work tree has checked out, and whether it has changes."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from treadle.git import GitError, run_git

_HEAD = b"# branch.oid "
_NO_COMMIT = "(initial)"


@dataclass(frozen=True, slots=True)
class WorkTree:
    """The state of a work tree.

    `repository` is the same for all clones: a hash of the first commits of the history, and of the
    path of the folder in the repository. `is_clean` is False if a tracked file is changed or an
    untracked file exists that git does not ignore.
    """

    repository: str
    commit: str
    is_clean: bool


def read_work_tree(root: Path) -> WorkTree | None:
    """Return the state of the work tree at `root`, or None if git finds no commit there.

    This function starts git, which takes some milliseconds.
    """
    repository = repository_of(root)
    status = _run(root, "status", "--porcelain=v2", "--branch", "--untracked-files=normal")
    if repository is None or status is None:
        return None
    lines = status.splitlines()
    commit = next((line.removeprefix(_HEAD) for line in lines if line.startswith(_HEAD)), b"")
    if not commit or commit.decode() == _NO_COMMIT:
        return None
    is_clean = all(line.startswith(b"#") for line in lines)
    return WorkTree(repository, commit.decode(), is_clean)


_known: dict[Path, str] = {}


def repository_of(root: Path) -> str | None:
    """Return the identity of the repository at `root`, or None if it has no commit.

    git reads the whole history to find the identity, so it is cached until the process ends.
    """
    root = root.resolve()
    if root not in _known:
        first = _run(root, "rev-list", "--max-parents=0", "HEAD")
        prefix = _run(root, "rev-parse", "--show-prefix")
        if not first or prefix is None:
            return None
        commits = b" ".join(sorted(first.split()))
        _known[root] = hashlib.sha256(commits + b"\0" + prefix.strip()).hexdigest()[:32]
    return _known[root]


def _run(root: Path, *arguments: str) -> bytes | None:
    """Return the output of git, or None if git fails, is missing or takes too long."""
    try:
        return run_git(root, *arguments)
    except GitError:
        return None
