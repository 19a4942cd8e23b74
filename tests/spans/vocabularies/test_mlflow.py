"""Attributes and events of MLflow that the recorded client does not send."""

import json
from dataclasses import replace

import pytest

from tests.spans.vocabularies.spelling import START, model
from treadle.spans.raw_span import RawSpan
from treadle.spans.span import JsonValue, SpanEvent, SpanKind
from treadle.spans.vocabularies.mapper import to_span

SCOPE = {"otel.scope.name": "mlflow.tracing.provider"}
NATIVE: dict[str, JsonValue] = {
    "mlflow.spanType": '"CHAT_MODEL"',
    "mlflow.spanOutputs": '{"choices": [{"message": {"role": "assistant", "content": ""}}]}',
}
CONVENTIONAL: dict[str, JsonValue] = {
    "model": '"gpt-4o"',
    "gen_ai.operation.name": "chat",
    "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": ""}]}]',
}


def streamed(attributes: dict[str, JsonValue], *deltas: object) -> RawSpan:
    """A streamed call of MLflow with an event for each chunk."""
    events = [
        SpanEvent(
            START // 1_000 + number,
            f"mlflow.chunk.item.{number}",
            {"mlflow.chunk.value": json.dumps({"choices": [{"delta": {"tool_calls": [delta]}}]})},
        )
        for number, delta in enumerate(deltas)
    ]
    return replace(model(attributes, *events), resource=SCOPE)


@pytest.mark.parametrize("attributes", [NATIVE, CONVENTIONAL])
def test_streamed_tool_calls_are_joined_from_the_chunks(attributes: dict[str, JsonValue]) -> None:
    raw = streamed(
        attributes,
        {"index": 0, "id": "c0", "function": {"name": "f", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"a": '}},
        {"index": 1, "id": "c1", "function": {"name": "g", "arguments": "{}"}},
        {"index": 0, "function": {"arguments": "1}"}},
    )
    (reply,) = json.loads(to_span(raw).output or "")
    assert reply["content"] is None
    assert [(each["id"], each["function"]) for each in reply["tool_calls"]] == [
        ("c0", {"name": "f", "arguments": '{"a": 1}'}),
        ("c1", {"name": "g", "arguments": "{}"}),
    ]


@pytest.mark.parametrize("delta", [None, 1, {}, {"index": "x", "function": [1]}, [[{}]]])
def test_malformed_chunks_are_ignored(delta: JsonValue) -> None:
    span = to_span(streamed(NATIVE, delta))
    assert span.kind is SpanKind.MODEL
    assert json.loads(span.output or "")[0]["role"] == "assistant"


def test_tags_with_values_are_metadata_and_others_are_labels() -> None:
    span = to_span(
        model({"mlflow.spanType": '"AGENT"', "mlflow.traceTag.plan": "free",
               "mlflow.traceTag.beta": "true", "mlflow.traceTag.new": ""})
    )  # fmt: skip
    assert span.labels == ("beta", "new")
    assert span.metadata == {"plan": "free"}
