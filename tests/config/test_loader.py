"""Layers, origins, consent and messages of the configuration, through its public interface."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from treadle.config import schema
from treadle.config.effective_settings import described
from treadle.config.layers import unknown_variables
from treadle.config.loader import LoadedConfig, accept, config_paths, is_trusted, load
from treadle.config.model import Settings
from treadle.config.section import Section
from treadle.config.variables import TOP_LEVEL
from treadle.errors import ConfigError

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"


class Place:
    """A user folder and a repository in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self.user_file, self.repository_file = config_paths(self.root)
        self.user_file.parent.mkdir(parents=True)
        self.repository_file.parent.mkdir(parents=True)

    def user(self, text: str) -> None:
        self.user_file.write_text(text, encoding="utf-8")

    def repository(self, text: str) -> None:
        self.repository_file.write_text(text, encoding="utf-8")

    def load(self, env: Mapping[str, str] | None = None, **flags: object) -> LoadedConfig:
        overrides = {key.replace("__", "."): value for key, value in flags.items()}
        return load(self.root, env or {}, overrides)

    def error(self, env: Mapping[str, str] | None = None, **flags: object) -> str:
        with pytest.raises(ConfigError) as caught:
            self.load(env, **flags)
        assert caught.value.exit_status == 2
        return str(caught.value)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    return Place(tmp_path)


def test_without_layers_the_defaults_apply(place: Place) -> None:
    loaded = place.load()
    assert loaded == LoadedConfig(Settings(), {}, ())
    assert str(loaded.origin_of("tools.timeout")) == "default"


def test_each_layer_overrides_single_settings_of_the_one_before(place: Place) -> None:
    place.user('model = "user/a"\n[tools]\ntimeout = 1\nmax_turns = 2\nmax_concurrent = 3\n')
    place.repository('model = "repository/b"\n[tools]\ntimeout = 10\nmax_turns = 20\n')
    env = {"TREADLE_TOOLS__TIMEOUT": "100", "TREADLE_MODEL": "environment/c"}
    loaded = place.load(env, model="flag/d", tools__result_tokens=None)
    tools = loaded.settings.tools
    assert (tools.max_concurrent, tools.max_turns, tools.timeout) == (3, 20, 100.0)
    assert loaded.settings.model == "flag/d"
    assert {key: str(origin) for key, origin in loaded.origins.items()} == {
        "model": "flag",
        "tools.max_concurrent": f"{place.user_file}:5",
        "tools.max_turns": f"{place.repository_file}:4",
        "tools.timeout": "TREADLE_TOOLS__TIMEOUT",
    }


def test_the_origin_of_a_key_inside_a_table_of_preferences_is_that_of_the_table(
    place: Place,
) -> None:
    place.user('[providers.p]\npreferences = { order = ["a"] }\n')
    assert place.load().origin_of("providers.p.preferences.order").line == 2


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("TREADLE_TOOLS__MAX_TURNS", "7", {"tools": {"max_turns": 7}}),
        ("TREADLE_MODEL", "123", {"model": "123"}),
        ("TREADLE_CONTEXT__AUTOMATIC", "off", {"context": {"automatic": "off"}}),
        ("TREADLE_TRUSTED_ROOTS", '["/a", "/b"]', {"trusted_roots": ("/a", "/b")}),
        (
            "TREADLE_PROVIDERS__LOCAL__BASE_URL",
            "http://127.0.0.1:1/v1",
            {"providers": {"local": {"base_url": "http://127.0.0.1:1/v1"}}},
        ),
        (
            "TREADLE_PROVIDERS__P__ECHO_REASONING",
            "false",
            {"providers": {"p": {"echo_reasoning": False}}},
        ),
        ("TREADLE_TOOLS__MAX_TURNS", "", {}),
    ],
)
def test_an_environment_variable_is_parsed_by_the_type_of_its_setting(
    place: Place, name: str, text: str, value: dict[str, object]
) -> None:
    assert place.load({name: text}).settings == Settings.model_validate(value)


def test_other_variables_are_ignored_and_keys_are_not_read(place: Place) -> None:
    env = {
        "TREADLE_HOME": "/somewhere",
        "TREADLE_BASE_URL": "http://127.0.0.1:1/v1",
        "TREADLE_API_KEY": SECRET,
        "PATH": "/bin",
    }
    loaded = place.load(env)
    assert loaded.settings == Settings()
    assert SECRET not in repr(loaded)


def test_a_repository_cannot_choose_addresses_keys_and_routing(place: Place) -> None:
    place.user('[providers.p]\nbase_url = "https://mine.example/v1"\n')
    place.repository(
        'model = "p/m"\n'
        f'trusted_roots = ["{place.root}"]\n'
        "[providers.p]\n"
        'base_url = "https://theirs.example/v1"\n'
        'api_key_env = "AWS_SECRET_ACCESS_KEY"\n'
        'api_key_keyring = "other"\n'
        'preferences = { order = ["theirs"] }\n'
        "max_retries = 1\n"
    )
    loaded = place.load()
    provider = loaded.settings.providers["p"]
    assert provider.base_url == "https://mine.example/v1"
    assert (provider.api_key_env, provider.api_key_keyring, provider.preferences) == (
        None,
        None,
        {},
    )
    assert (loaded.settings.model, provider.max_retries) == ("p/m", 1)
    assert loaded.settings.trusted_roots == ()
    (warning,) = loaded.warnings
    for key in ("trusted_roots", "base_url", "api_key_env", "api_key_keyring", "preferences"):
        assert key in warning
    assert f"{place.repository_file}:4" in warning
    assert f'add "{place.root}" to trusted_roots in {place.user_file}' in warning


def test_a_trusted_repository_is_identified_by_its_real_path(place: Place, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(place.root, target_is_directory=True)
    place.repository('[providers.p]\nbase_url = "https://theirs.example/v1"\n')
    place.user(f'trusted_roots = ["{link}"]\n')
    loaded = place.load()
    assert loaded.settings.providers["p"].base_url == "https://theirs.example/v1"
    assert loaded.warnings == ()


def test_trust_in_a_folder_does_not_cover_repositories_inside(place: Place) -> None:
    place.user(f'trusted_roots = ["{place.root.parent}"]\n')
    place.repository('[providers.p]\nbase_url = "https://theirs.example/v1"\n')
    loaded = place.load()
    assert loaded.settings.providers == {}
    assert "Ignored providers.p.base_url" in loaded.warnings[0]


def test_settings_of_addresses_keys_and_spending_need_consent() -> None:
    risky = (
        "url",
        "address",
        "key",
        "command",
        "preferences",
        "trusted",
        "approve",
        "embed",
        "fallback_models",
        "native_api",
    )
    spending = {("limits", name) for name in ("tokens", "cost", "unknown_price")}
    for path in setting_paths(Settings):
        # All repositories share the stores, the bus, the gateway, the server and its workers, so a
        # repository may change their settings only with consent.
        # Instructions cost tokens in each request.
        shared = {
            "bus", "traces", "gateway", "server", "oidc", "workers", "instructions", "commands",
        }  # fmt: skip
        permitting = path == ("approvals", "allow") or path[0] in shared
        # Without consent, a repository may only leave out tools of MCP servers, or change the wait.
        permitting |= path[0] == "mcp" and path[-1] not in {"ask_wait", "without_tools"}
        expected = permitting or path in spending or any(word in path[-1] for word in risky)
        expected &= path != ("terminal", "keys")  # keys of the keyboard
        assert schema.needs_consent(path) == expected, path


def test_redaction_rules_are_the_users_own_and_are_validated(place: Place) -> None:
    place.user('[traces.redaction.rules.staff]\npattern = "EMP-[0-9]{4}"\n')
    place.repository("[traces.redaction]\nallow = ['.*']\n")
    loaded = place.load()
    assert loaded.settings.traces.redaction.rules["staff"].pattern == "EMP-[0-9]{4}"
    assert loaded.settings.traces.redaction.allow == ()
    assert "traces.redaction.allow" in loaded.warnings[0]
    for text, expected in (
        ("[traces.redaction.rules.a]\npattern = '(?<=a)b'\n", "pattern.*RE2"),
        ("[traces.redaction.rules.a]\nreplacement = 'x'\n", "rules.a.pattern is missing"),
        ("[traces]\nkeep = 'a while'\n", "should be an age such as 12h"),
    ):
        place.user(text)
        with pytest.raises(ConfigError, match=expected):
            place.load()


def setting_paths(
    node: type[Section] | schema.NamedSections, at: schema.Path = ()
) -> Iterator[schema.Path]:
    names = ("any",) if isinstance(node, schema.NamedSections) else node.model_fields
    for name in names:
        below = schema.child(node, (*at, name))
        if isinstance(below, FieldInfo):
            yield (*at, name)
        else:
            yield from setting_paths(below, (*at, name))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[tools]\ntimout = 3\n", ["tools.timout", ":2)", "Did you mean tools.timeout?"]),
        ("[tool]\ntimeout = 3\n", ["tool (", ":1)", "Did you mean tools?"]),
        ("[providers.p]\nbase_uri = 'x'\n", ["providers.p.base_uri", "providers.p.base_url?"]),
        ("zzzzzz = 1\n", ["zzzzzz (", "is not a setting", "docs/configuration.md"]),
        ("\n[tools]\ntimeout = -1\n", ["tools.timeout", ":3)", "greater than 0, not -1"]),
        ("[tools]\ntimeout = true\n", ["tools.timeout", "valid number, not true"]),
        ("tools.max_turns = 1.5\n", ["tools.max_turns", ":1)", "not 1.5"]),
        ("[context]\nautomatic = 'no'\n", ["context.automatic", "'off', 'light' or 'full'"]),
        ('"a\\nb" = 1\n', ['"a\\nb" (', "is not a setting"]),
        ("tools = 3\n", ["tools (", ":1)", "should be a table", "[tools]"]),
        ("[providers.p]\nmodels = ['a', 3]\n", ["providers.p.models", ":2)", "valid string"]),
        ("providers.p.base_url = 'host:80'\n", ["base_url", "http:// or https://"]),
        ("providers.p.base_url = 'http://host:x/v1'\n", ["base_url", "ort"]),
        ("trusted_roots = ['here']\n", ["trusted_roots", "absolute path"]),
        ("tools.timeout = inf\n", ["tools.timeout", "finite number"]),
        ("a = " + "[" * 100_000, ["not a valid setting"]),
        ("providers.p.preferences.a = " + "[" * 300 + "]" * 300, ["cannot be used"]),
        ("a = " + "9" * 10_000, ["not a valid setting"]),
        ("trusted_roots = ['~nobody/x']\n", ["absolute path"]),
        ("model = oops\n", [":1:9: not valid TOML", "quotes"]),
        ("a = 1\nmodel = 'x", [":2:", "not valid TOML"]),
        ("model = \n", [":1:9: not valid TOML"]),
    ],
)
def test_an_invalid_setting_in_a_file_is_reported_with_its_line(
    place: Place, text: str, parts: list[str]
) -> None:
    place.user(text)
    message = place.error()
    assert str(place.user_file) in message or "cannot be used" in message
    for part in parts:
        assert part in message
    assert "\n" not in message


def test_an_invalid_variable_or_flag_is_reported(place: Place) -> None:
    ill = place.error({"TREADLE_TOOLS__TIMEOUT": "soon"})
    assert "tools.timeout (TREADLE_TOOLS__TIMEOUT) should be a valid number" in ill
    assert "not UTF-8" in place.error({"TREADLE_MODEL": "p/\udcff"})
    assert "not UTF-8" in place.error(model="p/\udcff")
    assert "tools.nothing (flag)" in place.error(tools__nothing=1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("TREADLE_BIN", ""),
        ("TREADLE_", ""),
        ("TREADLE_MODEL__NAME", ""),
        ("TREADLE_MODLE", "Did you mean TREADLE_MODEL?"),
        ("TREADLE_TOOLS__TIMOUT", "Did you mean TREADLE_TOOLS__TIMEOUT?"),
        ("TREADLE_TOOLS", "TREADLE_TOOLS__…"),
        ("TREADLE_PROVIDERS__X__API_KEY", "api_key_env"),
    ],
)
def test_an_unknown_variable_is_ignored_and_reported_without_its_value(
    place: Place, name: str, said: str
) -> None:
    assert place.load({name: SECRET}).settings == Settings()
    (sentence,) = unknown_variables({name: SECRET, "TREADLE_MODEL": "a/b", "OTHER": "x"})
    assert f"{name} is not a setting" in sentence
    assert said in sentence
    assert SECRET not in sentence


def test_known_and_empty_variables_are_not_reported() -> None:
    known = {"TREADLE_HOME": "/x", "TREADLE_API_KEY": "k", "TREADLE_TOOLS__TIMEOUT": "3"}
    assert unknown_variables({**known, "TREADLE_BIN": ""}) == []


def test_top_level_names_are_those_of_the_settings() -> None:
    assert set(Settings.model_fields) == TOP_LEVEL


@pytest.mark.parametrize(
    "text",
    [
        f'[providers.p]\napi_key = "{SECRET}"\n',
        f'[providers.p]\napi_key_env = "{SECRET}"\n',
        f'[providers.p]\nbase_url = "https://user:{SECRET}@host.example/v1"\n',
        f'[tools]\ntimeout = "{SECRET}"\n',
    ],
)
def test_a_misplaced_key_is_refused_and_not_shown(place: Place, text: str) -> None:
    place.user(text)
    message = place.error()
    assert SECRET not in message
    if "api_key =" in text:
        assert "api_key_env" in message


def test_an_unreadable_or_binary_file_is_an_error(place: Place) -> None:
    place.user_file.write_bytes(b"model = '\xff'")
    assert "is not UTF-8 text (byte 9)" in place.error()
    place.user_file.write_bytes(b"#" * 1_000_001)
    assert "1,000,001 bytes" in place.error()
    place.user_file.unlink()
    os.mkfifo(place.user_file)
    assert "is not a file" in place.error()
    place.user_file.unlink()
    place.user_file.symlink_to(place.user_file)
    assert "cannot be read" in place.error()


def test_a_byte_order_mark_is_accepted(place: Place) -> None:
    place.user_file.write_bytes(b"\xef\xbb\xbfmodel = 'p/m'\r\n")
    assert place.load().settings.model == "p/m"


@given(st.text())
def test_any_text_in_the_repository_file_loads_or_is_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    root = tmp_path_factory.mktemp("root")
    path = root / ".treadle" / "config.toml"
    path.parent.mkdir()
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    env = {"TREADLE_HOME": str(root / "home")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREADLE_HOME", env["TREADLE_HOME"])
        message = ""
        try:
            load(root, env, {})
        except ConfigError as error:
            message = str(error)
        assert "\n" not in message
        assert not message or str(path) in message


RULES = """
[approvals]
deny = ["read_file path=mine/**"]
ask = ["grep"]
allow = ["run_check command=pytest *"]
"""


@pytest.mark.parametrize("trusted", [False, True])
def test_a_repository_can_forbid_but_not_allow_calls(place: Place, *, trusted: bool) -> None:
    trust = f"trusted_roots = ['{place.root}']\n" if trusted else ""
    place.user(trust + RULES)
    place.repository(
        "[approvals]\ndeny = ['* path=theirs/**']\nask = []\nallow = ['*', '* path=.env']"
    )
    loaded = place.load({"TREADLE_APPROVALS__DENY": '["list_dir"]'})
    approvals = loaded.settings.approvals
    assert approvals.deny == ("read_file path=mine/**", "* path=theirs/**", "list_dir")
    assert approvals.ask == ("grep",)
    assert approvals.allow == ("run_check command=pytest *",)
    (warning,) = loaded.warnings
    assert "approvals.allow" in warning
    assert "cannot set its own permissions" in warning


@pytest.mark.parametrize(
    "rule", ["", "read file", "read_file path=", "read_file path=!a", "x where=y", "é path=c"]
)
def test_a_malformed_rule_is_reported_with_its_location(place: Place, rule: str) -> None:
    place.repository(f"[approvals]\nask = ['{rule}']")
    message = place.error()
    assert message.startswith(f"approvals.ask ({place.repository_file}:2) should")


TRUSTED = (
    'model = "own/m"\n[providers.own]\nbase_url = "http://127.0.0.1:1/v1"\n'
    'api_key_env = "OWN_KEY"\n'
)


def test_a_changed_address_of_a_trusted_repository_is_ignored_until_accepted(place: Place) -> None:
    place.user(f'trusted_roots = ["{place.root}"]\n')
    place.repository(TRUSTED)
    assert place.load().settings.providers["own"].base_url == "http://127.0.0.1:1/v1"
    place.repository(TRUSTED.replace(":1/", ":2/"))
    changed = place.load()
    assert changed.settings.providers["own"].base_url is None
    assert "providers.own.base_url" in changed.warnings[0]
    assert "`treadle config trust`" in changed.warnings[0]
    assert changed.settings.providers["own"].api_key_env == "OWN_KEY"
    accept(place.root)
    assert place.load().settings.providers["own"].base_url == "http://127.0.0.1:2/v1"
    place.repository(TRUSTED + '[checks.commands.x]\ncommand = ["sh"]\n')
    added = place.load().settings.checks.commands
    assert "x" not in added or not added["x"].command


def test_trust_is_not_inherited_by_another_repository_at_the_same_path(place: Place) -> None:
    place.user(f'trusted_roots = ["{place.root}"]\n')
    subprocess.run(["git", "init", "-q", str(place.root)], check=True)
    place.repository(TRUSTED)
    assert place.load().settings.providers["own"].base_url
    assert is_trusted(place.root, [str(place.root)])
    shutil.rmtree(place.root / ".git")
    subprocess.run(["git", "init", "-q", str(place.root)], check=True)
    loaded = place.load()
    assert "own" not in loaded.settings.providers
    assert "not the one that you trusted" in loaded.warnings[0]
    assert not is_trusted(place.root, [str(place.root)])
    accept(place.root)
    assert is_trusted(place.root, [str(place.root)])
    assert place.load().warnings == ()


def test_repository_cannot_choose_the_bus(place: Place) -> None:
    place.repository('[bus]\nurl = "nats://elsewhere:4222"\n')
    place.user(f'trusted_roots = ["{place.root}"]\n')
    loaded = place.load()
    assert loaded.settings.bus.url is None
    assert "bus.url" in loaded.warnings[0]


def test_number_of_copies_of_streams_is_odd(place: Place) -> None:
    assert place.load().settings.bus.stream_replicas == 1
    assert place.load({"TREADLE_BUS__STREAM_REPLICAS": "3"}).settings.bus.stream_replicas == 3
    message = str(place.error({"TREADLE_BUS__STREAM_REPLICAS": "2"}))
    assert "bus.stream_replicas" in message
    assert "1, 3 or 5" in message


@pytest.mark.parametrize("password", ["Hid/den", "Hid@den%41:x", "Hid%zzden", "Hid/12", "Hid:@den"])
@pytest.mark.parametrize(
    ("variable", "scheme"), [("TREADLE_BUS__URL", "nats"), ("TREADLE_STORE__URL", "postgresql")]
)
def test_unencoded_password_is_an_error_that_shows_no_part_of_it(
    place: Place, variable: str, scheme: str, password: str
) -> None:
    error = place.error({variable: f"{scheme}://me:{password}@one:4222/name"})
    assert "%40" in error
    assert "Hid" not in error
    assert "den" not in error


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:a%40b%25@one:1,two:2/name?sslmode=require",
        "postgresql://me:p#?x@[::1]:5432/name",
        "postgresql:///name?host=/run/postgresql",
        "postgresql://one?user=me@example.com",
    ],
)
def test_valid_address_of_a_store_is_accepted(place: Place, url: str) -> None:
    assert place.load({"TREADLE_STORE__URL": url}).settings.store.url == url


def test_credentials_of_the_bus_are_never_shown(place: Place) -> None:
    urls = "nats://me:hunter2@one:4222,nats://token@two:4222"
    loaded = place.load({"TREADLE_BUS__URL": urls})
    assert loaded.settings.bus.url == urls
    assert "hunter2" not in repr(loaded.settings)
    shown = {each.key: each.value for each in described(loaded, place.root)}
    assert shown["bus.url"] == "nats://***@one:4222,nats://***@two:4222"
    assert "secret" not in place.error({"TREADLE_BUS__URL": "http://me:secret@one"})
