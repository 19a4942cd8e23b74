from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All servers of a test share the stores in one folder."""
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
