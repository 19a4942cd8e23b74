"""Spans of Logfire, of openai-agents as Logfire sends it, and of pydantic-ai."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.spans.vocabularies.spelling import START, model
from treadle.events.types import Usage
from treadle.spans.otlp import decode_json
from treadle.spans.raw_span import RawStatus
from treadle.spans.span import CostSource, JsonValue, Span, SpanEvent, SpanKind, SpanStatus
from treadle.spans.vocabularies.mapper import map_spans, to_span

RECORDED = Path(__file__).parent / "clients"
CHAT: dict[str, JsonValue] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "gpt-4o-mini",
}
OUTPUT: JsonValue = [{"role": "assistant", "parts": [{"type": "text", "content": "rain"}]}]
ASKED: list[JsonValue] = [{"role": "user", "content": "Hi"}]
CALL: JsonValue = {
    "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"},
}  # fmt: skip


def span(
    attributes: dict[str, JsonValue], *events: SpanEvent, scope: str = "logfire.openai"
) -> Span:
    raw = replace(model(attributes, *events), resource={"otel.scope.name": scope})
    return to_span(raw)


def agents(**attributes: JsonValue) -> Span:
    return span(attributes, scope="logfire.openai_agents")


def read(text: str | None) -> Any:
    return json.loads(text or "null")


@pytest.mark.parametrize("name", ["session.id", "session_id", "gen_ai.conversation.id", "run_id"])
@pytest.mark.parametrize("value", ["[Scrubbed due to 'session']", "null"])
def test_replaced_value_is_not_a_thread_run_or_user(name: str, value: str) -> None:
    found = span({name: value, "user.id": value})
    assert (found.thread_id, found.run_id, found.user) == (None, None, None)


def test_streamed_call_lasts_as_long_as_its_log_states() -> None:
    log: dict[str, JsonValue] = {
        **CHAT, "logfire.span_type": "log", "duration": 0.25, "gen_ai.output.messages": OUTPUT,
        "logfire.msg": "streaming response from 'gpt-4o-mini' took 0.25s",
    }  # fmt: skip
    moment = replace(model(log), end_ns=START)
    found = to_span(moment)
    assert (found.duration_us, found.end_ns) == (250_000, START)
    assert found.start_us == START // 1_000 - 250_000
    assert found.name == "streaming response from 'gpt-4o-mini'"
    assert to_span(model(log)).duration_us == 2_000_000  # the span has a duration of its own
    assert to_span(replace(moment, attributes={**log, "duration": "x"})).duration_us == 0


def test_tag_of_the_instrumentation_is_not_a_label() -> None:
    tags: dict[str, JsonValue] = {**CHAT, "logfire.tags": ["beta", "LLM"]}
    assert span(tags).labels == ("beta",)
    assert span(tags, scope="logfire").labels == ("LLM", "beta")


@pytest.mark.parametrize("operation", ["chat", "embeddings"])
def test_reported_cost_of_the_operation_is_used(operation: str) -> None:
    found = span({**CHAT, "gen_ai.operation.name": operation, "operation.cost": 0.5})
    assert (found.cost, found.cost_source) == (0.5, CostSource.REPORTED)
    assert span({**CHAT, "gen_ai.operation.name": "invoke_agent", "operation.cost": 1}).cost is None


def test_embedded_text_is_read_from_the_request() -> None:
    said: dict[str, JsonValue] = {**CHAT, "gen_ai.operation.name": "embeddings"}
    assert span({**said, "request_data": '{"input": "a text"}'}).input == "a text"
    assert span({**said, "inputs": '["a text"]'}, scope="pydantic-ai").input == "a text"
    assert read(span({**said, "inputs": '["a", "b"]'}, scope="pydantic-ai").input) == ["a", "b"]


def test_reasoning_is_read_from_events() -> None:
    thought: JsonValue = {"type": "reasoning", "content": "Look outside."}
    events: JsonValue = [
        {"event.name": "gen_ai.user.message", "role": "user", "content": "Hi"},
        {"event.name": "gen_ai.unknown", "role": "assistant", "content": "", "data": thought},
        {"event.name": "gen_ai.assistant.message", "role": "assistant", "content": "rain"},
    ]  # fmt: skip
    whole = {**CHAT, "events": events}
    assert read(span(whole).input) == [{"role": "user", "content": "Hi"}]
    for found in (span(whole), span({**whole, "gen_ai.output.messages": OUTPUT})):
        (answer,) = read(found.output)
        assert (answer["content"], answer["reasoning_content"]) == ("rain", "Look outside.")


def test_result_of_an_instrumented_function_is_its_output() -> None:
    found = span(
        {"city": "Zürich", "return": '{"sky": "rain"}', "logfire.msg": "f"}, scope="logfire"
    )
    assert found.output == '{"sky": "rain"}'


def test_trace_of_openai_agents_is_a_workflow_with_thread_user_and_labels() -> None:
    found = agents(
        agent_trace_id="trace_1",
        group_id="thread-1",
        name="weather run",
        metadata='{"user_id": "alice", "tags": ["beta"], "tenant": "acme"}',
    )
    assert (found.kind, found.operation) == (SpanKind.AGENT, "invoke_workflow")
    assert (found.name, found.thread_id, found.user) == ("weather run", "thread-1", "alice")
    assert (found.labels, found.metadata["tenant"]) == (("beta",), "acme")


def test_function_of_openai_agents_is_a_tool_call() -> None:
    failure = {"message": "Error running tool", "data": {"tool_name": "f", "error": "no such city"}}
    said: dict[str, JsonValue] = {"name": "f", "input": '{"a": 1}', "output": "x", "mcp_data": None}
    done = agents(**said)
    assert (done.kind, done.name, done.status) == (SpanKind.TOOL, "execute_tool f", SpanStatus.OK)
    assert (done.input, done.output) == ('{"a": 1}', "x")
    failed = agents(**said, error=json.dumps(failure))
    assert (failed.status, failed.error) == (SpanStatus.ERROR, "no such city")


@pytest.mark.parametrize(
    ("said", "operation"),
    [
        ({"sdk_span_type": "task"}, "task"),
        ({"sdk_span_type": "turn", "agent_name": "a"}, "turn"),
        ({"name": "a", "handoffs": [], "tools": ["f"]}, "invoke_agent"),
    ],
)
def test_steps_of_openai_agents_are_steps_of_an_agent(
    said: dict[str, JsonValue], operation: str
) -> None:
    found = agents(**said, **{"gen_ai.system": "openai"})
    assert (found.kind, found.operation) == (SpanKind.AGENT, operation)


@pytest.mark.parametrize(
    ("name", "operation"), [("triggered", "guardrail"), ("from_agent", "handoff")]
)
def test_guardrails_and_handoffs_of_openai_agents_have_an_operation(
    name: str, operation: str
) -> None:
    found = agents(**{name: "a"})
    assert (found.kind, found.operation) == (SpanKind.OTHER, operation)


def test_trace_of_openai_agents_without_a_group_has_no_thread() -> None:
    assert agents(agent_trace_id="trace_1", group_id="null").thread_id is None


def test_name_of_a_failed_step_is_that_of_a_successful_one() -> None:
    error = {"message": "Error in agent run"}
    msg = "Agent run: 'a' failed: Error in agent run"
    found = agents(handoffs=[], error=error, **{"logfire.msg": msg})
    assert (found.name, found.error) == ("Agent run: 'a'", "Error in agent run")


@pytest.mark.parametrize("streamed", [True, False])
def test_chat_completion_of_openai_agents_has_input_and_output(streamed: bool) -> None:
    answer: JsonValue = {"role": "assistant", "content": "rain"}
    response: JsonValue = {"id": "__fake_id__", "output": [answer]}
    found = agents(
        input=ASKED,
        output=[response if streamed else answer],
        model_config={},
        request_data={"messages": [*ASKED, answer]},
        usage={
            "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
            "input_tokens_details": {"cached_tokens": 64},
            "output_tokens_details": {"reasoning_tokens": 7},
        },
        **{**CHAT, "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20},
    )  # fmt: skip
    assert (found.kind, read(found.input), read(found.output)) == (SpanKind.MODEL, ASKED, [answer])
    assert found.tokens == Usage(input=100, output=20, cached=64, reasoning=7, cache_write=None)


def test_response_of_openai_agents_has_input_and_output() -> None:
    called: JsonValue = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    found = agents(
        raw_input=ASKED,
        response_id="resp_1",
        response=json.dumps({"instructions": "Be brief.", "output": [called]}),
        events=[{"event.name": "gen_ai.user.message", "role": "user", "content": "Hi"}],
        **CHAT,
    )
    assert read(found.input) == [{"role": "system", "content": "Be brief."}, *ASKED]
    assert read(found.output) == [{"role": "assistant", "content": None, "tool_calls": [CALL]}]


def test_zero_tokens_of_a_model_call_are_unknown() -> None:
    counts = {"gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0}
    found = span({**CHAT, **counts})
    assert (found.tokens, found.cost) == (Usage(), None)


def test_input_of_a_pydantic_agent_ends_with_its_question() -> None:
    part: JsonValue = {"type": "tool_call", "id": "c1", "name": "f", "arguments": "{}"}
    result: JsonValue = {"type": "tool_call_response", "id": "c1", "result": "x"}
    run: list[JsonValue] = [
        {"role": "user", "parts": [{"type": "text", "content": "Hi"}]},
        {"role": "assistant", "parts": [part]},
        {"role": "user", "parts": [result]},
        {"role": "assistant", "parts": [{"type": "text", "content": "rain"}]},
    ]
    first = span({"agent_name": "a", "pydantic_ai.all_messages": json.dumps(run)})
    assert read(first.input) == ASKED
    assert read(first.output) == [{"role": "assistant", "content": "rain"}]
    more: list[JsonValue] = [{"role": "user", "parts": [{"type": "text", "content": "Thanks"}]}]
    second = span(
        {
            "agent_name": "a",
            "pydantic_ai.all_messages": json.dumps([*run, *more, run[-1]]),
            "pydantic_ai.new_message_index": 4,
        }
    )
    roles = [message["role"] for message in read(second.input)]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_cache_figures_of_a_conversation_are_not_tokens_of_the_call() -> None:
    counts = {"gen_ai.usage.input_tokens": 150, "gen_ai.usage.output_tokens": 12}
    found = span({**CHAT, **counts, "pydantic_ai.cache.established_tokens": 64})
    assert found.tokens == Usage(input=150, output=12)
    assert found.cost == pytest.approx((150 * 0.15 + 12 * 0.6) / 1e6)


def test_first_chunk_of_a_pydantic_stream_is_its_first_token() -> None:
    found = span({**CHAT, "gen_ai.client.operation.time_to_first_chunk": 0.25})
    assert found.time_to_first_token_us == 250_000


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("asyncio.exceptions.CancelledError", SpanStatus.CANCELLED),
        ("CancelledError", SpanStatus.CANCELLED),
        ("ValueError", SpanStatus.ERROR),
    ],
)
def test_cancelled_operation_is_not_an_error(kind: str, status: SpanStatus) -> None:
    raised = SpanEvent(START // 1_000, "exception", {"exception.type": kind})
    raw = replace(model({"gen_ai.tool.name": "f"}, raised), status=RawStatus.ERROR)
    assert to_span(raw).status is status


def test_failure_after_a_cancellation_is_an_error() -> None:
    raised = [
        SpanEvent(START // 1_000, "exception", {"exception.type": each})
        for each in ("asyncio.exceptions.CancelledError", "ValueError")
    ]
    assert to_span(model({"gen_ai.tool.name": "f"}, *raised)).status is SpanStatus.ERROR


def recorded(client: str, part: str) -> dict[str, Span]:
    """The spans of a part of a recording, by name."""
    recording = json.loads((RECORDED / f"{client}.json").read_text(encoding="utf-8"))
    (ran,) = [each for each in recording["parts"] if each["part"] == part]
    spans = map_spans(decode_json(json.dumps(recording["request"]).encode())).spans
    low, high = ran["began_ns"], ran["ended_ns"]
    return {each.name: each for each in spans if low <= (each.start_ns or 0) <= high}


def test_recorded_thread_that_logfire_redacted_is_unknown() -> None:
    (found,) = recorded("logfire", "redacted thread").values()
    assert "Scrubbed" in str(found.attributes["session_id"])
    assert found.thread_id is None


def test_recorded_tool_that_pydantic_ai_cancelled_is_not_an_error() -> None:
    found = recorded("pydantic_ai", "cancelled tool")
    assert found["execute_tool get_weather"].status is SpanStatus.ERROR
    assert found["execute_tool waiting_tool"].status is SpanStatus.CANCELLED


def test_recorded_second_turn_of_pydantic_ai_begins_with_the_first_one() -> None:
    agent = recorded("pydantic_ai", "second turn")["forecaster run"]
    said = read(agent.input)
    roles = [message["role"] for message in said]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert said[-1]["content"] == "Thank you."
