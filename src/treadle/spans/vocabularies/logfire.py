"""The vocabulary of Logfire: its spans, and its instrumentations of model clients.

Current versions send model calls in the vocabulary of OpenTelemetry, which `gen_ai` reads. This
module reads the additional attributes, and the attributes of version 1 of the format.
"""

import re
from collections.abc import Mapping
from typing import Any

from treadle.spans.raw_span import RawStatus
from treadle.spans.span import Attributes, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import messages_json, read_messages
from treadle.spans.vocabularies.values import (
    as_content,
    as_count,
    as_dollars,
    as_microseconds,
    as_text,
    as_texts,
    parse_json,
    to_json,
)

_SCOPES = "logfire."
"""The prefix of the scopes of Logfire's own instrumentations."""
_OWN_TAG = "LLM"
"""The tag that Logfire's instrumentations add to every model call."""
_TOOK = re.compile(r" took \d+\.\d+s$")
_SECOND = 1_000_000


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    instrumented = columns.raw.scope.startswith(_SCOPES)
    if columns.name is None:
        columns.name = as_text(attributes.get("logfire.msg"))
    if "logfire.tags" in attributes:
        tags = as_texts(attributes["logfire.tags"])
        columns.labels += [tag for tag in tags if not (instrumented and tag == _OWN_TAG)]
    if columns.kind in (SpanKind.MODEL, SpanKind.EMBEDDING) and columns.cost is None:
        columns.cost = as_dollars(attributes.get("operation.cost"))
    request = parse_json(attributes.get("request_data"))
    if columns.kind is SpanKind.EMBEDDING and columns.input is None and isinstance(request, dict):
        columns.input = as_content(request.get("input"))
    elif columns.kind is SpanKind.MODEL:
        _read_call(columns, attributes)
        if instrumented and _only_opened(columns, attributes):
            # This span of a streamed call has no reply. A log with the reply is recorded as the
            # call, so this span must not count as a call too.
            columns.kind = SpanKind.OTHER
    elif columns.kind is None and columns.output is None:
        columns.output = as_content(attributes.get("return"))


def _read_call(columns: SpanColumns, attributes: Attributes) -> None:
    usage = parse_json(attributes.get("gen_ai.usage.raw"))
    if isinstance(usage, dict) and columns.reasoning is None:
        details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
        if isinstance(details, dict):
            columns.reasoning = as_count(details.get("reasoning_tokens"))
    events = parse_json(attributes.get("events"))
    if isinstance(events, list):
        _read_message_events(columns, events)
    _read_bodies(columns, attributes)
    _read_stream(columns, attributes)


def _read_stream(columns: SpanColumns, attributes: Attributes) -> None:
    """Set the start of a streamed call. Logfire reports the call as a log at its end."""
    raw = columns.raw
    if attributes.get("logfire.span_type") == "log" and raw.start_ns == raw.end_ns:
        lasted = as_microseconds(attributes.get("duration"), _SECOND) or 0
        columns.start_ns = max(0, raw.start_ns - lasted * 1_000)
        if columns.name is not None:
            # The name must not contain the duration, since statistics are grouped by name.
            columns.name = _TOOK.sub("", columns.name)


def _only_opened(columns: SpanColumns, attributes: Attributes) -> bool:
    """Return whether the span ended without an error and without a reply.

    Such a span may only have opened a stream.
    """
    ended = columns.raw.end_ns is not None and columns.raw.status is not RawStatus.ERROR
    answered = columns.output is not None or columns.input_tokens is not None
    return ended and not answered and "gen_ai.response.id" not in attributes


def _read_message_events(columns: SpanColumns, events: list[Any]) -> None:
    """Read the messages of a list of events, in which the reply follows the request."""
    items = [each for each in events if isinstance(each, dict)]
    first = next((index for index, each in enumerate(items) if _is_choice(each)), None)
    if first is None:  # the Responses API has no choices
        first = len(items)
        failed = columns.raw.status is RawStatus.ERROR
        while first and not failed and items[first - 1].get("role") == "assistant":
            first -= 1
    if columns.input is None:
        columns.input = messages_json(items[:first], "user")
    if columns.output is None:
        columns.output = messages_json(items[first:], "assistant")
    thoughts = [thought for each in items[first:] if (thought := _thought(each))]
    messages = read_messages(columns.output, "assistant") if thoughts else []
    if messages:
        messages[0].setdefault("reasoning_content", "\n\n".join(thoughts))
        columns.output = to_json(messages)


def _thought(event: Mapping[str, Any]) -> str | None:
    """Return the reasoning in an event, or None. `gen_ai.output.messages` lacks the reasoning."""
    data = event.get("data")
    if not isinstance(data, dict) or data.get("type") != "reasoning":
        return None
    (message,) = read_messages([data], "assistant")
    return as_text(message.get("reasoning_content"))


def _read_bodies(columns: SpanColumns, attributes: Attributes) -> None:
    """Read messages of version 1 from the bodies of the request and the reply."""
    for name, role in (("request_data", "user"), ("response_data", "assistant")):
        data = parse_json(attributes.get(name))
        if not isinstance(data, dict):
            continue
        if role == "user" and columns.input is None and "messages" in data:
            columns.input = messages_json(data["messages"], role)
        elif role == "assistant" and columns.output is None:
            reply = data.get("message", data.get("combined_chunk_content"))
            columns.output = messages_json(reply, role)


def _is_choice(event: Mapping[str, Any]) -> bool:
    return event.get("event.name") == "gen_ai.choice"


VOCABULARY = Vocabulary(
    _read, prefixes=frozenset({"logfire", "events", "request_data", "operation"})
)
