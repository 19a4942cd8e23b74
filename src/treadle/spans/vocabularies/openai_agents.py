"""The vocabulary of openai-agents, as Logfire sends its traces and spans.

A trace contains a span for the task, for each run of an agent, and for each turn. A turn contains
the model call and the tool calls. All of them have the instrumentation scope `_SCOPE`.
"""

from collections.abc import Mapping
from typing import Any

from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import messages_json
from treadle.spans.vocabularies.values import (
    as_content,
    as_name,
    as_text,
    as_texts,
    canonical_provider,
    parse_json,
)

_SCOPE = "logfire.openai_agents"
_STEPS = {"task": "task", "turn": "turn"}


def _read(columns: SpanColumns) -> None:
    if columns.raw.scope != _SCOPE:
        return
    attributes = columns.raw.attributes
    failure = parse_json(attributes.get("error"))
    reason = as_text(failure.get("message")) if isinstance(failure, dict) else None
    if reason is not None:
        columns.failed = True
        columns.error = columns.error or reason
        # The name must not depend on the outcome, since statistics are grouped by name.
        message = as_text(attributes.get("logfire.msg")) or columns.raw.name
        columns.name = message.removesuffix(f" failed: {reason}")
    if "agent_trace_id" in attributes:
        _read_trace(columns, attributes)
    elif (step := str(attributes.get("sdk_span_type"))) in _STEPS:
        columns.set_kind(SpanKind.AGENT, _STEPS[step])
    elif "mcp_data" in attributes:
        _read_tool(columns, attributes)
    elif "handoffs" in attributes:
        columns.set_kind(SpanKind.AGENT)
    elif "response_id" in attributes or "response" in attributes or "raw_input" in attributes:
        _read_response(columns, attributes)
    elif "model_config" in attributes:
        columns.set_kind(SpanKind.MODEL)
        columns.input = columns.input or messages_json(attributes.get("input"), "user")
        answered = _reply(attributes.get("output"))
        columns.output = columns.output or messages_json(answered, "assistant")
        _read_usage(columns, attributes)
    if columns.kind is SpanKind.MODEL and columns.provider is None:
        columns.provider = canonical_provider(as_text(attributes.get("gen_ai.system")))


def _read_trace(columns: SpanColumns, attributes: Attributes) -> None:
    columns.set_kind(SpanKind.AGENT, "invoke_workflow")
    columns.name = as_text(attributes.get("name")) or columns.name
    columns.thread_id = columns.thread_id or as_name(attributes.get("group_id"))
    metadata = parse_json(attributes.get("metadata"))
    if isinstance(metadata, dict) and "tags" in metadata:
        columns.labels += as_texts(metadata["tags"])


def _read_tool(columns: SpanColumns, attributes: Attributes) -> None:
    columns.set_kind(SpanKind.TOOL)
    columns.tool = columns.tool or as_text(attributes.get("name"))
    columns.input = columns.input or as_content(attributes.get("input"))
    columns.output = columns.output or as_content(attributes.get("output"))
    failure = parse_json(attributes.get("error"))
    details = failure.get("data") if isinstance(failure, dict) else None
    if isinstance(details, dict):
        columns.error = as_text(details.get("error")) or columns.error


def _read_response(columns: SpanColumns, attributes: Attributes) -> None:
    """Read a call of the Responses API. The request is in `raw_input`, the reply in `response`."""
    columns.set_kind(SpanKind.MODEL)
    response = parse_json(attributes.get("response"))
    answered: Mapping[str, Any] = response if isinstance(response, dict) else {}
    given = attributes.get("raw_input")
    if columns.input is None and given is not None:
        columns.input = messages_json(given, "user", as_text(answered.get("instructions")))
    if columns.output is None:
        columns.output = messages_json(answered.get("output"), "assistant")


def _reply(output: JsonValue) -> JsonValue:
    """Return the messages of a chat completion.

    A streamed completion is reported as a response of the Responses API.
    """
    replies = parse_json(output)
    if isinstance(replies, list) and len(replies) == 1 and isinstance(replies[0], dict):
        output = replies[0].get("output", output)
    return output


def _read_usage(columns: SpanColumns, attributes: Attributes) -> None:
    """Read the counts of a chat completion.

    The attributes of OpenTelemetry lack the cached and the reasoning tokens.
    """
    usage = parse_json(attributes.get("usage"))
    if not isinstance(usage, dict):
        return
    inputs, outputs = (
        details if isinstance(details := usage.get(f"{side}_tokens_details"), dict) else {}
        for side in ("input", "output")
    )
    columns.set_tokens(
        input=usage.get("input_tokens"),
        output=usage.get("output_tokens"),
        cached=inputs.get("cached_tokens"),
        cache_write=inputs.get("cache_write_tokens"),
        reasoning=outputs.get("reasoning_tokens"),
        total=usage.get("total_tokens"),
    )


VOCABULARY = Vocabulary(
    _read,
    prefixes=frozenset(),
    names=frozenset({"agent_trace_id", "sdk_span_type", "mcp_data", "handoffs", "response_id",
                     "response", "raw_input", "model_config"}),
)  # fmt: skip
