"""What both encodings of OTLP share: checked ids and times, spans that are taken or rejected."""

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass

from treadle.errors import TreadleError
from treadle.traces.span import Attributes, JsonValue, Span, SpanEvent
from treadle.traces.vocabularies import RawSpan, RawStatus, to_span

DEPTH_LIMIT = 64
"""How deep lists and maps of an attribute may be nested."""

DROPPED = (
    "otel.dropped_attributes_count",
    "otel.dropped_events_count",
    "otel.dropped_links_count",
)
"""Attributes that say how much the exporter left out."""

_REASONS_LIMIT = 20
_NAME_LIMIT = 80
_TIME_LIMIT = 1 << 63
_STATUSES = {status.value: status for status in RawStatus}

TRACE_ID_DIGITS = 32
SPAN_ID_DIGITS = 16


class OtlpError(TreadleError):
    """The body is no export of traces at all, so nothing of it was taken."""


class SpanFaultError(Exception):
    """Why one span cannot be taken, as the end of a sentence: "its trace id is empty"."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The spans of one export. `reasons` tells of the first of the `rejected` ones, by name."""

    spans: tuple[Span, ...]
    rejected: int = 0
    reasons: tuple[str, ...] = ()


class Export:
    """Collects the spans of one export."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._rejected = 0
        self._reasons: list[str] = []

    def take(self, raw: RawSpan) -> None:
        """Take one span that was read whole. Raises SpanFaultError when that makes no sense."""
        _check_id(raw.trace_id, TRACE_ID_DIGITS, "trace id")
        _check_id(raw.span_id, SPAN_ID_DIGITS, "span id")
        if not (raw.parent_id or "").strip("0"):
            raw.parent_id = None
        check_time(raw.start_ns, "its start")
        check_time(raw.end_ns or 0, "its end")
        raw.end_ns = raw.end_ns or None  # zero says that it has not ended
        self._spans.append(to_span(raw))

    def reject(self, raw: RawSpan, fault: SpanFaultError) -> None:
        """Leave one span out, of which so much was read."""
        self._rejected += 1
        if len(self._reasons) < _REASONS_LIMIT:
            name = raw.name[:_NAME_LIMIT]
            named = f'span "{name}" ({raw.span_id or "no id"} of trace {raw.trace_id or "?"})'
            self._reasons.append(f"{named}: {fault}")

    def decoded(self) -> Decoded:
        """What came of it."""
        return Decoded(tuple(self._spans), self._rejected, tuple(self._reasons))


def described(resource: Attributes, scope: Mapping[str, JsonValue]) -> Attributes:
    """A resource together with the instrumentation; its name and version are in `scope` too."""
    return {**resource, **{f"otel.scope.{name}": value for name, value in scope.items()}}


def event_at(at_ns: int, name: str, attributes: Attributes) -> SpanEvent:
    """An event of a span."""
    check_time(at_ns, f'the time of its event "{name[:_NAME_LIMIT]}"')
    return SpanEvent(at_ns // 1_000, name, attributes)


def tagged(raw: bytes) -> JsonValue:
    """Bytes as a JSON value."""
    return tagged_text(base64.b64encode(raw).decode())


def tagged_text(encoded: str) -> JsonValue:
    """Bytes that are base64 already, the same way."""
    return {"base64": encoded}


def check_depth(depth: int, key: str) -> None:
    """Refuse what is nested so deeply that whoever walks it would fall."""
    if depth > DEPTH_LIMIT:
        raise SpanFaultError(f"its attribute {key} is nested deeper than {DEPTH_LIMIT} levels")


def finite(value: float) -> JsonValue:
    """A double as a JSON value: what JSON has no number for is text, as in OTLP's own JSON."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def status_of(code: int) -> RawStatus:
    """The status with that code; a code of the future says nothing."""
    return _STATUSES.get(code, RawStatus.UNSET)


def _check_id(digits: str, length: int, what: str) -> None:
    if len(digits) == length and digits != "0" * length:
        return
    if not digits:
        raise SpanFaultError(f"its {what} is empty")
    if not digits.strip("0"):
        raise SpanFaultError(f"its {what} is all zero")
    raise SpanFaultError(f"its {what} has {len(digits)} hex digits instead of {length}")


def check_time(at_ns: int, what: str) -> None:
    """Refuse a moment that nanoseconds in 63 bits cannot tell."""
    if not 0 <= at_ns < _TIME_LIMIT:
        raise SpanFaultError(f"{what} is no time between the years 1970 and 2262")
