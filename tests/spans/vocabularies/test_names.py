"""Counts and threads under the names that programs use."""

import json

import pytest

from treadle.llm.usage import read_usage
from treadle.spans.raw_span import RawSpan
from treadle.spans.span import CostSource, JsonValue, Span
from treadle.spans.vocabularies.mapper import to_span

CHAT: dict[str, JsonValue] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.usage.input_tokens": 1_000,
    "gen_ai.usage.output_tokens": 10,
}


def read(more: dict[str, JsonValue]) -> Span:
    return to_span(RawSpan(span_id="s", trace_id="t", start_ns=10**18, attributes=CHAT | more))


@pytest.mark.parametrize(
    "name",
    [
        "gen_ai.usage.cache_read_tokens",
        "gen_ai.usage.input_cached_tokens",
        "gen_ai.usage.cached_input_tokens",
        "gen_ai.usage.cached_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.prompt_tokens_details.cached_tokens",
        "gen_ai.usage.input_token_details.cache_read",
        "gen_ai.usage.input_tokens.cache_read",
        "gen_ai.usage.prompt_cache_hit_tokens",
        "gen_ai.usage.cachedInputTokens",
        "gen_ai.usage.cachedContentTokenCount",
        "llm.usage.cache_read_input_tokens",
        "llm.usage.cached_prompt_tokens",
        "llm.token_count.prompt_details.cached",
        "usage.cacheReadTokens",
        "my_app.num_cached_tokens",
    ],
)
def test_cached_tokens_are_read_under_any_name(name: str) -> None:
    span = read({name: 800})
    assert (span.tokens.input, span.tokens.cached) == (1_000, 800)
    assert span.cost == pytest.approx(200 * 2.5e-6 + 800 * 1.25e-6 + 10 * 10e-6)


@pytest.mark.parametrize(
    "value",
    [
        {"prompt_tokens_details": {"cached_tokens": 800}},
        {"input_token_details": {"cache_read": 800, "audio": 0}},
        {"cache_read_input_tokens": "800"},
    ],
)
def test_cached_tokens_are_read_from_an_object(value: JsonValue) -> None:
    assert read({"llm.usage": value}).tokens.cached == 800
    assert read({"llm.usage": json.dumps(value)}).tokens.cached == 800


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("gen_ai.usage.cache_write_tokens", "cache_write"),
        ("gen_ai.usage.cache_creation_tokens", "cache_write"),
        ("llm.usage.cacheCreationInputTokens", "cache_write"),
        ("gen_ai.usage.cache_creation.ephemeral_5m_input_tokens", "cache_write"),
        ("gen_ai.usage.thinking_tokens", "reasoning"),
        ("gen_ai.usage.thoughtsTokenCount", "reasoning"),
        ("gen_ai.usage.completion_tokens_details.reasoning_tokens", "reasoning"),
    ],
)
def test_other_counts_are_read_under_any_name(name: str, field: str) -> None:
    assert getattr(read({name: 8}).tokens, field) == 8


@pytest.mark.parametrize(
    "name",
    ["gen_ai.usage.cache_tokens", "app.tokens.cache.total", "gen_ai.usage.input_audio_tokens"],
)
def test_cost_is_unknown_when_a_count_has_no_clear_price(name: str) -> None:
    assert read({name: 800}).cost is None
    assert read({name: 0}).cost is not None
    reported = read({name: 800, "gen_ai.usage.cost": 0.5})
    assert (reported.cost, reported.cost_source) == (0.5, CostSource.REPORTED)


@pytest.mark.parametrize(
    ("tiers", "known"),
    [
        ({"gen_ai.openai.response.service_tier": "flex"}, False),
        ({"openai.response.service_tier": "priority"}, False),
        ({"gen_ai.openai.request.service_tier": "flex"}, False),
        ({"gen_ai.response.serviceTier": "BATCH"}, False),
        ({"openai.response.service_tier": "default"}, True),
        ({"openai.request.service_tier": "auto"}, True),
        ({"x.request.service_tier": "flex", "x.response.service_tier": "default"}, True),
    ],
)
def test_cost_is_unknown_in_a_tier_with_other_prices(
    tiers: dict[str, JsonValue], known: bool
) -> None:
    assert (read(tiers).cost is not None) == known
    assert read({**tiers, "gen_ai.usage.cost": 0.5}).cost == 0.5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gen_ai.usage.cache_hit_rate", 1.0),
        ("gen_ai.usage.cache_read_cost", 3),
        ("gen_ai.usage.prompt_cache_miss_tokens", 800),
        ("cache.ttl_seconds", 300),
        ("app.cached_items", 800),
        ("gen_ai.request.max_cached_tokens", 800),
        ("gen_ai.usage.cached_tokens", -1),
        ("gen_ai.usage.cached_tokens", True),
        ("gen_ai.usage.cached_tokens", "many"),
    ],
)
def test_other_numbers_do_not_count_as_cached_tokens(name: str, value: JsonValue) -> None:
    span = read({name: value})
    assert not span.tokens.cached
    assert span.cost == pytest.approx(1_000 * 2.5e-6 + 10 * 10e-6)


@pytest.mark.parametrize(
    "usage",
    [
        {"cached_tokens": 800},
        {"cache_read_tokens": 800},
        {"input_cached_tokens": 800},
        {"prompt_token_details": {"cached_tokens": 800}},
        {"prompt_tokens_details": {"cache_read_tokens": 800}},
    ],
)
def test_gateway_reads_cached_tokens_under_any_name(usage: dict[str, object]) -> None:
    read_back = read_usage({"prompt_tokens": 1_000, "completion_tokens": 1, **usage})
    assert (read_back.input, read_back.cached) == (1_000, 800)


@pytest.mark.parametrize(
    "attributes",
    [
        {"session_id": "s1"},
        {"conversation_id": "s1"},
        {"mlflow.trace.session": "s1"},
        {"langsmith.metadata.thread_id": "s1"},
        {"langsmith.metadata.session_id": "s1"},
        {"langsmith.trace.session_id": "s1"},
        {"gcp.vertex.agent.session_id": "s1"},
        {"metadata": '{"session_id": "s1", "user": "u"}'},
        {"metadata": '{"thread_id": "s1"}'},
        {"metadata": {"conversation_id": "s1"}},
        {"metadata.thread_id": "s1"},
        {"openinference.span.kind": "LLM", "metadata": '{"thread_id": "s1"}'},
        {"gen_ai.conversation.id": "s1"},
        {"traceloop.association.properties.session_id": "s1"},
    ],
)
def test_thread_is_read_from_any_of_its_names(attributes: dict[str, JsonValue]) -> None:
    assert read(attributes).thread_id == "s1"


@pytest.mark.parametrize(
    ("attributes", "thread"),
    [
        ({"session.id": 42}, "42"),
        ({"session.id": 42.0}, "42"),
        ({"session_id": 7}, "7"),
        ({"metadata": '{"session_id": 42}'}, "42"),
        ({"openinference.span.kind": "LLM", "session.id": 42}, "42"),
        ({"langsmith.metadata.thread_id": 3}, "3"),
        ({"session.id": True}, None),
        ({"session_id": ""}, None),
        ({"metadata": '{"session_id": '}, None),
        ({"metadata": "[1]"}, None),
        ({"thread.id": 42, "thread.name": "MainThread"}, None),
    ],
)
def test_thread_may_be_a_number(attributes: dict[str, JsonValue], thread: str | None) -> None:
    assert read(attributes).thread_id == thread
