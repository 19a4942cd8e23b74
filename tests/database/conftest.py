"""Databases of notes on both engines."""

from collections.abc import Iterator

import pytest

from tests.database.notes import NOTES
from treadle.app.stores import Stores
from treadle.database import Database, StoreAddress, open_database


@pytest.fixture
def address(both_stores: Stores) -> StoreAddress:
    """The address of a database that does not exist."""
    return both_stores.ui


@pytest.fixture
def database(address: StoreAddress) -> Iterator[Database]:
    with open_database(address, NOTES) as opened:
        yield opened
