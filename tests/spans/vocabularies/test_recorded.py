"""Recorded exports of real instrumentations (scripts/record_vocabularies.py) are mapped."""

import json
from functools import cache
from pathlib import Path

import pytest

from treadle.events.types import Usage
from treadle.spans.otlp import decode_json
from treadle.spans.span import CostSource, Span, SpanKind, SpanStatus
from treadle.spans.vocabularies.mapper import map_spans

FOLDER = Path(__file__).parent / "recorded"
QUESTION = "What is the weather in Zürich? 🌦"
ARGUMENTS = '{"city": "Zürich"}'
RESULT = '{"celsius": 11, "sky": "rain"}'
ANSWER = "It rains in Zürich."

ALL = ("openinference", "otel", "traceloop", "langfuse", "logfire", "pydantic_ai")
FULL = ("openinference", "traceloop", "langfuse", "logfire", "pydantic_ai")
"""The recordings with cached and reasoning tokens."""


@cache
def recorded(name: str) -> tuple[Span, ...]:
    request = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["request"]
    decoded = map_spans(decode_json(json.dumps(request).encode()))
    assert decoded.rejected == 0
    return decoded.spans


def calls(name: str, status: SpanStatus = SpanStatus.OK) -> list[Span]:
    return [s for s in recorded(name) if s.kind is SpanKind.MODEL and s.status is status]


@pytest.mark.parametrize("name", ALL)
def test_recorded_requests_are_model_calls_with_messages(name: str) -> None:
    first, second = calls(name)[:2]
    for span in (first, second):
        assert (span.operation, span.model) == ("chat", "fake-model")
        assert span.provider == (None if name == "langfuse" else "openai")
        assert span.cost is None
    asked = json.loads(first.input or "")
    assert asked == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": QUESTION},
    ]
    (call,) = json.loads(first.output or "")[0]["tool_calls"]
    assert call["id"] == "call_weather"
    assert call["function"] == {"name": "get_weather", "arguments": ARGUMENTS}
    history = json.loads(second.input or "")
    assert [message["role"] for message in history] == ["system", "user", "assistant", "tool"]
    assert history[2]["content"] is None
    assert history[2]["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert (history[3]["tool_call_id"], history[3]["content"]) == ("call_weather", RESULT)
    assert json.loads(second.output or "") == [{"role": "assistant", "content": ANSWER}]


@pytest.mark.parametrize("name", ALL)
def test_recorded_tokens_are_those_of_the_provider(name: str) -> None:
    first, second = calls(name)[:2]
    if name in FULL:
        assert first.tokens == Usage(input=100, output=20, cached=64)
        assert first.input_counts_cache is True
        assert second.tokens == Usage(input=150, output=12, reasoning=7)
    else:
        assert first.tokens == Usage(input=100, output=20)
        assert second.tokens == Usage(input=150, output=12)


@pytest.mark.parametrize("name", ["openinference", "traceloop", "langfuse"])
def test_recorded_stream_has_the_time_of_its_first_token(name: str) -> None:
    first, second = calls(name)[:2]
    assert first.time_to_first_token_us is not None
    assert first.duration_us is not None
    assert 0 < first.time_to_first_token_us <= first.duration_us
    assert second.time_to_first_token_us is None


@pytest.mark.parametrize("name", [name for name in ALL if name != "pydantic_ai"])
def test_recorded_failed_request_is_an_error_without_tokens(name: str) -> None:
    (failed,) = calls(name, SpanStatus.ERROR)
    assert failed.model == "gpt-nothing"
    assert "Error code: 400 - no such model" in (failed.error or "")
    assert (failed.tokens, failed.cost) == (Usage(), None)


@pytest.mark.parametrize("name", [name for name in ALL if name != "pydantic_ai"])
def test_recorded_embedding_is_an_embedding(name: str) -> None:
    (made,) = [span for span in recorded(name) if span.kind is SpanKind.EMBEDDING]
    assert (made.operation, made.model, made.tokens.input) == ("embeddings", "embedder", 4)
    if name in ("openinference", "traceloop", "langfuse"):
        assert made.input == "Zürich"


@pytest.mark.parametrize("name", ["traceloop", "langfuse", "pydantic_ai"])
def test_recorded_tool_is_a_tool_call(name: str) -> None:
    (tool,) = [span for span in recorded(name) if span.kind is SpanKind.TOOL]
    assert (tool.operation, tool.name) == ("execute_tool", "execute_tool get_weather")
    assert "Zürich" in json.dumps(json.loads(tool.input or ""), ensure_ascii=False)
    assert tool.output == RESULT


@pytest.mark.parametrize("name", ["traceloop", "langfuse", "pydantic_ai"])
def test_recorded_root_is_an_agent_with_the_answer(name: str) -> None:
    (agent,) = [span for span in recorded(name) if span.kind is SpanKind.AGENT]
    assert agent.parent_id is None
    assert agent.output == ANSWER


@pytest.mark.parametrize("name", ["openinference", "langfuse"])
def test_sessions_and_tags_become_threads_and_labels(name: str) -> None:
    for span in recorded(name):
        assert span.thread_id == "session-7"
        assert span.labels == ("alpha", "beta")


def test_logfire_stream_is_one_call() -> None:
    assert len(calls("logfire")) == 2
    assert len({span.thread_id for span in recorded("pydantic_ai")}) == 1


def test_langfuse_counts_exclude_each_other_and_cost_is_reported() -> None:
    (priced,) = [span for span in recorded("langfuse") if span.name == "priced"]
    assert priced.tokens == Usage(input=164, output=12, cached=64)
    assert priced.input_counts_cache is False
    assert (priced.cost, priced.cost_source) == (0.03, CostSource.REPORTED)


@pytest.mark.parametrize("name", ALL)
def test_all_sent_attributes_are_kept(name: str) -> None:
    request = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["request"]
    sent = {
        span["spanId"]: {each["key"] for each in span.get("attributes", ())}
        for resource in request["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    }
    assert {span.span_id: set(span.attributes) for span in recorded(name)} == sent
