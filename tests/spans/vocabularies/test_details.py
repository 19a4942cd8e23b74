"""Single columns of mapped spans."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spans.vocabularies.spelling import START, model
from treadle.events.types import Usage
from treadle.spans.raw_span import RawSpan, RawStatus
from treadle.spans.span import CostSource, JsonValue, Span, SpanEvent, SpanKind, SpanStatus
from treadle.spans.vocabularies.mapper import to_span

CHAT: dict[str, JsonValue] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}


def chat(**more: JsonValue) -> Span:
    """A model call; `__` in a name means a dot."""
    return to_span(model(CHAT | {key.replace("__", "."): value for key, value in more.items()}))


def messages(span: Span) -> list[dict[str, JsonValue]]:
    found = json.loads(span.input or "null")
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    "arguments",
    ['{"a": ', "", "null", '"{\\"a\\": 1}"', "not json", '{"a":1}', "[1,  2]", "\ud800"],
)
def test_tool_arguments_stay_unchanged(arguments: str) -> None:
    part = {"type": "tool_call", "id": "c", "name": "f", "arguments": arguments}
    (message,) = messages(chat(gen_ai__input__messages=[{"role": "assistant", "parts": [part]}]))
    assert message["content"] is None
    assert json.dumps(arguments) in json.dumps(message["tool_calls"])
    tool = to_span(model({"gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": arguments}))
    assert tool.input == arguments


def test_absent_arguments_are_none() -> None:
    part = {"type": "tool_call", "id": "c", "name": "f"}
    (message,) = messages(chat(gen_ai__input__messages=[{"role": "assistant", "parts": [part]}]))
    assert message["tool_calls"] == [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": None}}
    ]
    assert to_span(model({"gen_ai.tool.name": "f"})).input is None


@pytest.mark.parametrize(
    "sent",
    [
        {"role": "user", "content": None},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]},
        {"role": "tool", "content": "r", "tool_call_id": "c"},
        {"role": "developer", "content": "d", "name": "n", "unknown": [1, {"x": None}]},
        {"role": "assistant", "content": None, "refusal": "no", "reasoning_content": "hm"},
    ],
)
def test_messages_in_openais_form_stay_unchanged(sent: dict[str, JsonValue]) -> None:
    assert messages(chat(gen_ai__input__messages=json.dumps([sent]))) == [sent]


def test_message_without_content_has_none() -> None:
    assert messages(chat(gen_ai__input__messages=[{"role": "user"}])) == [
        {"role": "user", "content": None}
    ]
    assert messages(to_span(model({"llm.input_messages.0.message.role": "user"}))) == [
        {"role": "user", "content": None}
    ]


@pytest.mark.parametrize(
    ("part", "url"),
    [
        ({"type": "uri", "modality": "image", "uri": "https://x.example/a.png"}, None),
        ({"type": "image-url", "url": "https://x.example/a.png"}, None),
        ({"type": "image", "image": "https://x.example/a.png"}, None),
        ({"type": "uri", "modality": "image", "uri": "store://a.png"}, "store://a.png"),
        (
            {"type": "blob", "modality": "image", "mime_type": "image/gif", "content": "R0k="},
            "data:image/gif;base64,R0k=",
        ),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/gif", "data": "R0k="},
            },
            "data:image/gif;base64,R0k=",
        ),
    ],
)
def test_images_are_parts_in_openais_form(part: dict[str, JsonValue], url: str | None) -> None:
    sent: JsonValue = [{"role": "user", "parts": [{"type": "text", "content": "see"}, part]}]
    (message,) = messages(chat(gen_ai__input__messages=sent))
    image = {"type": "image_url", "image_url": {"url": url or "https://x.example/a.png"}}
    assert message["content"] == [{"type": "text", "text": "see"}, image]


def test_parts_without_an_openai_form_are_kept() -> None:
    part: JsonValue = {
        "type": "blob",
        "modality": "audio",
        "mime_type": "audio/wav",
        "content": "AA==",
    }
    (message,) = messages(chat(gen_ai__input__messages=[{"role": "user", "parts": [part, "text"]}]))
    assert message["content"] == [part, {"type": "text", "text": "text"}]


def test_anthropic_blocks_become_messages() -> None:
    sent = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "a"},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}},
            ],
        },
    ]
    assert messages(chat(gen_ai__input__messages=json.dumps(sent))) == [
        {"role": "tool", "tool_call_id": "t", "content": "r"},
        {
            "role": "assistant",
            "content": "a",
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "t", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
            ],
        },
    ]


def test_openai_response_items_become_messages() -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{"}
    sent = [
        {"role": "user", "content": "q"},
        call,
        {"type": "function_call_output", "call_id": "c", "output": "r"},
    ]
    made = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [made]}
    assert messages(chat(gen_ai__input__messages=json.dumps(sent))) == [
        sent[0],
        asked,
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ]
    assert json.loads(chat(gen_ai__output__messages=json.dumps([call])).output or "") == [asked]


def test_reasoning_item_belongs_to_the_reply_that_follows_it() -> None:
    summary = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]
    thought = {"type": "reasoning", "id": "rs", "summary": summary, "content": None}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    reply = {"type": "message", "role": "assistant", "content": "a"}
    made = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for item, expected in (
        (call, {"content": None, "tool_calls": [made]}),
        (reply, {"content": "a", "type": "message"}),
    ):
        sent = json.dumps([{"role": "user", "content": "q"}, thought, item])
        assert messages(chat(gen_ai__input__messages=sent)) == [
            {"role": "user", "content": "q"},
            {"role": "assistant", "reasoning_content": "One.\n\nTwo.", **expected},
        ]
    sent = json.dumps([thought, {"role": "user", "content": "q"}])
    assert messages(chat(gen_ai__input__messages=sent)) == [
        {"role": "assistant", "content": None, "reasoning_content": "One.\n\nTwo."},
        {"role": "user", "content": "q"},
    ]


def test_reasoning_item_without_a_summary_adds_nothing() -> None:
    sent = [{"type": "reasoning", "summary": []}, {"role": "assistant", "content": "a"}]
    reply = chat(gen_ai__output__messages=json.dumps(sent)).output
    assert json.loads(reply or "") == [{"role": "assistant", "content": "a"}]


def test_parts_of_openai_responses_become_parts_of_messages() -> None:
    parts = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/gif;base64,R0k="},
    ]
    answer = [{"type": "output_text", "text": "a", "annotations": []}]
    sent = [{"role": "user", "content": parts}, {"role": "assistant", "content": answer}]
    image = {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0k="}}
    assert messages(chat(gen_ai__input__messages=json.dumps(sent))) == [
        {"role": "user", "content": [{"type": "text", "text": "see"}, image]},
        {"role": "assistant", "content": "a"},
    ]


def test_chunk_events_have_the_first_token_without_usage() -> None:
    event = SpanEvent(START // 1_000 + 250, "gen_ai.content.completion.chunk")
    assert to_span(model(CHAT, event)).time_to_first_token_us == 250


@pytest.mark.parametrize(
    ("call", "of_agent", "of_tool"),
    [
        ({"args": ["q"], "kwargs": {}}, "q", '{"args": ["q"], "kwargs": {}}'),
        ({"args": [], "kwargs": {"a": "q"}}, '{"a": "q"}', '{"a": "q"}'),
        (
            {"args": ["q"], "kwargs": {"a": 1}},
            '{"args": ["q"], "kwargs": {"a": 1}}',
            '{"args": ["q"], "kwargs": {"a": 1}}',
        ),
        ({"args": [1], "kwargs": {}}, '{"args": [1], "kwargs": {}}', '{"args": [1], "kwargs": {}}'),
        ({"args": "x", "kwargs": None}, *['{"args": "x", "kwargs": null}'] * 2),
    ],
)
def test_recorded_arguments_of_a_function_are_read(
    call: JsonValue, of_agent: str, of_tool: str
) -> None:
    for kind, expected in (("agent", of_agent), ("tool", of_tool)):
        sent: dict[str, JsonValue] = {
            "traceloop.span.kind": kind,
            "traceloop.entity.input": json.dumps(call),
        }
        assert to_span(model(sent)).input == expected
        sent = {
            "langfuse.observation.type": kind,
            "langfuse.observation.input": json.dumps(call),
        }
        assert to_span(model(sent)).input == expected


def test_workflow_has_the_name_of_its_decorator() -> None:
    attributes: dict[str, JsonValue] = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.name": "forecast",
    }
    named = replace(model(attributes), name="forecast.workflow")
    assert to_span(named).name == "forecast"
    assert to_span(replace(named, name="renamed")).name == "renamed"


def test_vectors_of_an_embedding_are_summarized() -> None:
    two = {"dimensions": 3, "count": 2}
    vectors: list[JsonValue] = ["[0.5, 1, 2]", "[1, 2, 3]"]
    spans: list[dict[str, JsonValue]] = [
        {"ai.operationId": "ai.embedMany.doEmbed", "ai.values": ['"a"', '"b"'],
         "ai.embeddings": vectors},
        {"openinference.span.kind": "EMBEDDING",
         **{f"embedding.embeddings.{n}.embedding.vector": [0.5, 1, 2] for n in (0, 1)},
         **{f"embedding.embeddings.{n}.embedding.text": "ab"[n] for n in (0, 1)},
         "output.value": json.dumps({"data": [{"embedding": [0.5, 1, 2]}] * 2})},
    ]  # fmt: skip
    for attributes in spans:
        span = to_span(model(attributes))
        assert (span.kind, span.input) == (SpanKind.EMBEDDING, '["a", "b"]')
        assert json.loads(span.output or "") == two


def test_calls_of_langfuses_javascript_client_are_read() -> None:
    sent: dict[str, JsonValue] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": "q",
    }
    asked = to_span(model(sent | {"langfuse.observation.metadata.instructions": "Be brief."}))
    assert messages(asked) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "q"},
    ]
    embedded = to_span(replace(model(sent), name="OpenAI.embeddings"))
    assert (embedded.kind, embedded.input) == (SpanKind.EMBEDDING, "q")


def test_reply_of_an_agent_omits_its_answered_calls() -> None:
    def call(name: str) -> JsonValue:
        return {"type": "tool_call", "id": name, "name": "f", "arguments": "{}"}

    result: JsonValue = {"type": "tool_call_response", "id": "c", "response": "r"}
    text: JsonValue = {"type": "text", "content": "a"}
    agent: dict[str, JsonValue] = {"gen_ai.operation.name": "invoke_agent"}
    open_call: JsonValue = {
        "id": "d",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
    }
    cases: list[tuple[list[JsonValue], list[dict[str, JsonValue]]]] = [
        ([text, call("c"), result], [{"role": "assistant", "content": "a"}]),
        (
            [call("c"), result, call("d")],
            [{"role": "assistant", "content": None, "tool_calls": [open_call]}],
        ),
    ]
    for parts, expected in cases:
        sent: JsonValue = [{"role": "assistant", "parts": parts}]
        span = to_span(model(agent | {"gen_ai.output.messages": sent}))
        assert json.loads(span.output or "") == expected
    kept: JsonValue = [{"role": "assistant", "parts": [call("c"), result]}]
    span = to_span(model(agent | {"gen_ai.output.messages": kept}))
    assert [each["role"] for each in json.loads(span.output or "")] == ["assistant", "tool"]


def test_agent_named_after_its_model_has_its_own_name() -> None:
    attributes: dict[str, JsonValue] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.agent.name": "weather run",
    }
    raw = model(attributes)
    assert to_span(replace(raw, name="invoke_agent gpt-4o-mini")).name == "weather run"
    assert to_span(replace(raw, name="invoke_agent weather")).name == "invoke_agent weather"


def test_vercel_7_embeds_once_and_has_the_context_of_its_caller() -> None:
    outer: dict[str, JsonValue] = {
        "gen_ai.operation.name": "embeddings",
        "ai.value": '"a"',
        "ai.settings.context.sessionId": "s",
        "ai.settings.context.userId": "alice",
        "ai.settings.context.tags": ["beta"],
        "ai.settings.context.tenant": "acme",
    }
    inner: dict[str, JsonValue] = {
        "gen_ai.operation.name": "embeddings",
        "ai.values": ['"a"'],
        "gen_ai.usage.input_tokens": 4,
    }
    span = to_span(model(outer))
    assert (span.kind, span.input, to_span(model(inner)).kind) == (
        SpanKind.OTHER,
        "a",
        SpanKind.EMBEDDING,
    )
    assert (span.thread_id, span.user, span.labels) == ("s", "alice", ("beta",))
    assert span.metadata == {"tenant": "acme"}


def test_vercel_embed_is_not_an_agent_and_its_text_is_not_quoted() -> None:
    attributes: dict[str, JsonValue] = {
        "ai.operationId": "ai.embed",
        "ai.value": json.dumps("a text"),
        "ai.embedding": "[0.25, -0.5]",
        "ai.usage.tokens": 4,
    }
    span = to_span(model(attributes))
    assert (span.kind, span.operation, span.input) == (SpanKind.OTHER, "embed", "a text")
    assert json.loads(span.output or "") == {"dimensions": 2, "count": 1}


@pytest.mark.parametrize("text", ["Hello", "{broken", "[1, 2", '{"a": 1}', "7", ""])
def test_input_without_messages_is_a_user_message(text: str) -> None:
    (message,) = messages(chat(gen_ai__prompt=text))
    assert message["role"] == "user"
    assert str(message["content"]) == text


def test_json_nested_too_deeply_stays_text() -> None:
    deep = "[" * 50_000
    (message,) = messages(chat(gen_ai__input__messages=deep))
    assert message["content"] == deep
    nested = '{"role":"user","content":' + "[" * 900 + "]" * 900 + "}"
    assert chat(gen_ai__input__messages=f"[{nested}]").input is not None


def test_tokens_and_cost_are_unknown_without_usage() -> None:
    span = chat()
    assert (span.tokens, span.cost, span.cost_source) == (Usage(), None, None)
    assert span.input_counts_cache is None


@pytest.mark.parametrize("count", [-1, 10**12, "many", True, 1.5, None, [], 2**63 - 1])
def test_impossible_count_is_unknown(count: JsonValue) -> None:
    span = chat(gen_ai__usage__input_tokens=count, gen_ai__usage__output_tokens=5)
    assert span.tokens == Usage(output=5)
    assert span.cost is None


@pytest.mark.parametrize(("count", "known"), [("12", 12), (12.0, 12), (0, 0)])
def test_count_may_be_a_text_or_a_double(count: JsonValue, known: int) -> None:
    assert chat(gen_ai__usage__input_tokens=count).tokens == Usage(input=known)


CACHED: dict[str, JsonValue] = {
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 10,
    "gen_ai.usage.cache_read.input_tokens": 40,
    "gen_ai.usage.cache_creation.input_tokens": 20,
}


@pytest.mark.parametrize(
    ("more", "scope", "whole", "inside"),
    [
        ({}, "", 100, True),  # OpenTelemetry requires it
        (
            {"gen_ai.provider.name": "openai"},
            "opentelemetry.instrumentation.anthropic",
            100,
            True,
        ),
        ({}, "opentelemetry.instrumentation.bedrock", 160, False),
        ({"gen_ai.usage.total_tokens": 170}, "", 160, False),  # the total shows it
        ({"gen_ai.usage.total_tokens": 110}, "opentelemetry.instrumentation.bedrock", 100, True),
        ({"gen_ai.usage.cache_read.input_tokens": 4_000}, "", 4_120, False),  # more than the whole
    ],
)
def test_input_always_includes_cached_tokens(
    more: dict[str, JsonValue], scope: str, whole: int, inside: bool
) -> None:
    raw = model(CHAT | CACHED | more)
    raw.resource = {"otel.scope.name": scope}
    span = to_span(raw)
    assert (span.tokens.input, span.input_counts_cache) == (whole, inside)
    assert span.tokens.cache_write == 20
    cached = span.tokens.cached or 0
    dollars = (whole - cached) * 2.5e-6 + cached * 1.25e-6 + 10 * 10e-6
    assert span.cost == pytest.approx(dollars)


@pytest.mark.parametrize(("provider", "whole"), [("anthropic.messages", 140), ("openai.chat", 100)])
def test_vercel_version_5_forwards_the_counts_of_the_provider(provider: str, whole: int) -> None:
    said: dict[str, JsonValue] = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.provider": provider,
        "ai.usage.inputTokens": 100,
        "ai.usage.outputTokens": 10,
        "ai.usage.cachedInputTokens": 40,
    }
    assert to_span(model(said)).tokens.input == whole


COUNTS = st.none() | st.integers(-5, 2_000_000) | st.just(10**15)


@given(st.lists(COUNTS, min_size=6, max_size=6))
def test_parts_never_exceed_the_input_and_cost_is_not_negative(
    counts: list[int | None],
) -> None:
    names = (
        "input_tokens", "output_tokens", "cache_read.input_tokens",
        "cache_creation.input_tokens", "reasoning.output_tokens", "total_tokens",
    )  # fmt: skip
    said = {f"gen_ai.usage.{name}": count for name, count in zip(names, counts, strict=True)}
    span = to_span(model(CHAT | said))
    tokens = span.tokens
    if tokens.input is not None:
        assert (tokens.cached or 0) + (tokens.cache_write or 0) <= tokens.input
    if tokens.output is not None:
        assert (tokens.reasoning or 0) <= tokens.output
    assert (span.cost is None) == (tokens.input is None or tokens.output is None)
    assert span.cost is None or span.cost >= 0


@pytest.mark.parametrize("told", [1e300, -0.5, "NaN", "1e999", True])
def test_unusable_cost_is_unknown(told: JsonValue) -> None:
    said = {"gen_ai.operation.name": "chat", "gen_ai.usage.cost": told}
    assert to_span(model(said)).cost is None


@pytest.mark.parametrize(
    ("said", "cost"),
    [
        ({"gen_ai.usage.cost": 0.5}, 0.5),
        ({"gen_ai.usage.cost": 0, "gen_ai.request.model": "local"}, 0.0),
        ({"gen_ai.usage.cost": "0.25"}, 0.25),
        ({"llm.cost.total": 0.7}, 0.7),
        ({"llm.model_name": "m", "llm.cost.prompt": 0.1, "llm.cost.completion": 0.2}, 0.3),
        ({"langfuse.observation.cost_details": '{"input": 0.1, "output": 0.3}'}, 0.4),
        ({"langfuse.observation.cost_details": '{"input": 0.1, "total": 0.3}'}, 0.3),
    ],
)
def test_reported_cost_overrides_the_price_table(said: dict[str, JsonValue], cost: float) -> None:
    tokens: dict[str, JsonValue] = {
        "openinference.span.kind": "LLM",
        "llm.token_count.prompt": 5,
        "llm.token_count.completion": 5,
        "langfuse.observation.type": "generation",
    }
    span = to_span(model(CHAT | tokens | said))
    assert span.cost == pytest.approx(cost)
    assert span.cost_source is CostSource.REPORTED


@pytest.mark.parametrize("cost", [-1, "free", True, None, "nan", "inf"])
def test_impossible_cost_is_unknown(cost: JsonValue) -> None:
    assert chat(gen_ai__usage__cost=cost).cost is None


def _exception(**said: JsonValue) -> SpanEvent:
    return SpanEvent(START // 1_000, "exception", {f"exception.{k}": v for k, v in said.items()})


@pytest.mark.parametrize(
    ("status", "message", "said", "events", "expected", "error"),
    [
        (RawStatus.UNSET, "", {}, [], SpanStatus.OK, None),
        (RawStatus.ERROR, "why", {"error.type": "T"}, [], SpanStatus.ERROR, "why"),
        (RawStatus.ERROR, "", {"error.type": "T"}, [], SpanStatus.ERROR, "T"),
        (RawStatus.ERROR, "", {}, [], SpanStatus.ERROR, None),
        (
            RawStatus.ERROR,
            "",
            {"error.type": "T"},
            [_exception(type="KeyError", message="'k'")],
            SpanStatus.ERROR,
            "KeyError: 'k'",
        ),
        (RawStatus.UNSET, "", {"error.type": "T"}, [], SpanStatus.ERROR, "T"),
        (RawStatus.UNSET, "", {}, [_exception(type="E")], SpanStatus.ERROR, "E"),
        (RawStatus.OK, "", {"error.type": "T"}, [_exception(type="E")], SpanStatus.OK, None),
        (
            RawStatus.UNSET,
            "",
            {
                "langfuse.observation.level": "ERROR",
                "langfuse.observation.status_message": "it broke",
            },
            [],
            SpanStatus.ERROR,
            "it broke",
        ),
        (
            RawStatus.UNSET,
            "",
            {"langfuse.observation.status_message": "all is well"},
            [],
            SpanStatus.OK,
            None,
        ),
    ],
)
def test_status_follows_from_code_exceptions_and_error_type(
    status: RawStatus,
    message: str,
    said: dict[str, JsonValue],
    events: list[SpanEvent],
    expected: SpanStatus,
    error: str | None,
) -> None:
    raw = model(said, *events)
    raw.status, raw.status_message = status, message
    span = to_span(raw)
    assert (span.status, span.error) == (expected, error)


def test_span_without_an_end_is_unfinished() -> None:
    raw = RawSpan(trace_id="t", span_id="s", name="n", start_ns=5, status=RawStatus.ERROR)
    assert (to_span(raw).status, to_span(raw).end_us) == (SpanStatus.UNFINISHED, None)


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ({"tag.tags": ["b", "a", "b", ""]}, ("a", "b")),
        ({"tag.tags": '["b", "a"]'}, ("a", "b")),
        ({"tag.tags": "one, still one"}, ("one, still one",)),
        ({"label": "x"}, ("x",)),
        ({"labels": "x, y"}, ("x", "y")),
        ({"labels": ["x"], "label": "y", "treadle.labels": ["z"]}, ("x", "y", "z")),
        ({"x-label": "x,y"}, ("x", "y")),
        ({"http.request.header.x-label": ["x,y"]}, ("x", "y")),
        ({"langfuse.trace.tags": ["x"], "tag.tags": ["y"]}, ("x", "y")),
        ({"labels": 7}, ()),
    ],
)
def test_labels_are_read_from_every_name(
    said: dict[str, JsonValue], labels: tuple[str, ...]
) -> None:
    assert to_span(model(said)).labels == labels


@pytest.mark.parametrize(
    ("said", "thread", "run"),
    [
        ({"gen_ai.conversation.id": "c", "session.id": "s"}, "c", None),
        ({"session.id": "no uuid / at all"}, "no uuid / at all", None),
        ({"session.id": 17}, "17", None),
        ({"langfuse.session.id": "s"}, "s", None),
        ({"thread.id": "t"}, "t", None),
        ({"thread.id": 1407, "thread.name": "MainThread"}, None, None),
        ({"x-thread-id": "t", "x-run-id": "r"}, "t", "r"),
        ({"http.request.header.x-thread-id": ["t"]}, "t", None),
        ({"traceloop.association.properties.chat_id": "t"}, "t", None),
        ({"traceloop.association.properties.run_id": "r"}, None, "r"),
        ({"run.id": "r", "session.id": " "}, None, "r"),
    ],
)
def test_thread_and_run_ids_are_opaque(
    said: dict[str, JsonValue], thread: str | None, run: str | None
) -> None:
    span = to_span(model(CHAT | said))
    assert (span.thread_id, span.run_id) == (thread, run)


@pytest.mark.parametrize(
    ("told", "provider"),
    [
        ("openai", "openai"), ("OpenAI", "openai"), ("openai.responses", "openai"),
        ("az.ai.openai", "azure.ai.openai"), ("azure", "azure.ai.openai"),
        ("amazon-bedrock", "aws.bedrock"), ("aws.bedrock", "aws.bedrock"),
        ("google.generative-ai", "gcp.gen_ai"), ("google.vertex.chat", "gcp.vertex_ai"),
        ("mistralai", "mistral_ai"), ("anthropic.messages", "anthropic"), ("my.own", "my.own"),
    ],
)  # fmt: skip
def test_provider_has_one_name(told: str, provider: str) -> None:
    assert chat(gen_ai__system=told).provider == provider


def test_retrieval_has_query_and_documents() -> None:
    span = to_span(
        model(
            {
                "openinference.span.kind": "RETRIEVER",
                "input.value": "weather",
                "retrieval.documents.10.document.content": "last",
                "retrieval.documents.2.document.content": "first",
                "retrieval.documents.2.document.score": 0.5,
                "retrieval.documents.2.document.metadata": '{"a": 1}',
            }
        )
    )
    assert span.kind is SpanKind.RETRIEVAL
    assert span.input == "weather"
    assert json.loads(span.output or "") == [
        {"content": "first", "score": 0.5, "metadata": {"a": 1}},
        {"content": "last"},
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        "openinference.span.kind", "llm.input_messages.0.message.role", "llm.input_messages",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments",
        "llm.output_messages.0.message.contents.0.message_content.image.image.url", "llm.tools",
        "llm.invocation_parameters", "retrieval.documents.0.document.metadata", "tag.tags",
        "embedding.embeddings.0.embedding.text", "input.value", "output.value", "tool.name",
        "gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages",
        "gen_ai.system_instructions", "gen_ai.prompt.0.tool_calls.0.name", "gen_ai.prompt",
        "gen_ai.completion.0", "gen_ai.usage.cost", "gen_ai.usage.input_tokens", "gen_ai.system",
        "gen_ai.response.time_to_first_chunk", "ai.operationId", "ai.prompt.messages",
        "ai.response.toolCalls", "ai.response.msToFirstChunk", "ai.model.provider", "ai.values",
        "traceloop.span.kind", "traceloop.entity.input", "traceloop.entity.output", "events",
        "langfuse.observation.type", "langfuse.observation.input", "langfuse.observation.output",
        "langfuse.observation.usage_details", "langfuse.observation.cost_details", "request_data",
        "langfuse.observation.completion_start_time", "pydantic_ai.all_messages", "final_result",
        "all_messages_events", "logfire.msg", "gen_ai.usage.raw", "session.id", "labels", "label",
        "thread.id", "run_id", "error.type", "db.statement", "http.method", "tool_arguments",
        "agent_trace_id", "group_id", "sdk_span_type", "mcp_data", "handoffs", "model_config",
        "raw_input", "response", "usage", "error", "input", "output", "metadata", "inputs",
        "response_data", "operation.cost", "duration", "logfire.span_type", "return",
    ]
)  # fmt: skip
KINDS = st.sampled_from(
    ["LLM", "TOOL", "chat", "execute_tool", "generation", "tool", "ai.toolCall"]
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": JSON, "content": JSON, "parts": st.lists(JSON, max_size=2), "tool_calls": JSON,
        "type": st.sampled_from(["text", "tool_call", "image", "tool_result"]), "text": JSON,
    },
)  # fmt: skip


def test_counts_of_langfuse_exclude_cached_tokens() -> None:
    usage = {"input": 100, "output": 12, "input_cached_tokens": 64}
    said: dict[str, JsonValue] = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.usage_details": json.dumps(usage),
    }
    span = to_span(model(said))
    assert span.tokens == Usage(input=164, output=12, cached=64)
    assert span.input_counts_cache is False


def test_items_of_one_reply_of_the_responses_api_are_one_message() -> None:
    calls: list[JsonValue] = [
        {"type": "function_call", "call_id": each, "name": "f", "arguments": "{}"} for each in "ab"
    ]
    thought: JsonValue = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    text: JsonValue = {
        "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t"}],
    }  # fmt: skip
    result: JsonValue = {"type": "function_call_output", "call_id": "a", "output": "r"}
    question: JsonValue = {"role": "user", "content": "q"}
    sent: JsonValue = [question, thought, text, *calls, result, *calls]
    found = messages(chat(gen_ai__input__messages=json.dumps(sent)))
    assert [each["role"] for each in found] == ["user", "assistant", "tool", "assistant"]
    assert (found[1]["content"], found[1]["reasoning_content"]) == ("t", "hm")
    for reply in (found[1], found[3]):
        assert [call["id"] for call in cast("Any", reply["tool_calls"])] == ["a", "b"]


@settings(max_examples=60)
@given(
    st.dictionaries(NAMES, JSON | KINDS | st.lists(MESSAGE, max_size=3) | MESSAGE, max_size=8),
    st.sampled_from(["any", "logfire.openai", "logfire.openai_agents"]),
)
def test_any_attributes_are_mapped(said: dict[str, JsonValue], scope: str) -> None:
    span = to_span(replace(model(said), resource={"otel.scope.name": scope}))
    assert span.attributes == said or "nan" in repr(said)
    for text in (span.input, span.output, span.model, span.thread_id, span.error):
        assert text is None or isinstance(text, str)
    encoded = {key: json.dumps(value) for key, value in said.items()}
    assert to_span(replace(model({**encoded}), resource={"otel.scope.name": scope})).operation


def test_mlflow_span_has_kind_content_tokens_and_cost() -> None:
    """mlflow/mlflow#24059 and #22745: token usage under names that only MLflow uses."""
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    usage = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 64}
    answer = {"choices": [{"message": {"role": "assistant", "content": "Yo"}}]}
    span = to_span(
        model(
            {
                "mlflow.spanType": '"CHAT_MODEL"',
                "mlflow.spanInputs": json.dumps(asked),
                "mlflow.spanOutputs": json.dumps(answer),
                "mlflow.chat.tokenUsage": json.dumps({**usage, "total_tokens": 120}),
                "mlflow.llm.cost": '{"input_cost": 0.1, "output_cost": 0.2, "total_cost": 0.3}',
            }
        )
    )
    assert (span.kind, span.model) == (SpanKind.MODEL, "gpt-4o")
    assert messages(span) == [{"role": "user", "content": "Hi"}]
    assert json.loads(span.output or "") == [{"role": "assistant", "content": "Yo"}]
    assert span.tokens == Usage(input=100, output=20, cached=64)
    assert (span.cost, span.cost_source) == (0.3, CostSource.REPORTED)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("TOOL", SpanKind.TOOL),
        ("RETRIEVER", SpanKind.RETRIEVAL),
        ("AGENT", SpanKind.AGENT),
        ("UNKNOWN", SpanKind.OTHER),
    ],
)
def test_other_mlflow_span_keeps_input_and_output(kind: str, expected: SpanKind) -> None:
    values: dict[str, JsonValue] = {
        "mlflow.spanType": json.dumps(kind),
        "mlflow.spanInputs": '{"city": "Zürich"}',
        "mlflow.spanOutputs": '"rain"',
    }
    span = to_span(model(values))
    assert span.kind is expected
    assert json.loads(span.input or "") == {"city": "Zürich"}
    assert span.output in {"rain", '"rain"'}


@pytest.mark.parametrize("as_text", [True, False])
def test_documents_in_one_attribute_are_read(as_text: bool) -> None:
    """Arize-ai/phoenix#7687: `retrieval.documents` is one value instead of dotted names."""
    listed: JsonValue = [
        {"document.content": "one", "document.score": 0.5},
        {"document": {"content": "two"}},
    ]
    span = to_span(
        model(
            {
                "openinference.span.kind": "RETRIEVER",
                "retrieval.documents": json.dumps(listed) if as_text else listed,
            }
        )
    )
    assert json.loads(span.output or "") == [{"content": "one", "score": 0.5}, {"content": "two"}]


def test_claude_code_span_has_kind_tokens_and_cost() -> None:
    """anthropics/claude-code#50776 and #68771: flat `input_tokens` show as zero elsewhere."""
    said: dict[str, JsonValue] = {
        "span.type": "llm_request",
        "gen_ai.system": "anthropic",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "input_tokens": 2000,
        "output_tokens": 20,
        "cache_read_tokens": 900,
        "cache_creation_tokens": 100,
        "ttft_ms": 1.5,
    }
    span = to_span(replace(model(said), name="claude_code.llm_request"))
    assert (span.kind, span.provider) == (SpanKind.MODEL, "anthropic")
    assert span.tokens == Usage(input=3000, output=20, cached=900, cache_write=100)
    assert span.input_counts_cache is False
    assert span.cost == pytest.approx((2000 * 3 + 900 * 0.3 + 100 * 3.75 + 20 * 15) / 1e6)
    assert span.time_to_first_token_us == 1500


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("interaction", SpanKind.AGENT),
        ("tool", SpanKind.TOOL),
        ("tool.execution", SpanKind.OTHER),
        ("tool.blocked_on_user", SpanKind.OTHER),
    ],
)
def test_claude_code_tool_call_counts_once(kind: str, expected: SpanKind) -> None:
    said: dict[str, JsonValue] = {"span.type": kind, "tool_name": "Read", "success": False}
    span = to_span(replace(model(said), name=f"claude_code.{kind}"))
    assert (span.kind, span.status) == (expected, SpanStatus.ERROR)
    assert span.name == ("execute_tool Read" if kind == "tool" else f"claude_code.{kind}")


@pytest.mark.parametrize(
    "name", ["gen_ai.usage.reasoning_tokens", "gen_ai.usage.reasoning.output_tokens"]
)
@pytest.mark.parametrize(("total", "output"), [(1600, 1500), (1100, 1000)])
def test_reasoning_outside_the_output_is_added_to_it(name: str, total: int, output: int) -> None:
    """langfuse/langfuse#16508 and #16321: reasoning tokens in the total, but not in the cost."""
    said: dict[str, JsonValue] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gemini-2.5-pro",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 1000,
        "gen_ai.usage.total_tokens": total,
        name: 500,
    }
    span = to_span(model(said))
    assert span.tokens == Usage(input=100, output=output, reasoning=500)
    assert span.cost == pytest.approx((100 * 1.25 + output * 10) / 1e6)
