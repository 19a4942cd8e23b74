from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toolbox.edit_bench import Bench
from tests.toolbox.repository import Repository
from treadle.code import CodeIndex
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.service import Edits


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    root = tmp_path / "repository"
    root.mkdir()
    index = CodeIndex.open(root, cache_dir=tmp_path / "cache")
    yield Repository(root, index)
    index.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    root = tmp_path / "repository"
    root.mkdir()
    store = ProposalStore.open(tmp_path / "proposals.db")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        yield Bench(root, index, Edits(root, store))
    store.close()
