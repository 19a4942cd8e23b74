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
    parse_json,
)

_SCOPE = "logfire.openai_agents"


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
    read = next((_READERS[name] for name in _READERS if name in attributes), None)
    if read is not None:
        read(columns, attributes)


def _read_trace(columns: SpanColumns, attributes: Attributes) -> None:
    columns.set_kind(SpanKind.AGENT, "invoke_workflow")
    columns.name = as_text(attributes.get("name")) or columns.name
    columns.thread_id = columns.thread_id or as_name(attributes.get("group_id"))
    metadata = parse_json(attributes.get("metadata"))
    if isinstance(metadata, dict) and "tags" in metadata:
        columns.labels += as_texts(metadata["tags"])


def _read_step(columns: SpanColumns, attributes: Attributes) -> None:
    columns.set_kind(SpanKind.AGENT, as_text(attributes["sdk_span_type"]))


def _read_agent(columns: SpanColumns, _attributes: Attributes) -> None:
    columns.set_kind(SpanKind.AGENT)


def _read_guardrail(columns: SpanColumns, _attributes: Attributes) -> None:
    columns.set_kind(SpanKind.OTHER, "guardrail")


def _read_handoff(columns: SpanColumns, _attributes: Attributes) -> None:
    columns.set_kind(SpanKind.OTHER, "handoff")


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
    """Read a call of the Responses API.

    The request is in `raw_input`, and the reply is in `response`.
    """
    columns.set_kind(SpanKind.MODEL)
    response = parse_json(attributes.get("response"))
    answered: Mapping[str, Any] = response if isinstance(response, dict) else {}
    given = attributes.get("raw_input")
    if columns.input is None and given is not None:
        columns.input = messages_json(given, "user", as_text(answered.get("instructions")))
    if columns.output is None:
        columns.output = messages_json(answered.get("output"), "assistant")


def _read_completion(columns: SpanColumns, attributes: Attributes) -> None:
    """Read a call of the Chat Completions API."""
    columns.set_kind(SpanKind.MODEL)
    columns.input = columns.input or messages_json(attributes.get("input"), "user")
    answered = _reply(attributes.get("output"))
    columns.output = columns.output or messages_json(answered, "assistant")
    _read_usage(columns, attributes)


def _reply(output: JsonValue) -> JsonValue:
    """Return the messages of a chat completion.

    openai-agents reports a streamed completion in the form of the Responses API, in which the
    messages are in `output`.
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


_READERS = {
    "agent_trace_id": _read_trace, "sdk_span_type": _read_step, "mcp_data": _read_tool,
    "handoffs": _read_agent, "triggered": _read_guardrail, "from_agent": _read_handoff,
    "response_id": _read_response, "response": _read_response, "raw_input": _read_response,
    "model_config": _read_completion,
}  # fmt: skip
"""Maps an attribute that only one kind of span has to the reader of that kind."""

VOCABULARY = Vocabulary(_read, prefixes=frozenset(), names=frozenset(_READERS))
