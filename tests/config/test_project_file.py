"""The settings file of a project, which overrides the settings of the server."""

import os
from pathlib import Path

import pytest

from treadle.config.effective_settings import described
from treadle.config.layers import LayerKind
from treadle.config.loader import LoadedConfig, config_paths, load
from treadle.config.user_file import save_setting
from treadle.errors import ConfigError
from treadle.paths import user_config_dir


class Place:
    """The file of the server, and the folders of two projects."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self.user_file, self.repository_file = config_paths(self.root)
        self.alpha, self.beta = folder / "projects" / "alpha", folder / "projects" / "beta"
        for each in (self.user_file.parent, self.repository_file.parent, self.alpha, self.beta):
            each.mkdir(parents=True)

    def load(self, project: Path | None, **env: str) -> LoadedConfig:
        return load(self.root, env, {}, project_folder=project)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    return Place(tmp_path)


def test_project_file_overrides_all_settings_of_the_server(place: Place) -> None:
    place.user_file.write_text('model = "user/a"\n[tools]\ntimeout = 1.0\nmax_turns = 2\n')
    place.repository_file.write_text("[tools]\nmax_turns = 3\n")
    (place.alpha / "config.toml").write_text('model = "alpha/m"\n[tools]\nmax_turns = 4\n')
    loaded = place.load(place.alpha, TREADLE_MODEL="environment/c")
    tools = loaded.settings.tools
    assert (loaded.settings.model, tools.timeout, tools.max_turns) == ("alpha/m", 1.0, 4)
    assert loaded.origin_of("model").layer is LayerKind.PROJECT


def test_settings_of_a_project_do_not_apply_to_another_project(place: Place) -> None:
    (place.alpha / "config.toml").write_text(
        "[providers.own]\nbase_url = 'http://127.0.0.1:1/v1'\napi_key_env = 'ALPHA_KEY'\n"
        "[approvals]\nallow = ['run_check']\n"
        "[[traces.detectors.rules]]\nname = 'mine'\npattern = 'x1'\n"
    )
    alpha, beta = place.load(place.alpha).settings, place.load(place.beta).settings
    assert (set(alpha.providers), alpha.approvals.allow) == ({"own"}, ("run_check",))
    assert len(alpha.traces.detectors.rules) == 1
    for other in (beta, place.load(None).settings):
        assert (other.providers, other.approvals.allow) == ({}, ())
        assert other.traces.detectors.rules == ()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[logs]\nlevel = 'info'\n", "logs.level"),
        ("[traces]\ngrpc_port = 4317\n", "traces.grpc_port"),
        ("[traces.redaction.rules.x]\npattern = 'x'\n", "traces.redaction.rules.x.pattern"),
        ("[bus]\nurl = 'nats://127.0.0.1:4222'\n", "bus.url"),
    ],
)
def test_setting_of_the_whole_server_in_a_project_file_is_an_error(
    place: Place, text: str, key: str
) -> None:
    (place.alpha / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match="applies to all projects of the server") as caught:
        place.load(place.alpha)
    assert str(caught.value).startswith(f"{key} ({place.alpha / 'config.toml'}:2)")
    assert str(place.user_file) in str(caught.value)


def test_project_file_that_others_may_write_is_refused(place: Place) -> None:
    file = place.alpha / "config.toml"
    file.write_text("")
    file.chmod(0o666)
    if os.name != "posix":
        pytest.skip("Windows has no such permissions")
    with pytest.raises(ConfigError, match="every user of this machine may change it"):
        place.load(place.alpha)


def test_saved_setting_of_a_project_changes_its_own_file_only(place: Place) -> None:
    saved = save_setting(place.root, {}, "model", "a/b", project_folder=place.alpha)
    assert (saved.path, saved.overridden_by) == (str(place.alpha / "config.toml"), None)
    assert not place.user_file.exists()
    assert place.load(place.alpha).settings.model == "a/b"
    assert place.load(place.beta).settings.model is None


def test_settings_name_the_folder_of_their_project(place: Place) -> None:
    assert place.load(None).settings.folder == user_config_dir()
    loaded = place.load(place.alpha)
    assert loaded.settings.folder == place.alpha
    files = {each.file for each in described(loaded, place.root)}
    assert files == {str(place.alpha / "config.toml")}
