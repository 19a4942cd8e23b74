from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toolbox.repository import Repository
from treadle.code import CodeIndex


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    root = tmp_path / "repository"
    root.mkdir()
    index = CodeIndex.open(root, cache_dir=tmp_path / "cache")
    yield Repository(root, index)
    index.close()
