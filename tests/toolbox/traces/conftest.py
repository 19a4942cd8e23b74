from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.engines import NewAddress
from tests.toolbox.traces.recordings import Recordings
from treadle.traces import TraceStore


@pytest.fixture
def recordings(new_address: NewAddress, tmp_path: Path) -> Iterator[Recordings]:
    with closing(TraceStore.open(new_address())) as store:
        yield Recordings(store, tmp_path)
