"""Which vectors search a repository: by the variable, by the settings, and without either."""

from pathlib import Path

import pytest

from treadle.app import embedding
from treadle.app.embedding import Embedders, embedders_for

MODEL = Path("/model")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user who has set nothing, where the own embedding is installed."""
    home = tmp_path / "home"
    monkeypatch.setenv("TREADLE_HOME", str(home))
    monkeypatch.delenv("TREADLE_CONTEXT__EMBEDDER", raising=False)
    monkeypatch.setattr(embedding, "own_embedding", lambda: MODEL)
    return home


def chosen(embedders: Embedders) -> tuple[Path | None, str | None]:
    """The folder of the own embedding, and the name of the embedder on top."""
    static, embedder = embedders
    on_top = None if embedder is None else embedder()
    return static and static(), on_top.name if on_top is not None else None


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", (MODEL, None)),
        ("static", (MODEL, None)),
        ("none", (None, None)),
        ("minilm", (MODEL, "minilm-l6-int8-128")),
    ],
)
def test_settings_and_the_variable_choose_alike(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
    expected: tuple[Path | None, str | None],
) -> None:
    monkeypatch.setenv("TREADLE_CONTEXT__EMBEDDER", choice)
    assert chosen(embedders_for(tmp_path)) == expected
    monkeypatch.delenv("TREADLE_CONTEXT__EMBEDDER")
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text(f'[context]\nembedder = "{choice}"\n')
    assert chosen(embedders_for(tmp_path)) == expected


def test_without_a_word_of_it_the_settings_are_not_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unexpected(_root: Path) -> None:
        raise AssertionError("the settings were read")

    monkeypatch.setattr(embedding, "_settings", unexpected)
    assert chosen(embedders_for(tmp_path)) == (MODEL, None)
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text('[context]\nautomatic = "off"\n')
    assert chosen(embedders_for(tmp_path)) == (MODEL, None)
