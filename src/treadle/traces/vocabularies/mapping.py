"""From a foreign span to ours."""

from treadle.traces.span import Span, SpanKind, SpanStatus
from treadle.traces.vocabularies.raw import RawSpan, RawStatus


def to_span(raw: RawSpan) -> Span:
    """The span that `raw` is, with everything derived that its attributes tell. Never raises."""
    if raw.end_ns is None:
        status = SpanStatus.UNFINISHED
    elif raw.status is RawStatus.ERROR:
        status = SpanStatus.ERROR
    else:
        status = SpanStatus.OK
    return Span(
        trace_id=raw.trace_id,
        span_id=raw.span_id,
        parent_id=raw.parent_id,
        kind=SpanKind.OTHER,
        operation="span",
        name=raw.name,
        start_us=raw.start_ns // 1_000,
        end_us=None if raw.end_ns is None else raw.end_ns // 1_000,
        status=status,
        error=raw.status_message or None,
        start_ns=raw.start_ns,
        end_ns=raw.end_ns,
        attributes=raw.attributes,
        resource=raw.resource,
        events=tuple(raw.events),
        links=tuple(raw.links),
    )
