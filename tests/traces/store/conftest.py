"""A store of the tests of the trace store, on each engine."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.engines import NewAddress, PostgresServer
from treadle.database import PostgresAddress
from treadle.traces import TraceStore


@pytest.fixture
def store(new_address: NewAddress) -> Iterator[TraceStore]:
    """A new store on each engine."""
    opened = TraceStore.open(new_address())
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def shared_database(postgres: PostgresServer) -> str:
    """A database for the projects of several tests. A new project creates no further database."""
    return postgres.new_database()


@pytest.fixture
def postgres_address(shared_database: str, tmp_path: Path) -> PostgresAddress:
    """The address of a new store in PostgreSQL."""
    return PostgresAddress(shared_database, f"p{uuid4().hex[:20]}", "traces", tmp_path)
