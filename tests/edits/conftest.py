"""A repository in a temporary folder, and its proposals."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.system import FakeSystem
from treadle.app.stores import Stores
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.service import Edits


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A temporary folder in memory if there is one: syncing it takes no time."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def store(both_stores: Stores) -> Iterator[ProposalStore]:
    store = ProposalStore.open(both_stores.proposals)
    yield store
    store.close()


@pytest.fixture
def system() -> FakeSystem:
    return FakeSystem()


@pytest.fixture
def edits(root: Path, store: ProposalStore, system: FakeSystem) -> Edits:
    return Edits(root, store, system=system)
