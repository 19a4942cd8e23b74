"""The advice for a person who has no provider yet."""

import pytest

from tests.fakes.provider import FakeProvider
from treadle.app import model_checks
from treadle.app.model_checks import first_start_advice
from treadle.config.model import ProviderSettings, Settings


async def no_servers(*_: object) -> list[object]:
    return []


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path_factory.mktemp("home")))


@pytest.mark.parametrize("missing", [(), ("xllamacpp",)])
async def test_person_without_a_provider_gets_three_short_lines(
    monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...]
) -> None:
    monkeypatch.setattr(model_checks, "local_servers", no_servers)
    monkeypatch.setattr(model_checks, "missing_parts", lambda: missing)
    advice = await first_start_advice(Settings(), {})
    assert advice is not None
    lines = advice.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 76
    assert ("pip install" in lines[0]) is bool(missing)


async def test_person_with_a_provider_gets_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeProvider() as provider:
        local = Settings(providers={"ollama": ProviderSettings(base_url=provider.base_url)})
        assert await first_start_advice(local, {}) is None
    monkeypatch.setattr(model_checks, "local_servers", no_servers)
    assert await first_start_advice(Settings(model="openai/x"), {}) is None
    assert await first_start_advice(Settings(), {"OPENAI_API_KEY": "key"}) is None
    assert await first_start_advice(Settings(), {"TREADLE_BASE_URL": "http://x/v1"}) is None
