import pytest


@pytest.fixture(autouse=True)
def own_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the person who runs the tests does not change the pictures."""
    for name in ("NO_COLOR", "TREADLE_TERMINAL__THEME"):
        monkeypatch.delenv(name, raising=False)
