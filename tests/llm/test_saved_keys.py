"""Saved keys: their location, the addresses that get them, and that they are never shown."""

import json
import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, error
from tests.llm.recording import RecordingObserver
from treadle.config.loader import load
from treadle.config.model import Settings
from treadle.errors import ConfigError, NotFoundError, TreadleError, UsageError
from treadle.llm import connect, saved_keys
from treadle.llm.messages import ChatRequest, UserMessage
from treadle.llm.profiles import has_key, hosted_with_key, register_keys
from treadle.llm.provider_states import KeyState, forget_key, save_key, state_of
from treadle.llm.saved_keys import KeyLocation
from treadle.paths import user_config_dir
from treadle.secrets import redact, redactor

QUESTION = ChatRequest((UserMessage("Hi"),))
KEY = "very plain words 1".replace(" ", "-")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(redactor, "_registered", ())
    return tmp_path / "home"


@pytest.fixture
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)


class Keyring(ModuleType):
    """A working keyring in memory."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.held: dict[tuple[str, str], str] = {}

    def set_password(self, service: str, name: str, value: str) -> None:
        self.held[service, name] = value

    def get_password(self, service: str, name: str) -> str | None:
        return self.held.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self.held[service, name]


class ForgetfulKeyring(Keyring):
    """A keyring that accepts everything and stores nothing."""

    def set_password(self, service: str, name: str, value: str) -> None: ...


def of(base_url: str) -> Settings:
    return Settings.model_validate({"providers": {"desk": {"base_url": base_url}}})


async def asked_with(settings: Settings, fake: FakeProvider) -> str | None:
    """The key that the provider `desk` receives."""
    model = await connect(settings, {}, model="desk/m")
    try:
        await model.complete(QUESTION, RecordingObserver())
    finally:
        await model.close()
    return fake.requests[-1].headers.get("authorization")


@pytest.mark.usefixtures("no_keyring")
async def test_a_saved_key_is_used_and_a_deleted_one_is_not() -> None:
    async with FakeProvider([Answer("a"), Answer("b")]) as fake:
        settings = of(fake.base_url)
        assert save_key(settings, {}, "desk", f" {KEY}\n") is KeyLocation.FILE
        assert redact(f"it is {KEY}") == "it is [redacted:registered]"
        assert state_of(settings, {}, "desk").key is KeyState.STORED
        assert await asked_with(settings, fake) == f"Bearer {KEY}"
        assert forget_key(settings, {}, "desk")
        assert not forget_key(settings, {}, "desk")
        assert state_of(settings, {}, "desk").key is KeyState.NONE
        assert await asked_with(settings, fake) == "Bearer no-key"  # as without a key


@pytest.mark.usefixtures("no_keyring")
def test_only_the_owner_can_read_the_file(home: Path) -> None:
    save_key(Settings(), {}, "openai", KEY)
    path = home / "config" / "providers.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["providers.key"]
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="Other users") as caught:
        hosted_with_key(Settings(), {})
    assert KEY not in str(caught.value)


@pytest.mark.usefixtures("no_keyring")
@pytest.mark.parametrize("content", ["", "[]", '{"keys": 3}', '{"keys": {"a": {"key": 1}}}', "{"])
def test_an_invalid_file_is_a_clear_error(home: Path, content: str) -> None:
    save_key(Settings(), {}, "openai", KEY)
    path = home / "config" / "providers.key"
    path.write_text(content)
    with pytest.raises(ConfigError, match="is not a valid key file"):
        hosted_with_key(Settings(), {})


async def test_a_working_keyring_stores_the_key_instead_of_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    async with FakeProvider([Answer("a")]) as fake:
        settings = of(fake.base_url)
        assert save_key(settings, {}, "desk", KEY) is KeyLocation.KEYRING
        assert KEY not in (home / "config" / "providers.key").read_text()
        assert state_of(settings, {}, "desk").key is KeyState.KEYRING
        assert await asked_with(settings, fake) == f"Bearer {KEY}"
    assert forget_key(settings, {}, "desk")
    assert not keyring.held


@pytest.mark.parametrize("keyring", [Keyring(), None])
def test_each_project_has_its_own_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keyring: Keyring | None
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    user = Settings()
    alpha, beta = (user.of_project(tmp_path / name) for name in ("alpha", "beta"))
    save_key(alpha, {}, "openai", "sk-alpha-0123456789")
    for other in (user, beta):
        assert state_of(other, {}, "openai").key is KeyState.NONE
        assert not has_key(other, {}, "openai")
        assert not forget_key(other, {}, "openai")
    save_key(user, {}, "openai", KEY)
    for settings, key in ((alpha, "sk-alpha-0123456789"), (user, KEY)):
        found = saved_keys.read_key(settings.folder, "openai", "https://api.openai.com/v1")
        assert found == key


def test_a_keyring_that_stores_nothing_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", ForgetfulKeyring())
    assert save_key(Settings(), {}, "openai", KEY) is KeyLocation.FILE


@pytest.mark.usefixtures("no_keyring")
async def test_a_repository_cannot_redirect_a_saved_key(tmp_path: Path, home: Path) -> None:
    """A repository cannot do it even if it is trusted and may set addresses."""
    save_key(Settings(), {}, "openai", KEY)
    repo = tmp_path / "repo"
    (repo / ".treadle").mkdir(parents=True)
    async with FakeProvider([Answer("a")]) as fake:
        (repo / ".treadle" / "config.toml").write_text(
            f'[providers.openai]\nbase_url = "{fake.base_url}"\n'
        )
        untrusted = load(repo, {}, {})
        assert untrusted.warnings
        assert state_of(untrusted.settings, {}, "openai").base_url == "https://api.openai.com/v1"
        (home / "config" / "config.toml").write_text(f"trusted_roots = [{json.dumps(str(repo))}]")
        trusted = load(repo, {}, {}).settings
        with pytest.raises(TreadleError, match=r"only for https://api\.openai\.com/v1"):
            await connect(trusted, {}, model="openai/m")
        assert not fake.requests
    assert hosted_with_key(trusted, {}) == []
    state = state_of(trusted, {}, "openai")
    assert (state.key, state.kept_for) == (KeyState.NONE, "https://api.openai.com/v1")


@pytest.mark.usefixtures("no_keyring")
def test_a_keyring_entry_of_the_settings_cannot_name_a_saved_key() -> None:
    keyring = Keyring()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "keyring", keyring)
        save_key(Settings(), {}, "openai", KEY)
    assert keyring.get_password("treadle", "openai") is None


@pytest.mark.usefixtures("no_keyring")
async def test_the_environment_has_precedence_over_a_saved_key() -> None:
    save_key(Settings(), {}, "openai", KEY)
    assert [profile.name for profile in hosted_with_key(Settings(), {})] == ["openai"]
    assert state_of(Settings(), {"OPENAI_API_KEY": "x" * 9}, "openai").key is KeyState.ENVIRONMENT
    model = await connect(Settings(), {})
    assert (model.provider, model.model) == ("openai", "gpt-5.4-mini")
    await model.close()


@pytest.mark.usefixtures("no_keyring")
async def test_the_error_of_a_refused_saved_key_does_not_show_it() -> None:
    async with FakeProvider([error(401, f"bad key {KEY}")]) as fake:
        settings = of(fake.base_url)
        save_key(settings, {}, "desk", KEY)
        with pytest.raises(TreadleError, match="treadle models key set desk") as caught:
            await asked_with(settings, fake)
    assert KEY not in str(caught.value)


@pytest.mark.usefixtures("no_keyring")
def test_saved_keys_are_registered_for_redaction_before_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save_key(Settings(), {}, "openai", KEY)
    monkeypatch.setattr(redactor, "_registered", ())
    register_keys(Settings(), {})
    assert KEY not in redact(f"it is {KEY}")


@pytest.mark.parametrize("key", ["", "  ", "two words", "line\nline", "k\u00e9y", "k" * 20_000])
def test_an_invalid_key_is_not_saved(key: str) -> None:
    with pytest.raises(UsageError, match="is not a valid key"):
        save_key(Settings(), {}, "openai", key)
    assert saved_keys.find(user_config_dir(), "openai") is None


def test_a_provider_without_keys_refuses_a_key() -> None:
    with pytest.raises(UsageError, match="needs no key"):
        save_key(Settings(), {}, "embedded", KEY)
    with pytest.raises(UsageError, match="TREADLE_API_KEY"):
        save_key(Settings(), {"TREADLE_BASE_URL": "http://127.0.0.1:1/v1"}, "custom", KEY)
    with pytest.raises(NotFoundError, match="no provider named 'nope'"):
        save_key(Settings(), {}, "nope", KEY)
    own = Settings.model_validate({"providers": {"openai": {"api_key_keyring": "work"}}})
    with pytest.raises(UsageError, match="api_key_keyring"):
        save_key(own, {}, "openai", KEY)
