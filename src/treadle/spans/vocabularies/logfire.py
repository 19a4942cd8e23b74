"""The vocabularies of Logfire and pydantic-ai, including pydantic-ai's names without a prefix.

Current versions send model calls and tools in the vocabulary of OpenTelemetry, which `gen_ai`
reads. This module reads their additional attributes, and the attributes of earlier versions.
"""

from typing import Any

from treadle.spans.raw_span import RawStatus
from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import messages_json, read_messages
from treadle.spans.vocabularies.values import (
    as_content,
    as_count,
    as_text,
    as_texts,
    parse_json,
    to_json,
)

_HISTORIES = ("pydantic_ai.all_messages", "all_messages_events")


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    if columns.name is None:
        columns.name = as_text(attributes.get("logfire.msg"))
    if "logfire.tags" in attributes:
        columns.labels += as_texts(attributes["logfire.tags"])
    if "tool_arguments" in attributes or "tool_response" in attributes:
        columns.set_kind(SpanKind.TOOL)
    if "agent_name" in attributes or any(name in attributes for name in _HISTORIES):
        columns.set_kind(SpanKind.AGENT)
    if columns.kind is SpanKind.TOOL:
        if columns.input is None:
            columns.input = as_content(attributes.get("tool_arguments"))
        if columns.output is None:
            columns.output = as_content(attributes.get("tool_response"))
    elif columns.kind is SpanKind.AGENT:
        _read_agent(columns, attributes)
    elif columns.kind is SpanKind.MODEL:
        _read_call(columns, attributes)


def _read_agent(columns: SpanColumns, attributes: Attributes) -> None:
    if columns.model is None:
        columns.model = as_text(attributes.get("model_name"))
    usage = "gen_ai.aggregated_usage."
    columns.set_tokens(
        input=attributes.get(f"{usage}input_tokens"),
        output=attributes.get(f"{usage}output_tokens"),
        cached=attributes.get(f"{usage}cache_read.input_tokens"),
        cache_write=attributes.get(f"{usage}cache_creation.input_tokens"),
        reasoning=attributes.get(f"{usage}details.reasoning_tokens"),
    )
    if columns.output is None:
        columns.output = as_content(attributes.get("final_result"))
    history: JsonValue = next((attributes[name] for name in _HISTORIES if name in attributes), None)
    messages = read_messages(history, "user")
    ends = bool(messages) and messages[-1].get("role") == "assistant"
    if messages and (columns.input is None or "gen_ai.input.messages" not in attributes):
        before = messages[:-1] if ends else messages
        columns.input = messages_json(before, "user", attributes.get("gen_ai.system_instructions"))
    if columns.output is None and ends:
        columns.output = to_json([messages[-1]])


def _read_call(columns: SpanColumns, attributes: Attributes) -> None:
    usage = parse_json(attributes.get("gen_ai.usage.raw"))
    if isinstance(usage, dict) and columns.reasoning is None:
        details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
        if isinstance(details, dict):
            columns.reasoning = as_count(details.get("reasoning_tokens"))
    _read_earlier(columns, attributes)
    if columns.raw.scope.startswith("logfire.") and _only_opened(columns, attributes):
        # A separate span has the reply to a streamed call, so this span is not counted as a call.
        columns.kind = SpanKind.OTHER


def _only_opened(columns: SpanColumns, attributes: Attributes) -> bool:
    """Return whether the span ended without an error and without a reply.

    Such a span may only have opened a stream.
    """
    ended = columns.raw.end_ns is not None and columns.raw.status is not RawStatus.ERROR
    answered = columns.output is not None or columns.input_tokens is not None
    return ended and not answered and "gen_ai.response.id" not in attributes


def _read_earlier(columns: SpanColumns, attributes: Attributes) -> None:
    """Read messages of earlier versions, from a list of events or from request and reply bodies."""
    events = parse_json(attributes.get("events"))
    if isinstance(events, list):
        choices = [each for each in events if _is_choice(each)]
        prompts = [each for each in events if not _is_choice(each)]
        if columns.input is None:
            columns.input = messages_json(prompts, "user")
        if columns.output is None:
            columns.output = messages_json(choices, "assistant")
    for name, role in (("request_data", "user"), ("response_data", "assistant")):
        data = parse_json(attributes.get(name))
        if not isinstance(data, dict):
            continue
        if role == "user" and columns.input is None and "messages" in data:
            columns.input = messages_json(data["messages"], role)
        elif role == "assistant" and columns.output is None:
            reply = data.get("message", data.get("combined_chunk_content"))
            columns.output = messages_json(reply, role)


def _is_choice(event: Any) -> bool:
    return isinstance(event, dict) and event.get("event.name") == "gen_ai.choice"


VOCABULARY = Vocabulary(
    _read,
    prefixes=frozenset(
        {"logfire", "pydantic_ai", "all_messages_events", "events", "tool_arguments",
         "tool_response", "agent_name", "model_request_parameters"}
    ),
)  # fmt: skip
