from pathlib import Path

import pytest

from tests.engines import PostgresServer


@pytest.fixture(autouse=True)
def _own_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All servers of a test share the stores in one folder."""
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def either_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The servers of the test use SQLite in one run, and a new PostgreSQL database in another."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        monkeypatch.setenv("TREADLE_STORE__URL", server.new_database())
