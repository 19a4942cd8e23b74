"""The branch and the index of a repository, for status lines."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle.app.repository_state import IndexState, RepositoryState, repository_state
from treadle.code import CodeIndex


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.py").write_text("def one():\n    return 1\n")
    return folder


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Iterator[CodeIndex]:
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        yield index


def git(root: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    run = subprocess.run(
        ["git", *settings, *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return run.stdout.strip()


def state(root: Path, index: CodeIndex) -> RepositoryState:
    return asyncio.run(repository_state(root, index))


def checkout(root: Path, index: CodeIndex) -> tuple[str | None, str | None]:
    found = state(root, index)
    return found.branch, found.commit


def test_branch_of_work_trees_and_detached_heads(root: Path, index: CodeIndex) -> None:
    assert checkout(root, index) == (None, None)
    git(root, "init", "-b", "main")
    assert checkout(root, index) == ("main", None)
    git(root, "add", ".")
    git(root, "commit", "-m", "first")
    git(root, "checkout", "-b", "topic/ü")
    assert checkout(root, index) == ("topic/ü", None)
    tree = root.parent / "tree"
    git(root, "worktree", "add", "-b", "other", str(tree))
    assert checkout(tree, index) == ("other", None)
    (tree / "inner").mkdir()
    assert checkout(tree / "inner", index) == ("other", None)
    commit = git(tree, "rev-parse", "HEAD")
    git(tree, "checkout", "--detach")
    assert checkout(tree, index) == (None, commit)


@pytest.mark.parametrize("content", [b"", b"ref: refs/heads/.invalid\n", b"ref: nothing", b"\xff"])
def test_unreadable_head_has_no_branch(root: Path, index: CodeIndex, content: bytes) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_bytes(content)
    assert checkout(root, index) == (None, None)


def test_index_is_fresh_refreshing_or_outdated(root: Path, index: CodeIndex) -> None:
    assert state(root, index).index == IndexState(0, 0, False, False)
    seen = []
    index.refresh(lambda *_: seen.append(index.refreshing))
    assert seen
    assert all(seen)
    assert state(root, index).index == IndexState(1, 2, False, True)
    (root / "b.py").write_text("def two():\n    return 2\n")
    assert state(root, index).index.fresh is False
