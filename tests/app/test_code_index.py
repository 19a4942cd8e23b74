"""The settings choose the embedding and the git history of an index, and are read late."""

from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.app import code_index
from treadle.app.code_index import embedding_for, history_choice
from treadle.config import loader
from treadle.config.loader import load
from treadle.errors import ConfigError

MODEL = Path("/model")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user without settings, where the embedding is installed."""
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    monkeypatch.setenv("TREADLE_HOME", str(home))
    monkeypatch.delenv("TREADLE_CONTEXT__EMBEDDER", raising=False)
    monkeypatch.delenv("TREADLE_CONTEXT__GIT_HISTORY", raising=False)
    monkeypatch.setattr(code_index, "own_embedding", lambda: MODEL)
    return home


def folder(chosen: Callable[[], Path | None] | None) -> Path | None:
    return None if chosen is None else chosen()


@pytest.mark.parametrize(
    ("choice", "expected"), [("auto", MODEL), ("static", MODEL), ("none", None)]
)
def test_settings_and_variable_choose_the_same_embedding(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
    expected: Path | None,
) -> None:
    monkeypatch.setenv("TREADLE_CONTEXT__EMBEDDER", choice)
    assert folder(embedding_for(tmp_path)) == expected
    monkeypatch.delenv("TREADLE_CONTEXT__EMBEDDER")
    (home / "config" / "config.toml").write_text(f'[context]\nembedder = "{choice}"\n')
    assert folder(embedding_for(tmp_path)) == expected


def test_settings_without_the_key_are_not_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unexpected(*_arguments: object) -> None:
        raise AssertionError("the settings were read")

    monkeypatch.setattr(loader, "load", unexpected)
    assert folder(embedding_for(tmp_path)) == MODEL
    (home / "config" / "config.toml").write_text('[context]\nautomatic = "off"\n')
    assert folder(embedding_for(tmp_path)) == MODEL
    assert history_choice(tmp_path)()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('embedder = "minilm"', 'no longer accepts "minilm"; use "auto"'),
        ('embedder = "openai"', 'no longer accepts "openai"; use "auto"'),
        ('embedding_model = "a/b"', "Remove the line"),
    ],
)
def test_settings_of_removed_embedders_are_reported(
    home: Path, tmp_path: Path, line: str, message: str
) -> None:
    (home / "config" / "config.toml").write_text(f"[context]\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {}, {})
    assert message in str(caught.value)
    assert "config.toml:2" in str(caught.value)


def test_history_is_read_unless_the_settings_say_otherwise(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert history_choice(tmp_path)()
    monkeypatch.setenv("TREADLE_CONTEXT__GIT_HISTORY", "false")
    assert not history_choice(tmp_path)()
    monkeypatch.delenv("TREADLE_CONTEXT__GIT_HISTORY")
    (home / "config" / "config.toml").write_text("[context]\ngit_history = false\n")
    assert not history_choice(tmp_path)()


def test_repository_may_switch_its_history_off(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".treadle").mkdir()
    (tmp_path / ".treadle" / "config.toml").write_text("[context]\ngit_history = false\n")
    assert not history_choice(tmp_path)()
