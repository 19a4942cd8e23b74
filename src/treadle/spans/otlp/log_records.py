"""Log records of OpenTelemetry: reads the messages of model calls from an export of logs.

The result has one span for each span that the records name. The events of this span are the
records. The store adds them to the real span, which may arrive earlier or later
(`spans/span_versions.py`). Treadle has no use for other log records, so it rejects all of these,
with the reason.
"""

import time
from collections.abc import Mapping

from treadle.spans.otlp.json_encoding import JsonReader, read_json
from treadle.spans.otlp.json_fields import (
    Object,
    describe_value,
    read_attributes,
    read_id,
    read_integer,
    read_value,
)
from treadle.spans.otlp.protobuf_encoding import BROKEN, ProtobufReader, read_fields
from treadle.spans.otlp.span_collector import (
    DROPPED,
    LOGS,
    SPAN_ID_DIGITS,
    TIME_LIMIT,
    TRACE_ID_DIGITS,
    SpanFaultError,
)
from treadle.spans.raw_span import RawSpan
from treadle.spans.span import JsonValue, SpanEvent
from treadle.spans.span_batch import SpanBatch
from treadle.spans.vocabularies.message_events import MESSAGE_EVENTS, span_of_events

_EARLIER_NAME = "event.name"
"""The attribute with the name of an event in earlier versions of the protocol."""
_BODY = "(body)"


def decode_log_protobuf(body: bytes, received_ns: int | None = None) -> SpanBatch[RawSpan]:
    """Return the messages in an ExportLogsServiceRequest. Raises OtlpError for any other body.

    `received_ns` becomes the time of records without a valid time. The default is now.
    """
    return _by_span(_ProtobufReader(body).read(), received_ns)


def decode_log_json(body: bytes, received_ns: int | None = None) -> SpanBatch[RawSpan]:
    """Return the messages in an export of logs in JSON, as `decode_log_protobuf` does."""
    return _by_span(read_json(body, _JsonReader) if body.strip() else SpanBatch(()), received_ns)


class _ProtobufReader(ProtobufReader):
    signal = LOGS

    def _record(self, raw: RawSpan, start: int, end: int) -> None:
        """Read a LogRecord. The field numbers are from opentelemetry/proto/logs/v1/logs.proto."""
        data, body, observed_ns = self._data, None, 0
        for tag, begin, stop in read_fields(data, start, end):
            match tag:
                case 0x09:
                    raw.start_ns = begin
                case 0x59:
                    observed_ns = begin
                case 0x2A:
                    body = self._body(begin, stop)
                case 0x32:
                    self._log_attribute(raw, begin, stop)
                case 0x38 if begin:
                    raw.attributes[DROPPED[0]] = begin
                case 0x4A:
                    raw.trace_id = data[begin:stop].hex()
                case 0x52:
                    raw.span_id = data[begin:stop].hex()
                case 0x62:
                    raw.name = self._text(data[begin:stop], "(name of an event)")
        raw.start_ns = raw.start_ns or observed_ns
        self._collector.note_faults(_complete(raw, body))

    def _body(self, start: int, end: int) -> JsonValue:
        try:
            return self._value(start, end, _BODY, 0)
        except BROKEN as error:
            self._fault("its body", error)
            return None

    def _log_attribute(self, raw: RawSpan, start: int, end: int) -> None:
        try:
            self._put(raw.attributes, *self._attribute(start, end))
        except BROKEN as error:
            self._fault("one of its attributes", error)


class _JsonReader(JsonReader):
    signal = LOGS

    def _read(self, raw: RawSpan, record: Object) -> None:
        note_fault = self._collector.note_fault
        name = record.get("eventName")
        if name is not None:
            raw.name = name if isinstance(name, str) else describe_value(name)
        raw.attributes = read_attributes(record.get("attributes"), note_fault)
        raw.trace_id = read_id(record.get("traceId"), "its trace id", TRACE_ID_DIGITS)
        raw.span_id = read_id(record.get("spanId"), "its span id", SPAN_ID_DIGITS)
        raw.start_ns = self._time(record.get("timeUnixNano"))
        raw.start_ns = raw.start_ns or self._time(record.get("observedTimeUnixNano"))
        body: JsonValue = None
        try:
            body = read_value(record.get("body"), _BODY)
            if dropped := read_integer(record.get("droppedAttributesCount"), "its dropped count"):
                raw.attributes[DROPPED[0]] = dropped
        except SpanFaultError as fault:
            note_fault(str(fault))
        self._collector.note_faults(_complete(raw, body))


def _complete(raw: RawSpan, body: JsonValue) -> list[str]:
    """Set the name and the content of a record. Returns the faults that were corrected.

    A time that is missing or invalid becomes 0. Raises SpanFaultError if the record is not an event
    with messages.
    """
    earlier_name = raw.attributes.pop(_EARLIER_NAME, None)
    if not raw.name and isinstance(earlier_name, str):
        raw.name = earlier_name
    if raw.name not in MESSAGE_EVENTS:
        raise SpanFaultError("Treadle stores only the gen_ai events that contain messages")
    if isinstance(body, Mapping):
        raw.attributes |= body
    elif body is not None:
        raw.attributes["content"] = body
    if 0 < raw.start_ns < TIME_LIMIT:
        return []
    faults = ["its time is not between the years 1970 and 2262"] if raw.start_ns else []
    raw.start_ns = 0
    return faults


def _by_span(records: SpanBatch[RawSpan], received_ns: int | None) -> SpanBatch[RawSpan]:
    """Return one span for each span that the records name. Its events are in order of time."""
    received_ns = time.time_ns() if received_ns is None else received_ns
    for record in records.spans:
        record.start_ns = record.start_ns or received_ns
    grouped: dict[tuple[str, str], list[RawSpan]] = {}
    for record in sorted(records.spans, key=lambda each: each.start_ns):
        grouped.setdefault((record.trace_id, record.span_id), []).append(record)
    return records.with_spans(
        span_of_events(
            *ids,
            found[0].resource,
            [SpanEvent(each.start_ns // 1_000, each.name, each.attributes) for each in found],
        )
        for ids, found in grouped.items()
    )
