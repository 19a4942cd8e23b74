"""Values that several libraries send in a form of their own, and how they become columns."""

import json
from typing import Any

import pytest

from tests.spans.vocabularies.spelling import model
from treadle.spans.raw_span import RawSpan, RawStatus
from treadle.spans.span import CostSource, JsonValue, Span, SpanEvent, SpanKind, SpanStatus
from treadle.spans.vocabularies.mapper import to_span

CHAT: dict[str, JsonValue] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
USAGE: dict[str, JsonValue] = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}


def replied(**attributes: JsonValue) -> Any:
    """The messages of a reply with these `gen_ai` attributes."""
    named = {f"gen_ai.{name.replace('__', '.')}": value for name, value in attributes.items()}
    return json.loads(to_span(model(CHAT | named)).output or "null")


def failed(message: str, **attributes: JsonValue) -> Span:
    raw = model(CHAT | attributes)
    raw.status, raw.status_message = RawStatus.ERROR, message
    return to_span(raw)


def lasting(microseconds: int, attributes: dict[str, JsonValue]) -> RawSpan:
    raw = model(CHAT | attributes)
    raw.end_ns = raw.start_ns + microseconds * 1_000
    return raw


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": "ü"}'}}


@pytest.mark.parametrize(
    "message",
    [
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": "ü"}}}],
        },
        {
            "role": "model",
            "parts": [{"functionCall": {"id": "c1", "name": "f", "args": {"a": "ü"}}}],
        },
        {
            "type": "ai", "content": "",
            "tool_calls": [{"id": "c1", "name": "f", "args": {"a": "ü"}, "type": "tool_call"}],
        },
        {
            "lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"content": "", "additional_kwargs": {"tool_calls": [CALL]}},
        },
    ],
    ids=["bedrock", "gemini", "langchain", "langchain-serialized"],
)  # fmt: skip
def test_tool_call_in_the_form_of_a_library_is_read(message: dict[str, Any]) -> None:
    (reply,) = replied(output__messages=json.dumps([message]))
    assert reply["role"] == "assistant"
    assert not reply["content"]
    assert reply["tool_calls"] == [CALL]


def test_parts_of_gemini_and_bedrock_are_read_as_texts_images_results_and_thoughts() -> None:
    inline = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    result = {"toolResult": {"toolUseId": "c1", "content": [{"json": {"x": 1}}]}}
    asked = [
        {"role": "user", "parts": [{"text": "look"}, inline]},
        {"role": "user", "content": [result]},
    ]
    span = to_span(model(CHAT | {"gen_ai.input.messages": json.dumps(asked)}))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    assert json.loads(span.input or "") == [
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"x": 1}'},
    ]
    thoughts = [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "yes"}]
    assert replied(output__messages=json.dumps([{"role": "assistant", "content": thoughts}])) == [
        {"role": "assistant", "content": "yes", "reasoning_content": "hm"}
    ]


def test_text_of_a_user_that_looks_like_json_stays_a_text() -> None:
    for text in ('[{"text": "a", "b": 1}]', '[{"x": 1}]', '{"type": "reasoning", "id": "r"}'):
        asked = [{"role": "user", "content": text}]
        span = to_span(model(CHAT | {"gen_ai.input.messages": json.dumps(asked)}))
        assert json.loads(span.input or "") == asked


def test_choices_of_a_reply_become_its_messages() -> None:
    choices = [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a"}},
        {"index": 1, "finish_reason": "stop", "text": "b"},
    ]
    assert replied(output__messages=json.dumps(choices)) == [
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b"},
    ]
    assert replied(output__messages=json.dumps({"choices": choices[1:]})) == [
        {"role": "assistant", "content": "b"},
    ]


def test_items_of_a_reply_become_one_message_with_all_tool_calls() -> None:
    other = {**CALL, "id": "c2"}
    parts = [{"role": "assistant", "content": "so", "tool_calls": [CALL]}]
    parts.append({"role": "assistant", "tool_calls": [other]})
    assert replied(output__messages=json.dumps(parts)) == [
        {"role": "assistant", "content": "so", "tool_calls": [CALL, other]}
    ]


def test_tool_call_that_is_sent_twice_is_recorded_once() -> None:
    part = {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": "ü"}}
    message = {"role": "assistant", "parts": [{"type": "tool_use"}, part], "tool_calls": [CALL]}
    (reply,) = replied(output__messages=json.dumps([message]))
    assert reply["tool_calls"] == [CALL]


@pytest.mark.parametrize(
    ("given", "returned"),
    [
        (
            {"input_str": "{'q': 1}", "inputs": {"q": 1}},
            {"type": "tool", "content": "r", "tool_call_id": "c"},
        ),
        ({"kwargs": {"q": 1}}, {"tool_name": "f", "raw_output": "r", "blocks": []}),
        ({"q": 1}, {"output": {"type": "tool", "data": {"content": "r", "tool_call_id": "c"}}}),
        ({"q": 1}, {"id": "c", "name": "f", "response": "r"}),
    ],
)  # fmt: skip
def test_arguments_and_result_of_a_tool_are_read_without_their_wrapper(
    given: JsonValue, returned: JsonValue
) -> None:
    span = to_span(
        model({
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.call.arguments": json.dumps(given),
            "gen_ai.tool.call.result": json.dumps(returned),
        })
    )  # fmt: skip
    assert json.loads(span.input or "") == {"q": 1}
    assert span.output == "r"


def test_result_of_a_tool_that_resembles_a_wrapper_stays_unchanged() -> None:
    result = '{"response": "ok", "tool_call_id": 3, "kwargs": {"a": 1}}'
    attributes: dict[str, JsonValue] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.arguments": result,
        "gen_ai.tool.call.result": result,
    }
    span = to_span(model(attributes))
    assert (span.input, span.output) == (result, result)


def test_events_of_a_tool_contain_its_arguments_and_its_result() -> None:
    events = (
        SpanEvent(at_us=1, name="gen_ai.tool.message", attributes={"content": '{"q": 1}'}),
        SpanEvent(at_us=2, name="gen_ai.choice", attributes={"message": '[{"text": "r"}]'}),
    )
    span = to_span(model({"gen_ai.operation.name": "execute_tool"}, *events))
    assert (span.input, span.output) == ('{"q": 1}', "r")


def test_answer_of_an_agent_excludes_the_questions_before_it() -> None:
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    attributes: dict[str, JsonValue] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.output.messages": json.dumps(said),
    }
    assert json.loads(to_span(model(attributes)).output or "") == said[1:]


def test_model_that_embeds_is_recognised_by_its_name() -> None:
    attributes: dict[str, JsonValue] = {
        "gen_ai.request.model": "text-embedding-3-small",
        "gen_ai.input.messages": '[{"content": "one"}, {"content": "two"}]',
    }
    span = to_span(model(attributes))
    assert (span.kind, span.input) == (SpanKind.EMBEDDING, '["one", "two"]')


def test_output_without_messages_is_not_a_reply() -> None:
    assert replied(output__messages="[]") is None


def test_failed_call_has_no_reply_and_a_short_error() -> None:
    empty = json.dumps([{"role": "assistant", "content": ""}])
    span = failed(
        "ValueError('no')Traceback (most recent call last):\n  File", **{"gen_ai.completion": empty}
    )
    assert (span.output, span.error) == (None, "ValueError('no')")
    assert failed("Traceback (most recent call last): x").error is not None


def test_successful_call_keeps_an_empty_reply() -> None:
    assert replied(completion=json.dumps([{"role": "assistant", "content": ""}])) == [
        {"role": "assistant", "content": ""}
    ]


@pytest.mark.parametrize(
    ("attributes", "microseconds"),
    [
        ({"gen_ai.server.time_to_first_token": 0.25}, 250_000),
        ({"gen_ai.server.time_to_first_token": 300}, 300_000),
        ({"gen_ai.server.time_to_first_token": 0.25, "gen_ai.request.stream": False}, None),
    ],
)
def test_time_to_first_token_is_within_a_streamed_call(
    attributes: dict[str, JsonValue], microseconds: int | None
) -> None:
    assert to_span(lasting(400_000, attributes)).time_to_first_token_us == microseconds


def test_name_of_a_framework_is_not_a_provider() -> None:
    for framework in ("strands-agents", "langchain", "langgraph"):
        assert to_span(model(CHAT | {"gen_ai.system": framework})).provider is None


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.usage.cost": 0},
        {"langfuse.observation.metadata.service_tier": '"default"'},
        {"service_tier": '"<openai.Omit object at 0x7f85>"'},
    ],
)
def test_price_is_taken_from_the_table(attributes: dict[str, JsonValue]) -> None:
    span = to_span(model(CHAT | USAGE | attributes))
    assert span.cost == pytest.approx(0.00035)
    assert span.cost_source is CostSource.PRICES


def test_placeholder_of_an_argument_is_not_a_user() -> None:
    assert to_span(model(CHAT | {"user": '"<openai.Omit object at 0x7f85>"'})).user is None


def test_failure_in_langsmith_counts_although_its_status_is_ok() -> None:
    raw = model(
        CHAT | {"langsmith.span.kind": "llm", "langsmith.span.tags": "seq:step:1, blue"},
        SpanEvent(at_us=1, name="exception", attributes={"exception.message": "no"}),
    )
    raw.status = RawStatus.OK
    span = to_span(raw)
    assert (span.status, span.error, span.labels) == (SpanStatus.ERROR, "no", ("blue",))


def test_span_that_prepares_a_call_is_not_a_model_call() -> None:
    prepares: dict[str, JsonValue] = {
        "openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", "input.value": "{}",
    }  # fmt: skip
    assert to_span(model(prepares)).kind is SpanKind.OTHER
    for call in ({"llm.token_count.prompt": 5}, {"input.value": "__REDACTED__"}):
        assert to_span(model(prepares | call)).kind is SpanKind.MODEL


def test_cached_tokens_in_the_whole_reply_are_counted() -> None:
    whole = "Reply(usage=Usage(prompt_tokens=100, details=Details(cached_tokens=64)))"
    attributes: dict[str, JsonValue] = {
        "openinference.span.kind": "LLM", "llm.token_count.prompt": 100,
        "llm.token_count.completion": 10, "output.value": whole,
    }  # fmt: skip
    assert to_span(model(attributes)).tokens.cached == 64
    assert to_span(model(attributes | {"llm.token_count.prompt": 99})).tokens.cached is None
