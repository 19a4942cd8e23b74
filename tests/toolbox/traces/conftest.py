from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toolbox.traces.recordings import Recordings, opened


@pytest.fixture
def recordings(tmp_path: Path) -> Iterator[Recordings]:
    with opened(tmp_path) as store:
        yield Recordings(store, tmp_path)
