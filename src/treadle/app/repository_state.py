"""The state of a repository for status lines: its git branch, and its code index."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from treadle.code import CodeIndex
from treadle.code.files.checkout import Checkout


@dataclass(frozen=True, slots=True)
class IndexState:
    """The code index. `refreshing` is true while this process reads changed files.

    `fresh` is true if no file has changed since the last refresh.
    """

    files: int
    items: int
    refreshing: bool
    fresh: bool


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """The folder, the branch and the index of a repository.

    If HEAD is detached, `branch` is null and `commit` is the hash of the commit. Both are null if
    the folder is not in a git repository.
    """

    root: str
    branch: str | None
    commit: str | None
    index: IndexState


async def repository_state(root: Path, index: CodeIndex) -> RepositoryState:
    """The present state. Compares every file with the index. Raises StoreError."""
    return await asyncio.to_thread(_read, root, index)


def _read(root: Path, index: CodeIndex) -> RepositoryState:
    checkout = Checkout.of(root) or Checkout(None, None)
    status = index.status()
    state = IndexState(status.files, status.items, index.refreshing, status.fresh)
    return RepositoryState(str(root), checkout.branch, checkout.commit, state)
