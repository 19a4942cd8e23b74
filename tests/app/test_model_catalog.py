"""The list of models with their prices."""

from pathlib import Path

import pytest

from tests.fakes.provider import FakeProvider
from treadle.app.model_catalog import explain_price, model_catalog
from treadle.config.model import Settings


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))


async def test_catalog_has_windows_and_prices_of_each_provider() -> None:
    async with FakeProvider([], models=["gpt-4o", "unheard-of"]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "k" * 12}
        catalog = await model_catalog(Settings(), env)
    found = {each.provider: each for each in catalog.data}
    assert [model.id for model in found["custom"].models] == ["gpt-4o", "unheard-of"]
    assert found["custom"].reachable
    assert all(model.prices is None for model in found["custom"].models)  # it runs on this machine
    assert catalog.price_list.startswith("genai-prices ")


async def test_price_is_explained_by_the_provider() -> None:
    price = await explain_price(Settings(), {}, "gpt-4o", "openai")
    assert price.found_by == "address"
    assert price.prices is not None
    assert price.prices.input is not None
    assert price.reason is None
    local = await explain_price(Settings(), {}, "anything", "embedded")
    assert local.prices is None
    assert local.reason == "It runs on this machine, where calls have no price."
