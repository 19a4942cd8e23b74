"""The vendors that a router lists for a model."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.provider import FakeProvider
from treadle.config.model import ProviderSettings, Settings
from treadle.llm.vendors import Vendor, model_vendors


async def listed(entry: Mapping[str, object]) -> Vendor:
    """The vendor that a router describes in this way."""
    async with FakeProvider(vendors={"maker/m": [entry]}) as provider:
        found = await model_vendors(_router(provider), {}, "router", "maker/m")
    (vendor,) = found
    return vendor


def _router(provider: FakeProvider) -> Settings:
    return Settings(providers={"router": ProviderSettings(base_url=provider.base_url)})


async def test_described_vendor_has_its_facts() -> None:
    vendor = await listed(
        {
            "provider_name": "Vendor", "context_length": 1000, "quantization": "fp8",
            "pricing": {"prompt": "0.000001", "completion": "0.000002"},
            "supported_parameters": ["tools"], "uptime_last_30m": 99.5,
        }
    )  # fmt: skip
    assert vendor == Vendor("Vendor", 1000, 1.0, 2.0, True, "fp8", 99.5)


async def test_missing_and_malformed_facts_are_unknown() -> None:
    malformed = {"pricing": {"prompt": "cheap", "completion": -1}, "supported_parameters": "tools"}
    assert await listed(malformed) == Vendor("?", None, None, None, None, None, None)


async def test_provider_without_vendors_lists_none() -> None:
    async with FakeProvider() as provider:
        assert await model_vendors(_router(provider), {}, "router", "maker/other") == ()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)
_KEYS = ("provider_name", "context_length", "pricing", "supported_parameters", "uptime_last_30m")


@given(entry=st.dictionaries(st.sampled_from(_KEYS), _JSON))
@settings(max_examples=10, deadline=None)
@pytest.mark.asyncio
async def test_any_description_of_a_vendor_is_read(entry: dict[str, object]) -> None:
    assert (await listed(entry)).name
