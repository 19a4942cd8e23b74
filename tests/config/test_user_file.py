"""Saving a setting in the user's configuration file."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle.config.loader import config_paths, load
from treadle.config.user_file import save_setting
from treadle.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    path = config_paths(tmp_path)[0]
    path.parent.mkdir(parents=True, mode=0o700)
    return path


def test_missing_file_is_created_for_its_owner(file: Path, tmp_path: Path) -> None:
    saved = save_setting(tmp_path, {}, "model", "openai/x")
    assert (saved.path, saved.overridden_by) == (str(file), None)
    assert file.stat().st_mode & 0o777 == 0o600
    assert load(tmp_path, {}, {}).settings.model == "openai/x"


def test_comments_order_and_line_ends_stay(file: Path, tmp_path: Path) -> None:
    text = '# mine\r\nmodel = "a/b" # old\r\n\r\n[limits]\r\ncost = 1.0 # dollars\r\n'
    file.write_bytes(text.encode())
    save_setting(tmp_path, {}, "model", "c/d")
    assert file.read_bytes().decode() == text.replace("a/b", "c/d")


def test_variable_that_has_priority_is_reported(file: Path, tmp_path: Path) -> None:
    saved = save_setting(tmp_path, {"TREADLE_MODEL": "other/x"}, "model", "openai/x")
    assert saved.overridden_by is not None
    assert "TREADLE_MODEL" in saved.overridden_by
    assert file.exists()


def test_damaged_file_stays_as_it_was(file: Path, tmp_path: Path) -> None:
    file.write_text("model = ")
    with pytest.raises(ConfigError, match="cannot be changed"):
        save_setting(tmp_path, {}, "model", "openai/x")
    assert file.read_text() == "model = "
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_link_to_the_file_stays_a_link(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "treadle.toml"
    kept.parent.mkdir()
    kept.write_text("# kept\n")
    file.symlink_to(kept)
    save_setting(tmp_path, {}, "model", "openai/x")
    assert file.is_symlink()
    assert kept.read_text().startswith("# kept\n")


@given(name=st.text(st.characters(codec="utf-8"), min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_name_is_read_back(file: Path, tmp_path: Path, name: str) -> None:
    save_setting(tmp_path, {}, "model", name)
    assert tomllib.loads(file.read_text(encoding="utf-8"))["model"] == name
