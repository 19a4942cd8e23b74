"""Every vocabulary yields the same columns."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.spans.vocabularies.spelling import (
    FIRST_TOKEN_US,
    INPUT,
    LABELS,
    MODEL_CALLS,
    OUTPUT,
    THREAD,
    TOOL_CALLS,
    model,
)
from treadle.events.types import Usage
from treadle.spans.raw_span import RawSpan
from treadle.spans.span import CostSource, SpanKind, SpanStatus
from treadle.spans.vocabularies.mapper import to_span

TOKENS = Usage(input=120, output=20, cached=64, cache_write=10, reasoning=5)


@pytest.mark.parametrize("make", MODEL_CALLS.values(), ids=MODEL_CALLS)
def test_model_call_has_the_same_columns_in_every_vocabulary(make: Callable[[], RawSpan]) -> None:
    raw = make()
    span = to_span(raw)
    assert (span.kind, span.operation) == (SpanKind.MODEL, "chat")
    assert (span.model, span.provider) == ("gpt-4o-mini", "openai")
    assert (span.status, span.error) == (SpanStatus.OK, None)
    assert span.input is not None
    assert span.output is not None
    assert json.loads(span.input) == INPUT
    assert json.loads(span.output) == OUTPUT
    assert "\\u" not in span.input
    assert span.labels == LABELS
    assert span.thread_id == THREAD
    assert span.attributes is raw.attributes
    if make.__name__ == "langfuse":  # it has no name for tokens that are written to a cache
        span = replace(span, tokens=replace(span.tokens, cache_write=10))
    assert span.tokens == TOKENS
    assert span.input_counts_cache is True
    assert span.time_to_first_token_us == FIRST_TOKEN_US
    # 56 * 0.15 + 64 * 0.075 + 20 * 0.60 dollars for a million: writing to the cache is free here
    assert span.cost == pytest.approx(25.2e-6)
    assert span.cost_source is CostSource.PRICES


@pytest.mark.parametrize("attributes", TOOL_CALLS.values(), ids=TOOL_CALLS)
def test_tool_call_has_the_same_columns_in_every_vocabulary(attributes: dict[str, object]) -> None:
    span = to_span(model(attributes))  # type: ignore[arg-type]
    assert (span.kind, span.operation) == (SpanKind.TOOL, "execute_tool")
    assert span.name == "execute_tool get_weather"
    assert span.input is not None
    assert span.output is not None
    assert json.loads(span.input) == {"city": "Zürich"}
    assert json.loads(span.output) == {"celsius": 11}
    assert span.cost is None


@pytest.mark.parametrize(
    ("attributes", "kind", "operation"),
    [
        ({"openinference.span.kind": "AGENT"}, SpanKind.AGENT, "invoke_agent"),
        ({"openinference.span.kind": "CHAIN"}, SpanKind.AGENT, "chain"),
        ({"openinference.span.kind": "RERANKER"}, SpanKind.RETRIEVAL, "rerank"),
        ({"openinference.span.kind": "GUARDRAIL"}, SpanKind.OTHER, "guardrail"),
        ({"llm.model_name": "m"}, SpanKind.MODEL, "chat"),
        ({"embedding.model_name": "m"}, SpanKind.EMBEDDING, "embeddings"),
        ({"retrieval.documents.0.document.id": "d"}, SpanKind.RETRIEVAL, "retrieval"),
        ({"gen_ai.operation.name": "invoke_agent"}, SpanKind.AGENT, "invoke_agent"),
        ({"gen_ai.operation.name": "invoke_workflow"}, SpanKind.AGENT, "invoke_workflow"),
        ({"gen_ai.operation.name": "text_completion"}, SpanKind.MODEL, "text_completion"),
        ({"gen_ai.operation.name": "generate_content"}, SpanKind.MODEL, "generate_content"),
        ({"gen_ai.operation.name": "embeddings"}, SpanKind.EMBEDDING, "embeddings"),
        ({"gen_ai.operation.name": "retrieval"}, SpanKind.RETRIEVAL, "retrieval"),
        ({"gen_ai.operation.name": "something_new"}, SpanKind.OTHER, "something_new"),
        ({"gen_ai.request.model": "m"}, SpanKind.MODEL, "chat"),
        ({"gen_ai.agent.name": "a"}, SpanKind.AGENT, "invoke_agent"),
        ({"llm.request.type": "completion"}, SpanKind.MODEL, "text_completion"),
        ({"ai.operationId": "ai.generateText"}, SpanKind.AGENT, "invoke_agent"),
        ({"ai.operationId": "ai.generateObject.doGenerate"}, SpanKind.MODEL, "chat"),
        ({"ai.operationId": "ai.embed.doEmbed"}, SpanKind.EMBEDDING, "embeddings"),
        ({"traceloop.span.kind": "workflow"}, SpanKind.AGENT, "invoke_workflow"),
        ({"traceloop.span.kind": "task"}, SpanKind.AGENT, "task"),
        ({"langfuse.observation.type": "retriever"}, SpanKind.RETRIEVAL, "retrieval"),
        ({"langfuse.observation.type": "span"}, SpanKind.OTHER, "span"),
        ({"agent_name": "a", "logfire.msg": "a run"}, SpanKind.AGENT, "invoke_agent"),
        ({"http.request.method": "GET"}, SpanKind.OTHER, "http"),
        ({"db.system": "sqlite", "db.statement": "SELECT 1"}, SpanKind.OTHER, "db"),
        ({"rpc.system": "grpc"}, SpanKind.OTHER, "rpc"),
        ({"my.own": 1}, SpanKind.OTHER, "span"),
        ({}, SpanKind.OTHER, "span"),
    ],
)
def test_kind_follows_from_the_attributes(
    attributes: dict[str, object], kind: SpanKind, operation: str
) -> None:
    span = to_span(model(attributes))  # type: ignore[arg-type]
    assert (span.kind, span.operation) == (kind, operation)
