import socket
import sys
from types import ModuleType
from urllib.parse import urlsplit

import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, error
from tests.llm.recording import RecordingObserver
from treadle.config.model import ProviderSettings, Settings
from treadle.errors import ConfigError
from treadle.llm import ProviderError, check_model, connect, list_models, model_probe, profiles
from treadle.llm.embedded import EmbeddedModel
from treadle.llm.messages import ChatRequest, UserMessage
from treadle.llm.model_probe import ModelInfo, probe
from treadle.llm.profiles import PROFILES, Profile

QUESTION = ChatRequest((UserMessage("Hi"),))
KEYS = {"OPENAI_API_KEY": "sk-openai-key-1234", "OPENROUTER_API_KEY": "sk-or-key-1234"}


@pytest.fixture(autouse=True)
def no_local_servers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Profile]:
    """The default ports of local servers, replaced by ports where nothing listens."""
    table = {}
    for name, profile in PROFILES.items():
        url = f"http://127.0.0.1:{_closed_port()}/v1" if profile.local else profile.base_url
        table[name] = Profile(name, url, profile.key_env, profile.default_model)
    monkeypatch.setattr(model_probe, "PROBE_SECONDS", 30.0)  # for a busy machine
    for module in (profiles, sys.modules["treadle.llm.model_selection"]):
        monkeypatch.setattr(module, "PROFILES", table)
    return table


def _closed_port() -> int:
    with socket.socket() as probe_socket:
        probe_socket.bind(("127.0.0.1", 0))
        port: int = probe_socket.getsockname()[1]
        return port


async def chosen(
    settings: Settings | None = None, env: dict[str, str] | None = None, model: str | None = None
) -> tuple[str, str]:
    connected = await connect(settings or Settings(), env or {}, model=model)
    await connected.close()
    return connected.provider, connected.model


async def test_the_unnamed_provider_has_precedence_and_accepts_any_model() -> None:
    async with FakeProvider(models=["only"]) as fake:
        env = {"TREADLE_BASE_URL": fake.base_url, "TREADLE_API_KEY": "sk-own-key-12", **KEYS}
        assert await chosen(env=env, model="vendor/some-model") == ("custom", "vendor/some-model")
        assert await chosen(env=env) == ("custom", "only")
        fake.add(Answer("Hello"))
        model = await connect(Settings(), env)
        assert (await model.complete(QUESTION, RecordingObserver())).message.text == "Hello"
        assert fake.requests[0].headers["authorization"] == "Bearer sk-own-key-12"
        await model.close()


@pytest.mark.parametrize("model", [None, "small", "custom/small"])
async def test_the_unnamed_provider_has_the_window_that_its_server_lists(model: str | None) -> None:
    async with FakeProvider(models=[{"id": "small", "max_model_len": 8_192}]) as fake:
        connected = await connect(Settings(), {"TREADLE_BASE_URL": fake.base_url}, model=model)
        await connected.close()
    assert (connected.model, connected.context_window) == ("small", 8_192)


async def test_an_unnamed_provider_without_a_model_list_is_used() -> None:
    async with FakeProvider(models=None) as fake:
        assert await chosen(env={"TREADLE_BASE_URL": fake.base_url}) == ("custom", "default")


async def test_the_named_model_comes_before_keys_in_the_environment() -> None:
    settings = Settings(model="openrouter/vendor/model")
    assert await chosen(settings, KEYS) == ("openrouter", "vendor/model")
    assert await chosen(settings, KEYS, model="openai/gpt") == ("openai", "gpt")


async def test_a_hosted_provider_with_a_key_comes_before_local_servers(
    no_local_servers: dict[str, Profile],
) -> None:
    async with FakeProvider(models=["nomic-embed-text", "qwen3"]) as fake:
        no_local_servers["ollama"] = Profile("ollama", fake.base_url)
        assert (await chosen(env=KEYS))[0] == "openai"
        env = {"OPENROUTER_API_KEY": KEYS["OPENROUTER_API_KEY"]}
        assert (await chosen(env=env))[0] == "openrouter"
        assert await chosen(env={"OPENAI_API_KEY": " "}) == ("ollama", "qwen3")


async def test_a_configured_address_of_a_local_server_is_tried() -> None:
    async with FakeProvider(models=["a", "b"]) as fake:
        own = ProviderSettings(base_url=fake.base_url, models=("b",))
        settings = Settings(providers={"vllm": own})
        assert await chosen(settings) == ("vllm", "b")
        assert await chosen(settings, model="vllm") == ("vllm", "b")
        assert await chosen(settings, model="vllm/a") == ("vllm", "a")


async def test_the_embedded_model_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    async def load(**_: object) -> EmbeddedModel:
        loaded.append("embedded")
        return EmbeddedModel(None)

    monkeypatch.setattr(EmbeddedModel, "load", load)
    assert (await chosen())[0] == "embedded"
    assert (await chosen(env=KEYS, model="embedded"))[0] == "embedded"
    assert len(loaded) == 2


async def test_any_configured_base_url_is_a_provider() -> None:
    own = ProviderSettings(base_url="https://models.example/v1", api_key_env="MY_KEY")
    settings = Settings(providers={"mine": own})
    assert await chosen(settings, {"MY_KEY": "k-123456789"}, "mine/m") == ("mine", "m")
    with pytest.raises(ProviderError, match="MY_KEY is not set"):
        await chosen(settings, {}, "mine/m")


@pytest.mark.parametrize(
    ("model", "env", "words"),
    [
        ("nobody/model", {}, "no provider named 'nobody'"),
        ("llama", {}, "does not name a provider"),
        ("openai/gpt", {"OPENAI_API_KEY": "sk-with\nnewline"}, "characters that no key can have"),
        (None, {"TREADLE_BASE_URL": "localhost:8080"}, "not a valid address"),
        (None, {"TREADLE_BASE_URL": "http://me:newline@host/v1"}, "not a valid address"),
        (None, {"TREADLE_BASE_URL": "http://[bad/v1"}, "not a valid address"),
    ],
)
async def test_an_invalid_configuration_is_a_clear_error(
    model: str | None, env: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        await chosen(env=env, model=model)
    assert caught.value.hint
    assert "newline" not in str(caught.value)


async def test_the_error_of_a_missing_key_names_it_and_the_next_step() -> None:
    with pytest.raises(ProviderError, match="OPENAI_API_KEY is not set") as caught:
        await chosen(model="openai/gpt")
    assert "treadle models list" in str(caught.value)


async def test_a_key_can_come_from_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = ModuleType("keyring")
    asked: list[tuple[str, str]] = []

    def get_password(service: str, entry: str) -> str:
        asked.append((service, entry))
        return "sk-from-keyring-1"

    fake.get_password = get_password  # type: ignore[attr-defined]  # a module made here
    monkeypatch.setitem(sys.modules, "keyring", fake)
    async with FakeProvider([Answer("Hi")]) as provider:
        own = ProviderSettings(base_url=provider.base_url, api_key_keyring="work")
        model = await connect(Settings(providers={"mine": own}), {}, model="mine/m")
        await model.complete(QUESTION, RecordingObserver())
        await model.close()
        assert provider.requests[0].headers["authorization"] == "Bearer sk-from-keyring-1"
    assert asked == [("treadle", "work")]


async def test_the_window_comes_from_settings_the_price_data_or_the_default() -> None:
    own = ProviderSettings(context_window=5_000)
    sized = Settings(providers={"openai": own})
    windows = []
    for settings, name in ((sized, "gpt-4o"), (Settings(), "gpt-4o"), (Settings(), "unheard-of")):
        model = await connect(settings, KEYS, model=f"openai/{name}")
        windows.append(model.context_window)
        await model.close()
    assert windows == [5_000, 128_000, 128_000]


async def test_a_probe_accepts_only_servers_that_list_models() -> None:
    async with FakeProvider(models=["m"]) as fake, FakeProvider(models=None) as other:
        assert await probe(fake.base_url) == (ModelInfo("m"),)
        assert await probe(other.base_url) is None
    assert await probe(f"http://127.0.0.1:{_closed_port()}/v1") is None


async def test_a_probe_does_not_wait_for_a_silent_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_probe, "PROBE_SECONDS", 0.25)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert await probe(f"http://127.0.0.1:{silent.getsockname()[1]}/v1") is None


async def test_listing_asks_every_reachable_provider() -> None:
    async with FakeProvider(models=["a", "b"]) as fake, FakeProvider(models=None) as broken:
        settings = Settings(
            providers={
                "mine": ProviderSettings(base_url=fake.base_url, models=("b",)),
                "broken": ProviderSettings(base_url=broken.base_url),
                "keyless": ProviderSettings(base_url=fake.base_url, api_key_env="NOT_SET"),
            }
        )
        env = {"TREADLE_BASE_URL": fake.base_url}
        listed = {entry.provider: entry for entry in await list_models(settings, env)}
    assert listed["custom"].models == (ModelInfo("a"), ModelInfo("b"))
    assert listed["mine"].models == (ModelInfo("b"),)
    assert not listed["broken"].reachable
    assert "NOT_SET" in str(listed["keyless"].error)


async def test_checking_a_model_reports_whether_it_calls_tools() -> None:
    call = Answer(calls=[Call("request_code_context", {"token_budget": 800})])
    async with FakeProvider([call, Answer("I cannot"), error(401, "bad key")]) as fake:
        port = urlsplit(fake.base_url).port
        env = {"TREADLE_BASE_URL": f"http://127.0.0.1:{port}/v1"}
        model = await connect(Settings(), env, model="m")
        tests = [await check_model(model) for _ in range(3)]
        await model.close()
    assert [(t.reachable, t.tool_call) for t in tests] == [
        (True, True),
        (True, False),
        (False, False),
    ]
    assert "TREADLE_API_KEY" in str(tests[2].error)
