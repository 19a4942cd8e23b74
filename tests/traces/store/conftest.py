"""The engines on which the tests of the trace store run."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.engines import PostgresServer
from treadle.database import PostgresAddress, StoreAddress
from treadle.traces import TraceStore

ENGINES = ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def shared_database(postgres: PostgresServer) -> str:
    """The address of a database in which each test has a project of its own.

    A new project needs a third of the files of a new database.
    """
    return postgres.new_database()


def new_project(database: str, folder: Path) -> PostgresAddress:
    """Return the address of a new store in a database."""
    return PostgresAddress(database, f"p{uuid4().hex[:20]}", "traces", folder)


@pytest.fixture(params=ENGINES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> StoreAddress:
    """The address of a new store on each engine."""
    if request.param == "sqlite":
        return tmp_path / "traces.db"
    return new_project(request.getfixturevalue("shared_database"), tmp_path)


@pytest.fixture
def store(address: StoreAddress) -> Iterator[TraceStore]:
    """A new store on each engine."""
    opened = TraceStore.open(address)
    yield opened
    opened.close()
