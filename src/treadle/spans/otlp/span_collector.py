"""Checks and collects the records of an export in either encoding, and counts the omitted parts.

Log records are read as raw spans too (`log_records`).
"""

import base64
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treadle.errors import TreadleError
from treadle.spans.raw_span import RawSpan, RawStatus
from treadle.spans.span import Attributes, JsonValue, SpanEvent
from treadle.spans.span_batch import SpanBatch

DEPTH_LIMIT = 64
"""The maximum number of nested lists and maps in an attribute."""

DROPPED = (
    "otel.dropped_attributes_count",
    "otel.dropped_events_count",
    "otel.dropped_links_count",
)
"""Attributes with the counts of attributes, events and links that the exporter dropped."""

UNREADABLE = "otel.unreadable"
"""The attribute that lists the fields of a span that could not be read."""

_NOT_A_TIME = "is not between the years 1970 and 2262"
"""63 bits of nanoseconds since 1970 reach to the year 2262."""

_REASONS_LIMIT = 20
_NAME_LIMIT = 80
TIME_LIMIT = 1 << 63
"""The first time in nanoseconds that is out of range."""
_STATUSES = {status.value: status for status in RawStatus}

TRACE_ID_DIGITS = 32
SPAN_ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Signal:
    """The names that OTLP uses for one kind of telemetry."""

    name: str
    record: str
    levels: tuple[str, ...]
    """The names of the nested lists from an export down to its records."""
    message: str
    """The name of the request in protobuf."""
    rejected: str
    """The name of the count of rejected records in a response."""

    def level_message(self, level: int) -> str:
        """Return the name of the message of a level in protobuf, such as `ScopeSpans`."""
        return self.levels[level][0].upper() + self.levels[level][1:]


TRACES = Signal(
    "trace",
    "span",
    ("resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans"),
    "ExportTraceServiceRequest",
    "rejectedSpans",
)
LOGS = Signal(
    "log",
    "log record",
    ("resourceLogs", "scopeLogs", "instrumentationLibraryLogs", "logRecords"),
    "ExportLogsServiceRequest",
    "rejectedLogRecords",
)
METRICS = Signal(
    "metrics",
    "data point",
    ("resourceMetrics", "scopeMetrics", "instrumentationLibraryMetrics", "metrics"),
    "ExportMetricsServiceRequest",
    "rejectedDataPoints",
)


class OtlpError(TreadleError):
    """Raised when a body is not an export of the expected signal. Nothing is stored."""


class SpanFaultError(Exception):
    """The reason to omit a span or one of its fields, such as "its trace id is empty"."""


class SpanCollector:
    """Collects the raw spans of one export."""

    def __init__(self, signal: Signal = TRACES) -> None:
        self._signal = signal
        self._spans: list[RawSpan] = []
        self._rejected = 0
        self._reasons: list[str] = []
        self._damaged = 0
        self._warnings: list[str] = []
        self._faults: list[str] = []
        """The faults of the current span."""
        self._lost: list[str] = []

    def add(self, raw: RawSpan) -> None:
        """Accept the current span. Raises SpanFaultError if its ids are not valid."""
        _check_id(raw.trace_id, TRACE_ID_DIGITS, "trace id")
        _check_id(raw.span_id, SPAN_ID_DIGITS, "span id")
        if not (raw.parent_id or "").strip("0"):
            raw.parent_id = None
        raw.end_ns = raw.end_ns or None  # zero means that the span has not ended
        if not 0 <= raw.start_ns < TIME_LIMIT or not 0 <= (raw.end_ns or 0) < TIME_LIMIT:
            self._replace_times(raw)
        if self._faults:
            self._note_faults(raw)
        self._spans.append(raw)

    def reject(self, raw: RawSpan, fault: SpanFaultError) -> None:
        """Omit the current span. `raw` has the fields that were read before the fault."""
        self._faults.clear()
        self._reject(f"{self._title(raw)}: {fault}")

    def note_fault(self, what: str) -> None:
        """Record that a field of the current span is omitted."""
        self._faults.append(what)

    def note_faults(self, faults: Iterable[str]) -> None:
        """Record fields of the current span that are omitted or replaced."""
        self._faults.extend(faults)

    def note_warning(self, what: str) -> None:
        """Record that a field of a resource, of a scope or of the export is omitted."""
        self._damaged += 1
        if len(self._warnings) < _REASONS_LIMIT:
            self._warnings.append(what)

    def note_lost(self, what: str) -> None:
        """Record an unreadable part of the export that may contain spans."""
        self._lost.append(what)

    def decoded(self) -> SpanBatch[RawSpan]:
        """Return the collected spans.

        Raises OtlpError if parts were lost and there are no spans.
        """
        if self._lost and not self._spans and not self._rejected:
            raise OtlpError(
                f"The body contains no readable {self._signal.record}: {self._lost[0]}.",
                hint=f'Send an OTLP export request: an object with "{self._signal.levels[0]}".',
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
        """Replace times that are out of range."""
        if not 0 <= (raw.end_ns or 0) < TIME_LIMIT:
            self.note_fault(f"its end {_NOT_A_TIME}")
            raw.end_ns = None
        if not 0 <= raw.start_ns < TIME_LIMIT:
            self.note_fault(f"its start {_NOT_A_TIME}")
            raw.start_ns = raw.end_ns or time.time_ns()

    def _note_faults(self, raw: RawSpan) -> None:
        """Move the faults into the warnings and into an attribute of the span."""
        for fault in self._faults:
            self.note_warning(f"{self._title(raw)}: {fault}; only this was left out")
        raw.attributes[UNREADABLE] = self._faults[:_REASONS_LIMIT]
        self._faults.clear()

    def _title(self, raw: RawSpan) -> str:
        name = f'{self._signal.record} "{raw.name[:_NAME_LIMIT]}"'
        return f"{name} ({raw.span_id or 'no id'} of trace {raw.trace_id or '?'})"


def resource_attributes(resource: Attributes, scope: Mapping[str, JsonValue]) -> Attributes:
    """Return the attributes of a resource and of its instrumentation scope together."""
    return {**resource, **{f"otel.scope.{name}": value for name, value in scope.items()}}


def build_event(at_ns: int, name: str, attributes: Attributes) -> SpanEvent:
    """Return an event of a span. Raises SpanFaultError if the time is out of range."""
    if not 0 <= at_ns < TIME_LIMIT:
        raise SpanFaultError(f'the time of its event "{name[:_NAME_LIMIT]}" {_NOT_A_TIME}')
    return SpanEvent(at_ns // 1_000, name, attributes)


def bytes_value(raw: bytes) -> JsonValue:
    """Return the JSON value for bytes."""
    return base64_value(base64.b64encode(raw).decode())


def base64_value(encoded: str) -> JsonValue:
    """Return the JSON value for bytes in base64."""
    return {"base64": encoded}


def check_depth(depth: int, key: str) -> None:
    """Raise SpanFaultError for a value whose nesting could exhaust the stack of a reader."""
    if depth > DEPTH_LIMIT:
        raise SpanFaultError(f"its attribute {key} is nested deeper than {DEPTH_LIMIT} levels")


def double_value(value: float) -> JsonValue:
    """Return the JSON value for a double: text for NaN and infinities, as in OTLP/JSON."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def read_status(code: int) -> RawStatus:
    """Return the status for the number `code`. An unknown code becomes `UNSET`."""
    return _STATUSES.get(code, RawStatus.UNSET)


def _check_id(digits: str, length: int, what: str) -> None:
    if len(digits) == length and digits != "0" * length:
        return
    if not digits:
        raise SpanFaultError(f"its {what} is empty")
    if not digits.strip("0"):
        raise SpanFaultError(f"its {what} is all zero")
    raise SpanFaultError(f"its {what} has {len(digits)} hex digits instead of {length}")


def describe_duplicate(key: str) -> str:
    """Return the description of a fault: the attribute `key` has two different values."""
    return f"its attribute {key} has two different values; only the last one is kept"
