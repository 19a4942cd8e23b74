"""The known providers: their default models exist, and their signatures go back to them."""

from dataclasses import replace

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, call_delta, delta, sse, usage_chunk
from tests.llm.asking import REQUEST, Asked
from treadle.config.model import Settings
from treadle.llm import prices
from treadle.llm.endpoint import Endpoint, is_loopback
from treadle.llm.messages import ToolMessage
from treadle.llm.profiles import PROFILES, register_keys
from treadle.secrets import redact, redactor

SIGNED = {"google": {"thought_signature": "CvQBAQ=="}}


@pytest.mark.parametrize("name", [name for name, each in PROFILES.items() if not each.local])
def test_the_default_model_is_one_that_the_public_price_data_knows(name: str) -> None:
    profile = PROFILES[name]
    assert profile.default_model is not None
    window = prices.context_window(Endpoint(name, profile.default_model, profile.base_url))
    assert window is None or window >= 100_000
    if name != "openrouter":
        assert window is not None


async def test_the_signature_of_a_call_goes_back_only_to_gemini() -> None:
    first = sse(
        call_delta(0, id="a", name="grep", arguments='{"pattern": "x"}', extra_content=SIGNED),
        call_delta(1, id="b", name="grep", arguments='{"pattern": "y"}'),
        delta(finish_reason="tool_calls"),
        usage_chunk(),
    )
    async with FakeProvider([first, Answer("Found."), Answer("Found.")]) as provider:
        gemini = Asked(provider, FakeClock(), name="gemini")
        reply = await gemini(REQUEST)
        results = [ToolMessage(call.key, "found it") for call in reply.message.calls]
        then = replace(REQUEST, messages=(*REQUEST.messages, reply.message, *results))
        other = Asked(provider, FakeClock(), name="other")
        for asked in (gemini, other):
            await asked(then)
            await asked.model.close()
    sent = [request.messages[2]["tool_calls"] for request in provider.requests[1:]]
    assert [[call.get("extra_content") for call in calls] for calls in sent] == [  # type: ignore[attr-defined]  # JSON
        [SIGNED, None],
        [None, None],
    ]


def test_all_keys_are_registered_for_redaction_before_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redactor, "_registered", ())
    settings = Settings.model_validate(
        {
            "providers": {"own": {"base_url": "http://127.0.0.1:1/v1", "api_key_env": "OWN"}},
            "gateway": {"budgets": {"a": {"key_env": "BUDGET", "tokens": 1}}},
        }
    )
    keys = {"OWN": "own words 1", "BUDGET": "budget words", "OPENAI_API_KEY": "open words"}
    register_keys(settings, keys)
    for key in keys.values():
        assert redact(f"it is {key}.") == "it is [redacted:registered]."


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("127.0.0.1", True), ("127.9.9.9", True), ("127.1", True), ("0x7f000001", True),
        ("2130706433", True), ("localhost", True), ("LOCALHOST.", True), ("[::1]", True),
        ("[::ffff:127.0.0.1]", True), ("0.0.0.0", True),
        ("127.evil.example", False), ("127.0.0.1.evil.example", False), ("127", False),
        ("localhost.evil.example", False), ("192.0.2.1", False), ("[2001:db8::1]", False),
    ],
)  # fmt: skip
def test_only_loopback_addresses_count_as_this_machine(host: str, near: bool) -> None:
    assert is_loopback(f"http://{host}:8080/v1") is near
