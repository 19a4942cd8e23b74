"""What both encodings of OTLP share: checked ids and times, spans that are taken or rejected."""

import base64
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from treadle.errors import TreadleError
from treadle.spans.raw_span import RawSpan, RawStatus
from treadle.spans.span import Attributes, JsonValue, SpanEvent

DEPTH_LIMIT = 64
"""How deep lists and maps of an attribute may be nested."""

DROPPED = (
    "otel.dropped_attributes_count",
    "otel.dropped_events_count",
    "otel.dropped_links_count",
)
"""Attributes that say how much the exporter left out."""

UNREADABLE = "otel.unreadable"
"""Attribute that says what could not be read, and was left out."""

NOT_A_TIME = "is no time between the years 1970 and 2262"
"""Nanoseconds in 63 bits reach no further."""

_REASONS_LIMIT = 20
_NAME_LIMIT = 80
_TIME_LIMIT = 1 << 63
_STATUSES = {status.value: status for status in RawStatus}

TRACE_ID_DIGITS = 32
SPAN_ID_DIGITS = 16


class OtlpError(TreadleError):
    """The body is not an export of traces, so nothing of it was stored."""


class SpanFaultError(Exception):
    """Why a span or a field of one cannot be taken, such as "its trace id is empty"."""


T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class SpanBatch(Generic[T_co]):
    """The spans of one export, and a report of what was left out.

    `rejected` counts spans that were left out, and `reasons` names the first of them. `damaged`
    counts fields, such as one attribute, that were left out of accepted spans; `warnings` names
    the first of those.
    """

    spans: tuple[T_co, ...]
    rejected: int = 0
    reasons: tuple[str, ...] = ()
    damaged: int = 0
    warnings: tuple[str, ...] = ()

    def with_spans(self, spans: Iterable[U]) -> "SpanBatch[U]":
        """The same report with other spans."""
        return SpanBatch(tuple(spans), self.rejected, self.reasons, self.damaged, self.warnings)


class SpanCollector:
    """Collects the raw spans of one export."""

    def __init__(self) -> None:
        self._spans: list[RawSpan] = []
        self._rejected = 0
        self._reasons: list[str] = []
        self._damaged = 0
        self._warnings: list[str] = []
        self._faults: list[str] = []
        """Of the span that is being read."""
        self._lost: list[str] = []

    def take(self, raw: RawSpan) -> None:
        """Take one span that was read whole. Raises SpanFaultError when it has no valid ids."""
        _check_id(raw.trace_id, TRACE_ID_DIGITS, "trace id")
        _check_id(raw.span_id, SPAN_ID_DIGITS, "span id")
        if not (raw.parent_id or "").strip("0"):
            raw.parent_id = None
        raw.end_ns = raw.end_ns or None  # zero says that it has not ended
        if not 0 <= raw.start_ns < _TIME_LIMIT or not 0 <= (raw.end_ns or 0) < _TIME_LIMIT:
            self._replace_times(raw)
        if self._faults:
            self._note_faults(raw)
        self._spans.append(raw)

    def reject(self, raw: RawSpan, fault: SpanFaultError) -> None:
        """Leave one span out, of which so much was read."""
        self._faults.clear()
        self._reject(f"{_named(raw)}: {fault}")

    def fault(self, what: str) -> None:
        """Note a field of the span that is being read; it is left out, and its span taken."""
        self._faults.append(what)

    def warn(self, what: str) -> None:
        """Note a field that belongs to no single span and was left out."""
        self._damaged += 1
        if len(self._warnings) < _REASONS_LIMIT:
            self._warnings.append(what)

    def lose(self, what: str) -> None:
        """Note a part of the export that may hold spans, but cannot be read as any."""
        self._lost.append(what)

    def decoded(self) -> SpanBatch[RawSpan]:
        """The result. Raises OtlpError if the body is not empty but contains no span."""
        if self._lost and not self._spans and not self._rejected:
            raise OtlpError(
                f"The body holds no spans that can be read: {self._lost[0]}.",
                hint='Send an OTLP export request: an object with "resourceSpans".',
            )
        for what in self._lost:
            self._reject(what)
        self._lost.clear()
        return SpanBatch(
            tuple(self._spans),
            self._rejected,
            tuple(self._reasons),
            self._damaged,
            tuple(self._warnings),
        )

    def _reject(self, reason: str) -> None:
        self._rejected += 1
        if len(self._reasons) < _REASONS_LIMIT:
            self._reasons.append(reason)

    def _replace_times(self, raw: RawSpan) -> None:
        """Put a plausible time where the reported one is impossible."""
        if not 0 <= (raw.end_ns or 0) < _TIME_LIMIT:
            self.fault(f"its end {NOT_A_TIME}")
            raw.end_ns = None
        if not 0 <= raw.start_ns < _TIME_LIMIT:
            self.fault(f"its start {NOT_A_TIME}")
            raw.start_ns = raw.end_ns or time.time_ns()

    def _note_faults(self, raw: RawSpan) -> None:
        """Warn of the fields that were left out, and keep a mark in the span."""
        for fault in self._faults:
            self.warn(f"{_named(raw)}: {fault}; only this was left out")
        raw.attributes[UNREADABLE] = self._faults[:_REASONS_LIMIT]
        self._faults.clear()


def _named(raw: RawSpan) -> str:
    name = raw.name[:_NAME_LIMIT]
    return f'span "{name}" ({raw.span_id or "no id"} of trace {raw.trace_id or "?"})'


def described(resource: Attributes, scope: Mapping[str, JsonValue]) -> Attributes:
    """A resource together with the instrumentation; its name and version are in `scope` too."""
    return {**resource, **{f"otel.scope.{name}": value for name, value in scope.items()}}


def event_at(at_ns: int, name: str, attributes: Attributes) -> SpanEvent:
    """An event of a span. Raises SpanFaultError."""
    if not 0 <= at_ns < _TIME_LIMIT:
        raise SpanFaultError(f'the time of its event "{name[:_NAME_LIMIT]}" {NOT_A_TIME}')
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


def comes_twice(key: str) -> str:
    """What is wrong with an attribute of two values, which no exporter may send."""
    return f"its attribute {key} comes again with another value, and the last one is kept"
