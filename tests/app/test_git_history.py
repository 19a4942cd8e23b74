"""Whether git history is read: by the variable, by the settings, and without either."""

from pathlib import Path

import pytest

from treadle.app import git_history
from treadle.app.git_history import history_choice


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("TREADLE_HOME", str(home))
    monkeypatch.delenv("TREADLE_CONTEXT__GIT_HISTORY", raising=False)
    return home


def test_history_is_read_unless_the_settings_say_otherwise(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert history_choice(tmp_path)()
    monkeypatch.setenv("TREADLE_CONTEXT__GIT_HISTORY", "false")
    assert not history_choice(tmp_path)()
    monkeypatch.delenv("TREADLE_CONTEXT__GIT_HISTORY")
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text("[context]\ngit_history = false\n")
    assert not history_choice(tmp_path)()


def test_repository_may_switch_its_history_off(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".treadle").mkdir()
    (tmp_path / ".treadle" / "config.toml").write_text("[context]\ngit_history = false\n")
    assert not history_choice(tmp_path)()


def test_settings_without_a_word_of_it_are_not_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unexpected(_root: Path) -> bool:
        raise AssertionError("the settings were read")

    monkeypatch.setattr(git_history, "_chosen", unexpected)
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text('[context]\nautomatic = "off"\n')
    assert history_choice(tmp_path)()
