"""The engine of the experiments."""

from uuid import uuid4

import pytest

from tests.experiments.world import PROJECT


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def experiments_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store experiments on each engine. The spans stay in a SQLite file."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        monkeypatch.setenv("TREADLE_STORE__URL", url)
        monkeypatch.setenv(PROJECT, f"p{uuid4().hex[:20]}")
