"""Attributes of litellm's callback `otel` that the recorded client does not send."""

import json

import pytest

from tests.spans.vocabularies.spelling import model
from treadle.spans.span import JsonValue, Span, SpanKind
from treadle.spans.vocabularies.mapper import to_span


def call(**more: JsonValue) -> Span:
    """A call through litellm; `__` in a name means a dot."""
    said: dict[str, JsonValue] = {
        "litellm.call_id": "c1",
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
    }
    return to_span(model(said | {key.replace("__", "."): value for key, value in more.items()}))


@pytest.mark.parametrize(
    "given", ["{'tenant': 'acme', 'beta': True}", '{"tenant": "acme", "beta": true}']
)
def test_metadata_of_a_client_of_the_proxy_is_metadata(given: str) -> None:
    span = call(metadata__requester_metadata=given, metadata__user_api_key_alias="k")
    assert span.metadata == {"tenant": "acme", "beta": True}


def test_user_of_the_request_precedes_the_user_of_the_key() -> None:
    of_key: dict[str, JsonValue] = {"metadata__user_api_key_user_id": "owner"}
    assert call(**of_key).user == "owner"
    assert call(**of_key, llm__user="alice").user == "alice"


@pytest.mark.parametrize("text", ["{", "{'a': ", "{'cached_tokens'", "{" * 9_000, "{'\\'': 1}"])
def test_malformed_usage_leaves_the_other_counts(text: str) -> None:
    span = call(metadata__usage_object=text)
    assert (span.tokens.input, span.tokens.cached) == (100, None)


def test_usage_in_pythons_notation_has_the_cached_tokens() -> None:
    text = "{'note': \"it's\", 'cost': None, 'prompt_tokens_details': {'cached_tokens': 64}}"
    assert call(metadata__usage_object=text).tokens.cached == 64


@pytest.mark.parametrize(("system", "wanted"), [("", "gcp.vertex_ai"), ("openai", "openai")])
def test_provider_is_the_prefix_of_the_model_without_a_system(system: str, wanted: str) -> None:
    span = call(litellm__provider__model="vertex_ai/gemini-pro", gen_ai__system=system)
    assert span.provider == wanted


@pytest.mark.parametrize(
    ("function", "kind", "operation"),
    [
        ("acompletion", SpanKind.MODEL, "chat"),
        ("aresponses", SpanKind.MODEL, "chat"),
        ("atext_completion", SpanKind.MODEL, "text_completion"),
        ("aembedding", SpanKind.EMBEDDING, "embeddings"),
        ("embedding", SpanKind.EMBEDDING, "embeddings"),
        ("arerank", SpanKind.RETRIEVAL, "rerank"),
    ],
)
def test_asynchronous_calls_have_the_kind_of_the_others(
    function: str, kind: SpanKind, operation: str
) -> None:
    span = call(gen_ai__operation__name=function)
    assert (span.kind, span.operation) == (kind, operation)


def test_empty_text_next_to_a_tool_call_is_not_content() -> None:
    empty: JsonValue = [{"role": "assistant", "parts": [{"type": "text", "content": ""}]}]
    span = call(
        gen_ai__output__messages=empty,
        gen_ai__completion__0__function_call__name="f",
        gen_ai__completion__0__function_call__arguments="{}",
    )
    (reply,) = json.loads(span.output or "")
    assert reply["content"] is None
    assert reply["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
