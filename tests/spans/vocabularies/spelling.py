"""One model call and one tool call in the spelling of each vocabulary."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from treadle.spans.raw_span import RawSpan
from treadle.spans.span import JsonValue, SpanEvent

START = 1_791_000_000_000_000_000

SYSTEM = "Be brief."
QUESTION = "Wie ist das Wetter in Zürich? 🌦"
ARGUMENTS = '{"city": "Zürich"}'
RESULT = '{"celsius": 11}'
BROKEN = '{"city": "Zür'
"""Arguments of the second call, which are not JSON."""

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": ARGUMENTS},
}
BROKEN_CALL = {
    "id": "call_2",
    "type": "function",
    "function": {"name": "get_sky", "arguments": BROKEN},
}

INPUT: list[dict[str, Any]] = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": RESULT},
]
OUTPUT: list[dict[str, Any]] = [
    {"role": "assistant", "content": "Moment.", "tool_calls": [CALL, BROKEN_CALL]}
]
THREAD, LABELS = "session 7", ("alpha", "beta")
FIRST_TOKEN_US = 250_000

Attributes = dict[str, JsonValue]


def text(value: object) -> str:
    """JSON with escapes, as most exporters write it."""
    return json.dumps(value)


def _part_call(call: dict[str, Any]) -> dict[str, JsonValue]:
    function = call["function"]
    return {"type": "tool_call", "id": call["id"], **function}


PARTS_INPUT: list[JsonValue] = [
    {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
    {"role": "assistant", "parts": [_part_call(CALL)]},
    {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "call_1", "response": RESULT}],
    },
]
PARTS_OUTPUT: list[JsonValue] = [
    {
        "role": "assistant",
        "parts": [
            {"type": "text", "content": "Moment."},
            _part_call(CALL),
            _part_call(BROKEN_CALL),
        ],
        "finish_reason": "tool_calls",
    }
]
PARTS_SYSTEM: list[JsonValue] = [{"type": "text", "content": SYSTEM}]

_GEN_AI: Attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.response.model": "gpt-4o-mini",
    "gen_ai.usage.input_tokens": 120,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.usage.cache_read.input_tokens": 64,
    "gen_ai.usage.cache_creation.input_tokens": 10,
    "gen_ai.usage.reasoning.output_tokens": 5,
    "gen_ai.response.time_to_first_chunk": 0.25,
    "gen_ai.conversation.id": THREAD,
    "labels": list(LABELS),
}


def gen_ai_json() -> RawSpan:
    return model(
        _GEN_AI
        | {
            "gen_ai.system_instructions": text(PARTS_SYSTEM),
            "gen_ai.input.messages": text(PARTS_INPUT),
            "gen_ai.output.messages": text(PARTS_OUTPUT),
        }
    )


def gen_ai_values() -> RawSpan:
    return model(
        _GEN_AI
        | {
            "gen_ai.system_instructions": PARTS_SYSTEM,
            "gen_ai.input.messages": PARTS_INPUT,
            "gen_ai.output.messages": PARTS_OUTPUT,
        }
    )


def gen_ai_chat_form() -> RawSpan:
    """Messages in the form of OpenAI, as many exporters send them."""
    return model(
        _GEN_AI | {"gen_ai.input.messages": text(INPUT), "gen_ai.output.messages": text(OUTPUT)}
    )


def gen_ai_details_event() -> RawSpan:
    said: Attributes = {
        "gen_ai.system_instructions": PARTS_SYSTEM,
        "gen_ai.input.messages": PARTS_INPUT,
        "gen_ai.output.messages": PARTS_OUTPUT,
    }
    event = SpanEvent(START // 1000, "gen_ai.client.inference.operation.details", said)
    return model(_GEN_AI, event)


_EARLIER: Attributes = {
    "gen_ai.system": "OpenAI",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.usage.prompt_tokens": 120,
    "gen_ai.usage.completion_tokens": 20,
    "gen_ai.usage.cache_read_input_tokens": 64,
    "gen_ai.usage.cache_creation_input_tokens": 10,
    "gen_ai.usage.reasoning_tokens": 5,
    "gen_ai.server.time_to_first_token": 0.25,
    "session.id": THREAD,
    "treadle.labels": "beta,alpha",
}


def gen_ai_events() -> RawSpan:
    def event(name: str, **said: JsonValue) -> SpanEvent:
        return SpanEvent(START // 1000, name, {"gen_ai.system": "openai", **said})

    return model(
        _EARLIER | {"gen_ai.operation.name": "chat"},
        event("gen_ai.system.message", content=SYSTEM),
        event("gen_ai.user.message", content=QUESTION),
        event("gen_ai.assistant.message", tool_calls=text([CALL])),
        event("gen_ai.tool.message", content=RESULT, id="call_1"),
        event("gen_ai.choice", index=0, finish_reason="tool_calls", message=text(OUTPUT[0])),
    )


def traceloop_flattened() -> RawSpan:
    said: Attributes = {
        "llm.request.type": "chat",
        "traceloop.association.properties.session_id": THREAD,
        "traceloop.association.properties.tags": ["beta", "alpha"],
        "llm.usage.total_tokens": 140,
    }
    for side, messages in (("prompt", INPUT), ("completion", OUTPUT)):
        for place, message in enumerate(messages):
            prefix = f"gen_ai.{side}.{place}"
            said[f"{prefix}.role"] = message["role"]
            if message["content"] is not None:
                said[f"{prefix}.content"] = message["content"]
            if "tool_call_id" in message:
                said[f"{prefix}.tool_call_id"] = message["tool_call_id"]
            for number, call in enumerate(message.get("tool_calls", ())):
                said[f"{prefix}.tool_calls.{number}.id"] = call["id"]
                for name, value in call["function"].items():
                    said[f"{prefix}.tool_calls.{number}.{name}"] = value
    earlier = {name: value for name, value in _EARLIER.items() if "." in name}
    del earlier["session.id"], earlier["treadle.labels"]
    return model(earlier | said)


def openinference() -> RawSpan:
    said: Attributes = {
        "openinference.span.kind": "LLM",
        "llm.system": "openai",
        "llm.model_name": "gpt-4o-mini",
        "llm.token_count.prompt": 120,
        "llm.token_count.completion": 20,
        "llm.token_count.total": 140,
        "llm.token_count.prompt_details.cache_read": 64,
        "llm.token_count.prompt_details.cache_write": 10,
        "llm.token_count.completion_details.reasoning": 5,
        "session.id": THREAD,
        "tag.tags": ["beta", "alpha"],
        "input.value": text({"messages": INPUT, "model": "gpt-4o-mini"}),
        "output.value": "{}",
    }
    for side, messages in (("input", INPUT), ("output", OUTPUT)):
        for place, message in enumerate(messages):
            prefix = f"llm.{side}_messages.{place}.message"
            for name in ("role", "content", "tool_call_id"):
                if message.get(name) is not None:
                    said[f"{prefix}.{name}"] = message[name]
            for number, call in enumerate(message.get("tool_calls", ())):
                start = f"{prefix}.tool_calls.{number}.tool_call"
                said[f"{start}.id"] = call["id"]
                for name, value in call["function"].items():
                    said[f"{start}.function.{name}"] = value
    first = SpanEvent(START // 1000 + FIRST_TOKEN_US, "First Token Stream Event")
    return model(said, first)


def openinference_values_only() -> RawSpan:
    """The request and the response instead of messages with dotted names."""
    raw = openinference()
    raw.attributes = {
        name: value for name, value in raw.attributes.items() if "_messages." not in name
    }
    raw.attributes["output.value"] = text({"choices": [{"index": 0, "message": OUTPUT[0]}]})
    return raw


def vercel() -> RawSpan:
    prompt = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool-call",
                    "toolCallId": "call_1",
                    "toolName": "get_weather",
                    "input": json.loads(ARGUMENTS),
                }
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "call_1",
                    "toolName": "get_weather",
                    "output": {"type": "json", "value": json.loads(RESULT)},
                }
            ],
        },
    ]
    calls = [
        {
            "type": "tool-call",
            "toolCallId": "call_1",
            "toolName": "get_weather",
            "input": ARGUMENTS,
        },
        {
            "type": "tool-call",
            "toolCallId": "call_2",
            "toolName": "get_sky",
            "input": BROKEN,
        },
    ]
    return model(
        {
            "operation.name": "ai.streamText.doStream",
            "ai.operationId": "ai.streamText.doStream",
            "ai.model.provider": "openai.chat",
            "ai.model.id": "gpt-4o-mini",
            "ai.response.model": "gpt-4o-mini",
            "ai.prompt.messages": text(prompt),
            "ai.response.text": "Moment.",
            "ai.response.toolCalls": text(calls),
            "ai.usage.inputTokens": 120,
            "ai.usage.outputTokens": 20,
            "ai.usage.totalTokens": 140,
            "ai.usage.reasoningTokens": 5,
            "ai.usage.cachedInputTokens": 64,
            "ai.usage.inputTokenDetails.cacheReadTokens": 64,
            "ai.usage.inputTokenDetails.cacheWriteTokens": 10,
            "ai.response.msToFirstChunk": 250,
            "ai.telemetry.metadata.sessionId": THREAD,
            "ai.telemetry.metadata.tags": ["beta", "alpha"],
            "gen_ai.system": "openai.chat",
            "gen_ai.request.model": "gpt-4o-mini",
            "gen_ai.usage.input_tokens": 120,
            "gen_ai.usage.output_tokens": 20,
        }
    )


def langfuse() -> RawSpan:
    began = datetime.fromtimestamp(START / 1e9, UTC) + timedelta(microseconds=FIRST_TOKEN_US)
    usage = {
        "prompt_tokens": 120,
        "completion_tokens": 20,
        "total_tokens": 140,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    return model(
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.model.name": "gpt-4o-mini",
            "langfuse.observation.input": text({"tools": [], "messages": INPUT}),
            "langfuse.observation.output": text(OUTPUT[0]),
            "langfuse.observation.usage_details": text(usage),
            "langfuse.observation.completion_start_time": text(began.isoformat()),
            "session.id": THREAD,
            "langfuse.trace.tags": ["beta", "alpha"],
            # it has no other name for the provider
            "gen_ai.system": "openai",
        }
    )


def pydantic_ai_events() -> RawSpan:
    """The first version of its instrumentation: all messages as one list of events."""
    events = [
        {"event.name": "gen_ai.system.message", "role": "system", "content": SYSTEM},
        {"event.name": "gen_ai.user.message", "role": "user", "content": QUESTION},
        {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": [CALL]},
        {"event.name": "gen_ai.tool.message", "role": "tool", "id": "call_1", "content": RESULT},
        {"event.name": "gen_ai.choice", "index": 0, "message": OUTPUT[0]},
    ]
    said = {name: value for name, value in _GEN_AI.items() if name != "labels"}
    return model(
        said
        | {
            "events": text(events),
            "logfire.tags": ["beta", "alpha"],
            "model_request_parameters": "{}",
        }
    )


def model(attributes: Attributes, *events: SpanEvent) -> RawSpan:
    """A finished span with these attributes and events."""
    return RawSpan(
        trace_id="t",
        span_id="s",
        name="whatever",
        start_ns=START,
        end_ns=START + 2_000_000_000,
        attributes=dict(attributes),
        events=list(events),
    )


MODEL_CALLS = {
    made.__name__: made
    for made in (
        gen_ai_json,
        gen_ai_values,
        gen_ai_chat_form,
        gen_ai_details_event,
        gen_ai_events,
        traceloop_flattened,
        openinference,
        openinference_values_only,
        vercel,
        langfuse,
        pydantic_ai_events,
    )
}

TOOL_CALLS: dict[str, Attributes] = {
    "gen_ai": {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.arguments": ARGUMENTS,
        "gen_ai.tool.call.result": RESULT,
    },
    "gen_ai without an operation": {
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.arguments": json.loads(ARGUMENTS),
        "gen_ai.tool.call.result": json.loads(RESULT),
    },
    "openinference": {
        "openinference.span.kind": "TOOL",
        "tool.name": "get_weather",
        "input.value": ARGUMENTS,
        "output.value": RESULT,
    },
    "openinference without a kind": {
        "tool.name": "get_weather",
        "input.value": ARGUMENTS,
        "output.value": RESULT,
    },
    "vercel": {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "get_weather",
        "ai.toolCall.id": "call_1",
        "ai.toolCall.args": ARGUMENTS,
        "ai.toolCall.result": RESULT,
    },
    "traceloop": {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "get_weather",
        "traceloop.entity.input": text({"args": [], "kwargs": json.loads(ARGUMENTS)}),
        "traceloop.entity.output": text(RESULT),
    },
    "langfuse": {
        "langfuse.observation.type": "tool",
        "gen_ai.tool.name": "get_weather",
        "langfuse.observation.input": ARGUMENTS,
        "langfuse.observation.output": RESULT,
    },
    "pydantic-ai, earlier": {
        "gen_ai.tool.name": "get_weather",
        "tool_arguments": ARGUMENTS,
        "tool_response": RESULT,
        "logfire.msg": "running tool: get_weather",
    },
}
