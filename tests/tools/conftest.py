from pathlib import Path

import pytest

from treadle.events import EventBus


@pytest.fixture
def bus() -> EventBus:
    return EventBus()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path
