from datetime import UTC, datetime

import pytest

from treadle.events.types import Usage
from treadle.llm.endpoint import Endpoint
from treadle.llm.prices import context_window, cost, find_price, price

OPENAI = Endpoint("openai", "gpt-4o-mini", "https://api.openai.com/v1")
SONNET_ON_BEDROCK = "us.anthropic.claude-sonnet-4-20250514-v1:0"

CHECKED = [
    # Dollars for a million tokens are in the comments, as the vendors list them: input, output,
    # then what is read from the cache (r), written to it (w), or thought (t). An input contains
    # its cached parts, an output its thoughts.
    # 0.15, 0.60: 1 M * 0.15 + 1 M * 0.60
    ("gpt-4o-mini", "openai", Usage(input=1_000_000, output=1_000_000), 0.75),
    # 2.50, 10; a name with a date: 12 k * 2.50 + 800 * 10
    ("gpt-4o-2024-08-06", None, Usage(input=12_000, output=800), 0.038),
    # 2.50, 10, r 1.25: 2 k * 2.50 + 8 k * 1.25 + 500 * 10
    ("gpt-4o", "openai", Usage(input=10_000, output=500, cached=8_000), 0.02),
    # 1.10, 4.40, thoughts at the price of output: 2 k * 1.10 + 5 k * 4.40
    ("o3-mini", "openai", Usage(input=2_000, output=5_000, reasoning=4_000), 0.0242),
    # 1.25, 10, r 0.125: 40 k * 1.25 + 60 k * 0.125 + 4 k * 10
    ("gpt-5", "openai", Usage(input=100_000, output=4_000, cached=60_000), 0.0975),
    # 0.30, 1.20: fine-tuned, at a price of its own: 10 k * 0.30 + 1 k * 1.20
    ("ft:gpt-4o-mini-2024-07-18:us::x", "openai", Usage(input=10_000, output=1_000), 0.0042),
    # 3, 15, r 0.30, w 3.75: 5 k * 3 + 4 k * 0.30 + 1 k * 3.75 + 2 k * 15
    (
        "claude-sonnet-4-5",
        "anthropic",
        Usage(input=10_000, output=2_000, cached=4_000, cache_write=1_000),
        0.04995,
    ),
    # the same above 200 k: 6, 22.50, r 0.60: 150 k * 6 + 100 k * 0.60 + 1 k * 22.50
    (
        "claude-sonnet-4-5-20250929",
        "anthropic",
        Usage(input=250_000, output=1_000, cached=100_000),
        0.9825,
    ),
    # just not above it: 200 k * 3 + 1 k * 15
    ("claude-sonnet-4-5", None, Usage(input=200_000, output=1_000), 0.615),
    # 5, 25: 3 k * 5 + 1 k * 25
    ("claude-opus-4-5-20251101", None, Usage(input=3_000, output=1_000), 0.04),
    # above 200 k 2.50, 15: 300 k * 2.50 + 2 k * 15
    ("gemini-2.5-pro", "gcp.vertex_ai", Usage(input=300_000, output=2_000), 0.78),
    # 0.30, 2.50, r 0.03: 40 k * 0.30 + 10 k * 0.03 + 1 k * 2.50
    ("models/gemini-2.5-flash", None, Usage(input=50_000, output=1_000, cached=10_000), 0.0148),
    # 2.50, 10 at Azure: 1 k * 2.50 + 1 k * 10
    ("gpt-4o", "azure.ai.openai", Usage(input=1_000, output=1_000), 0.0125),
    # 3, 15 at Bedrock, by its own id: 10 k * 3 + 1 k * 15
    (SONNET_ON_BEDROCK, "aws.bedrock", Usage(input=10_000, output=1_000), 0.045),
    (SONNET_ON_BEDROCK, None, Usage(input=10_000, output=1_000), 0.045),
    (f"bedrock/{SONNET_ON_BEDROCK}", None, Usage(input=10_000, output=1_000), 0.045),
    # 3, 15 at OpenRouter: 1 k * 3 + 1 k * 15
    ("anthropic/claude-sonnet-4.5", "openrouter", Usage(input=1_000, output=1_000), 0.018),
    ("openrouter/anthropic/claude-sonnet-4.5", None, Usage(input=1_000, output=1_000), 0.018),
    # 0.15, 0.60: 1 k * 0.15 + 1 k * 0.60
    ("openai/gpt-4o-mini", None, Usage(input=1_000, output=1_000), 0.00075),
    # 0.59, 0.79: 10 k * 0.59 + 1 k * 0.79
    ("llama-3.3-70b-versatile", "groq", Usage(input=10_000, output=1_000), 0.00669),
    # 2, 6: 10 k * 2 + 1 k * 6
    ("mistral-large-latest", "mistral_ai", Usage(input=10_000, output=1_000), 0.026),
    # 3, 15, r 0.75: 6 k * 3 + 4 k * 0.75 + 1 k * 15
    ("grok-4", "x_ai", Usage(input=10_000, output=1_000, cached=4_000), 0.036),
    # 1, 1, and 12 for a thousand requests: 2 k * 1 + 1 k * 1 + 0.012
    ("sonar", "perplexity", Usage(input=2_000, output=1_000), 0.015),
    # 2, 8, t 3: 1 k * 2 + 1 k * 8 + 4 k * 3
    ("sonar-deep-research", "perplexity", Usage(input=1_000, output=5_000, reasoning=4_000), 0.022),
    # 0.02 without output: 1 M * 0.02
    ("text-embedding-3-small", "openai", Usage(input=1_000_000, output=0), 0.02),
    # embeddings without a provider: 0.02, and 0.12
    ("text-embedding-3-small", None, Usage(input=1_000_000, output=0), 0.02),
    ("embed-v4.0", None, Usage(input=1_000_000, output=0), 0.12),
    # free ones
    (
        "meta-llama/llama-3.3-70b-instruct:free",
        "openrouter",
        Usage(input=9_000, output=9_000),
        0.0,
    ),
    ("gemma-3-27b-it", "google", Usage(input=9_000, output=9_000), 0.0),
]


@pytest.mark.parametrize(("model", "provider", "usage", "dollars"), CHECKED)
def test_the_cost_of_a_call_follows_the_price_list(
    model: str, provider: str | None, usage: Usage, dollars: float
) -> None:
    assert price(model, provider, usage) == pytest.approx(dollars, abs=1e-12)


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("nobody-knows-it", "openai"),
        ("nobody-knows-it", None),
        ("", None),
        ("/", "openrouter"),
        ("gpt-4o-mini", "our-own-server"),
        ("openai/gpt-4o-mini", "our-own-server"),
        ("gpt-4.1", "github-copilot"),  # included in a subscription
        ("whisper-1", "openai"),  # priced by the hour
    ],
)
def test_a_missing_price_is_unknown_and_not_free(model: str, provider: str | None) -> None:
    assert price(model, provider, Usage(input=5, output=5)) is None


@pytest.mark.parametrize(
    ("snapshot", "provider", "base"),
    [
        ("gpt-4o-mini-2030-01-01", "openai", "gpt-4o-mini"),
        ("gpt-4o-mini-2030-01-01", None, "gpt-4o-mini"),
        ("openai/gpt-4o-mini-2030-01-01", None, "gpt-4o-mini"),
        ("gpt-4o-mini@20300101", "azure.ai.openai", "gpt-4o-mini"),
        ("gpt-4.1-nano-0229", "openai", "gpt-4.1-nano"),
        ("gpt-4.1-nano-3011", "openai", "gpt-4.1-nano"),
        ("gemini-2.5-flash-002", "gcp.gemini", "gemini-2.5-flash"),
        ("command-r-plus-08-2034", "cohere", "command-r-plus"),
    ],
)
def test_a_missing_snapshot_is_estimated_by_its_base_model(
    snapshot: str, provider: str | None, base: str
) -> None:
    usage = Usage(input=1_000, output=100)
    found, of_base = find_price(snapshot, provider, usage), find_price(base, provider, usage)
    assert found is not None
    assert of_base is not None
    assert found.dollars == of_base.dollars
    assert (found.of_base_model, of_base.of_base_model) == (True, False)


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o-audio",
        "gpt-4o-audio-2030-01-01",
        "gpt-4o-mini-2030-13-01",
        "gpt-4o-mini-2030-02-30",
        "gpt-4o-mini-4096",
        "gpt-4o-mini-7b",
        "gpt-4o-mini-v2",
        "gpt-4o-mini-2030-01-01-audio",
        "2030-01-01",
        "-2030-01-01",
    ],
)
def test_only_a_date_or_a_revision_leads_to_the_base_model(model: str) -> None:
    assert find_price(model, "openai", Usage(input=1_000, output=100)) is None


def test_a_snapshot_with_its_own_price_is_not_estimated() -> None:
    found = find_price("gpt-4o-2024-05-13", "openai", Usage(input=1_000_000, output=0))
    assert found is not None
    assert (found.dollars, found.of_base_model) == (5.0, False)


@pytest.mark.parametrize("usage", [Usage(), Usage(input=5), Usage(output=5)])
def test_without_all_tokens_the_cost_is_unknown(usage: Usage) -> None:
    assert price("gpt-4o-mini", "openai", usage) is None


def test_output_without_a_price_makes_the_cost_unknown() -> None:
    assert price("text-embedding-3-small", "openai", Usage(input=5, output=5)) is None


def test_cached_tokens_never_make_a_cost_negative() -> None:
    odd = Usage(input=10, output=0, cached=500, cache_write=500, reasoning=9)
    assert price("gpt-4o", "openai", odd) == pytest.approx(10 * 1.25e-6)


def test_the_price_of_the_hour_is_taken() -> None:
    # 0.27 by day, 0.135 from 16:30 UTC on
    day, night = (
        round(datetime(2025, 6, 1, hour, tzinfo=UTC).timestamp() * 1e6) for hour in (12, 20)
    )
    million = Usage(input=1_000_000, output=0)
    assert price("deepseek-chat", "deepseek", million, at_us=day) == pytest.approx(0.27)
    assert price("deepseek-chat", "deepseek", million, at_us=night) == pytest.approx(0.135)


def test_the_address_selects_the_prices() -> None:
    usage = Usage(input=1_000_000, output=1_000_000)
    assert cost(OPENAI, usage) == pytest.approx(0.75)
    assert price("gpt-4o-mini", "mine", usage, base_url=OPENAI.base_url) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "endpoint",
    [
        Endpoint("openai", "nobody-knows-it", OPENAI.base_url),
        Endpoint("mine", "gpt-4o-mini", "https://models.example/v1"),
        Endpoint("ollama", "gpt-4o-mini", "http://127.0.0.1:1/v1"),
    ],
)
def test_an_unknown_address_has_no_price(endpoint: Endpoint) -> None:
    assert cost(endpoint, Usage(input=5, output=5)) is None


def test_the_window_of_a_known_model() -> None:
    assert context_window(OPENAI) == 128_000
    assert context_window(Endpoint("mine", "m", "https://models.example/v1")) is None
