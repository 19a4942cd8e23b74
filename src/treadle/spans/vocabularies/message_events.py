"""Events that contain the messages of a model call, in spans or in log records.

OpenTelemetry's conventions report messages as attributes of a span, as its events, or as log
records with the ids of the span. Log records are stored as events of their span. Until the span
arrives, a span that is built from the events alone takes its place.
"""

from collections.abc import Iterable, Sequence

from treadle.spans.raw_span import RawSpan
from treadle.spans.span import Attributes, JsonValue, SpanEvent
from treadle.spans.vocabularies.messages import EVENT_ROLES

INFERENCE_DETAILS = "gen_ai.client.inference.operation.details"
"""The event of the current conventions. It has all messages of a call as attributes."""

MESSAGE_EVENTS = frozenset({*EVENT_ROLES, INFERENCE_DETAILS})

FROM_LOGS = "treadle.from_logs"
"""The attribute of a span that was built from log records alone."""

_CONTENT = frozenset(
    {
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.definitions",
        "gen_ai.event.content",
    }
)
"""Attributes that are not copied from an event to its span, since they may be large."""


def span_of_events(
    trace_id: str, span_id: str, resource: Attributes, events: Sequence[SpanEvent]
) -> RawSpan:
    """Return the span that stands in for a span of which only `events` are known.

    It has no end, since no event reports the duration of the call.
    """
    attributes: dict[str, JsonValue] = {"gen_ai.operation.name": "chat"}
    for event in events:
        attributes |= {
            key: value
            for key, value in event.attributes.items()
            if "." in key and key not in _CONTENT
        }
    attributes[FROM_LOGS] = True
    model = attributes.get("gen_ai.request.model")
    operation = str(attributes["gen_ai.operation.name"])
    return RawSpan(
        trace_id=trace_id,
        span_id=span_id,
        name=f"{operation} {model}" if isinstance(model, str) else operation,
        start_ns=min(event.at_us for event in events) * 1_000,
        attributes=attributes,
        resource=resource,
        events=list(events),
    )


def message_events(events: Iterable[SpanEvent]) -> list[SpanEvent]:
    """Return the events that contain messages."""
    return [event for event in events if event.name in MESSAGE_EVENTS]
