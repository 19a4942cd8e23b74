"""Merges two versions of a span. Log records may have added messages to either version.

Each version may lack messages that the other one has, so the result has the messages of both. The
result does not depend on the order of arrival.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from treadle.spans.label_edits import with_latest_edit
from treadle.spans.raw_span import RawSpan
from treadle.spans.span import Span, SpanEvent, more_complete
from treadle.spans.vocabularies.mapper import to_span
from treadle.spans.vocabularies.message_events import FROM_LOGS, message_events, span_of_events

EVENTS_LIMIT = 10_000
"""The maximum number of events that a span has after log records were added to it."""

BYTES_LIMIT = 32_000_000
"""The maximum size of these events as JSON, in bytes."""

MESSAGES_CUT = "treadle.messages_cut"
"""The attribute of a span that exceeded one of these limits. Its latest events were left out."""


def merge_versions(one: Span, other: Span) -> Span:
    """Return the more complete version, with the messages of both and the latest edit of labels.

    The result is `one` or `other` itself if it has all of these.
    """
    return with_latest_edit(_merged(one, other), one, other)


def _merged(one: Span, other: Span) -> Span:
    if not (message_events(one.events) or message_events(other.events)):
        return more_complete(one, other)
    best = _better(one, other)
    rest = other if best is one else one
    known = set(map(_key, best.events))
    missing = [event for event in message_events(rest.events) if _key(event) not in known]
    if not missing or MESSAGES_CUT in best.attributes:
        return best
    events, cut = _within_limits(sorted((*best.events, *missing), key=lambda event: event.at_us))
    if cut:
        best = replace(best, attributes={**best.attributes, MESSAGES_CUT: True})
    if _is_from_logs(best):
        raw = span_of_events(best.trace_id, best.span_id, best.resource, events)
        if cut:
            raw.attributes[MESSAGES_CUT] = True
        return to_span(raw)
    return _with_events(best, events)


def _within_limits(events: Sequence[SpanEvent]) -> tuple[list[SpanEvent], bool]:
    """Return the first events within the limits, and whether others were left out."""
    size = 0
    for number, event in enumerate(events):
        size += len(_key(event))
        if number == EVENTS_LIMIT or size > BYTES_LIMIT:
            return list(events[:number]), True
    return list(events), False


def _better(one: Span, other: Span) -> Span:
    """Return the version from which the result takes everything except the messages."""
    if _is_from_logs(one) != _is_from_logs(other):
        return other if _is_from_logs(one) else one
    bare = _without_messages(one)
    return one if more_complete(bare, _without_messages(other)) is bare else other


def _is_from_logs(span: Span) -> bool:
    return FROM_LOGS in span.attributes


def _without_messages(span: Span) -> Span:
    # Messages that arrived earlier must not decide which version is more complete.
    messages = message_events(span.events)
    kept = tuple(event for event in span.events if event not in messages)
    return replace(span, events=kept, input=None, output=None)


def _key(event: SpanEvent) -> str:
    return json.dumps([event.at_us, event.name, event.attributes], sort_keys=True, default=list)


def _with_events(span: Span, events: Sequence[SpanEvent]) -> Span:
    """Return `span` with other events, and with the messages that they contain."""
    mapped = to_span(
        RawSpan(
            name=span.name,
            start_ns=span.start_ns or span.start_us * 1_000,
            end_ns=span.end_ns,
            attributes=dict(span.attributes),
            resource=span.resource,
            events=list(events),
        )
    )
    own_input, own_output = span.input, span.output
    if message_events(span.events):  # the span's messages may be from earlier events
        own_input, own_output = mapped.input or own_input, mapped.output or own_output
    return replace(
        span,
        events=tuple(events),
        input=mapped.input if own_input is None else own_input,
        output=mapped.output if own_output is None else own_output,
    )
