from pathlib import Path

import pytest

from tests.tools.samples import Caller
from treadle.events import EventBus


@pytest.fixture
def bus() -> EventBus:
    return EventBus()


@pytest.fixture
def caller(bus: EventBus) -> Caller:
    return Caller(bus)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path
