"""OTLP/JSON: reads export requests, and writes responses.

Ids are hex digits, and numbers may be text. The reader also accepts unambiguous deviations. These
are field names in snake case, ids in base64, an export without its outer levels, and several
exports in a row. The reader counts unreadable spans as rejected, so nothing is lost silently.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from treadle.spans.otlp.json_fields import (
    Object,
    describe_value,
    read_attributes,
    read_id,
    read_integer,
    read_list,
    read_object,
    read_text,
    with_camel_case,
)
from treadle.spans.otlp.json_repair import Pairs, faults_in, parse_repaired, without_marks
from treadle.spans.otlp.span_collector import (
    DROPPED,
    SPAN_ID_DIGITS,
    TRACE_ID_DIGITS,
    TRACES,
    UNREADABLE,
    OtlpError,
    Signal,
    SpanCollector,
    SpanFaultError,
    build_event,
    read_status,
    resource_attributes,
)
from treadle.spans.raw_span import RawSpan, RawStatus
from treadle.spans.span import Attributes, JsonValue, SpanEvent, SpanLink
from treadle.spans.span_batch import ExportReport, SpanBatch

_MAX_LEVELS = 8
_IDS = frozenset({"traceId", "spanId"})
_SHARED = frozenset({"resource", "scope", "instrumentationLibrary", "schemaUrl"})
_DROPPED_FIELDS = dict(
    zip(
        ("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"),
        DROPPED,
        strict=True,
    )
)
_DROPPED_ATTRIBUTES = "droppedAttributesCount"
_STATUS_NAMES = {f"STATUS_CODE_{status.name}": status for status in RawStatus}
_NO_TIME = -1
"""The value for a time that cannot be read. It is out of range, so `SpanCollector` reports it."""


def decode_json(body: bytes) -> SpanBatch[RawSpan]:
    """Return the spans of an export request in JSON. Raises OtlpError for any other body.

    Unknown fields are ignored, as the protocol requires.
    """
    if not body.strip():
        return SpanBatch(())
    return read_json(body, JsonReader)


def read_json(body: bytes, reader_type: "type[JsonReader]") -> SpanBatch[RawSpan]:
    """Return the records of a body. Raises OtlpError if the body is not an export."""
    signal = reader_type.signal
    reader = reader_type(*parse_documents(body, None, signal))
    if body.count(b'"spanId"') + body.count(b'"span_id"') > reader.ids_seen:
        # An object may repeat a name, but a parser keeps only the last value of the name. The
        # second pass joins the lists of equal names.
        reader = reader_type(*parse_documents(body, _with_joined_lists, signal))
    return reader.decoded()


def respond_json(report: ExportReport, signal: Signal = TRACES) -> bytes:
    """Return the response in OTLP/JSON.

    The count of rejected records is a string, like every int64 in this format.
    """
    message = report.problems()
    if not message:
        return b"{}"
    partial = {signal.rejected: str(report.rejected), "errorMessage": message}
    return json.dumps({"partialSuccess": partial}).encode()


def parse_documents(
    body: bytes, hook: Callable[[Pairs], object] | None, signal: Signal
) -> tuple[list[Any], bool]:
    """Return the documents in a body, and whether they were repaired.

    A body usually has one document. Raises OtlpError if it is not JSON.
    """
    try:
        documents, repaired = [json.loads(body, object_pairs_hook=hook)], False
    except (ValueError, RecursionError):
        documents, repaired = parse_repaired(body, hook)
    if not documents or not all(isinstance(each, dict) or each for each in documents):
        raise OtlpError(
            f"The body is not JSON of an OTLP {signal.name} export.",
            hint=f'Send an object with "{signal.levels[0]}".',
        )
    return documents, repaired


def _with_joined_lists(pairs: Pairs) -> dict[str, Any]:
    """Return an object in which lists under the same name are joined."""
    merged: dict[str, Any] = {}
    for name, value in pairs:
        before = merged.get(name)
        if isinstance(before, list) and isinstance(value, list):
            before.extend(value)
        else:
            merged[name] = value
    return merged


class JsonReader:
    """Reads the documents of one body.

    Exports of spans and of log records have the same levels above the records, with other names.
    """

    signal = TRACES

    def __init__(self, documents: list[Any], repaired: bool) -> None:
        self.ids_seen = 0
        """The number of objects with a span id that the reader has seen."""
        self._collector = SpanCollector(self.signal)
        self._repaired = repaired
        for document in documents:
            self._level(document, "the body", {}, {}, 0)

    def decoded(self) -> SpanBatch[RawSpan]:
        """Return the spans. Raises OtlpError if the documents contain nothing readable."""
        return self._collector.decoded()

    def _level(
        self, sent: object, where: str, resource: Attributes, scope: Attributes, depth: int
    ) -> None:
        """Read a list, an object of any level, or a span."""
        if sent is None:
            return
        if depth > _MAX_LEVELS:
            self._collector.note_lost(f"{where} is nested deeper than an export can be")
        elif isinstance(sent, list):
            for each in sent:
                self._level(each, where, resource, scope, depth + 1)
        elif not isinstance(sent, dict):
            self._collector.note_lost(f"{where} has {describe_value(sent)} instead of an object")
        else:
            self._container(with_camel_case(sent), where, resource, scope, depth)

    def _container(
        self, sent: Object, where: str, resource: Attributes, scope: Attributes, depth: int
    ) -> None:
        if "resource" in sent:
            resource = self._shared(sent["resource"])
        sent_scope = sent.get("scope") or sent.get("instrumentationLibrary")
        if sent_scope:
            scope = self._scope(sent_scope)
        levels = [name for name in self.signal.levels if sent.get(name) is not None]
        if not levels and not _IDS.isdisjoint(sent):
            self._record(sent, resource_attributes(resource, scope))
        elif not levels:
            unknown = [name for name in sent if name not in {*_SHARED, *self.signal.levels}]
            if any(sent[name] is not None for name in unknown):
                found, wanted = describe_value(unknown[0]), self.signal.record
                self._collector.note_lost(f"{where} has {found}, but no list of {wanted}s")
        for name in levels:
            if name == self.signal.levels[-1]:
                self._records(sent[name], resource_attributes(resource, scope))
            else:
                self._level(sent[name], name, resource, scope, depth + 1)

    def _records(self, sent: object, resource: Attributes) -> None:
        for record in sent if isinstance(sent, list) else [sent]:
            if isinstance(record, dict):
                self._record(with_camel_case(record), resource)
            elif record is not None:
                name, wanted = self.signal.levels[-1], self.signal.record
                self._collector.note_lost(
                    f"{name} has {describe_value(record)} instead of a {wanted}"
                )

    def _record(self, sent: Object, resource: Attributes) -> None:
        raw = RawSpan(resource=resource)
        if self._repaired:
            for fault in faults_in(sent):
                self._collector.note_fault(fault)
            sent = without_marks(sent)
        self.ids_seen += "spanId" in sent
        try:
            self._read(raw, sent)
            self._collector.add(raw)
        except SpanFaultError as fault:
            self._collector.reject(raw, fault)

    def _read(self, raw: RawSpan, span: Object) -> None:
        """Read a span. Raises SpanFaultError if its ids cannot be read."""
        name = span.get("name")
        if type(name) is str:
            raw.name = name
        elif name is not None:
            raw.name = describe_value(name)
            self._collector.note_fault("its name is not a text")
        raw.trace_id = read_id(span.get("traceId"), "its trace id", TRACE_ID_DIGITS)
        raw.span_id = read_id(span.get("spanId"), "its span id", SPAN_ID_DIGITS)
        raw.parent_id = self._reference(span.get("parentSpanId"), "its parent's id")
        raw.start_ns = self._time(span.get("startTimeUnixNano"))
        raw.end_ns = self._time(span.get("endTimeUnixNano"))
        raw.attributes = read_attributes(span.get("attributes"), self._collector.note_fault)
        if span.get("status"):
            self._status(raw, span["status"])
        if span.get("events"):
            raw.events += self._each(span["events"], "its events", self._event)
        if span.get("links"):
            raw.links += self._each(span["links"], "its links", self._link)
        for field, attribute in _DROPPED_FIELDS.items():
            if span.get(field):
                self._dropped(raw, span[field], field, attribute)

    def _reference(self, value: object, what: str) -> str:
        """Return the id of another span. An id in an unknown form is kept unchanged."""
        try:
            return read_id(value, what, SPAN_ID_DIGITS)
        except SpanFaultError as fault:
            if isinstance(value, str):
                return value
            self._collector.note_fault(str(fault))
            return ""

    def _time(self, value: object) -> int:
        if type(value) is int:
            return value
        try:
            return read_integer(value, "")
        except SpanFaultError:
            return _NO_TIME

    def _status(self, raw: RawSpan, sent: object) -> None:
        try:
            status = read_object(sent)
            raw.status_message = read_text(status.get("message"), "its status message")
            code = status.get("code")
            named = _STATUS_NAMES.get(code) if isinstance(code, str) else None
            raw.status = named or read_status(read_integer(code, "its status code"))
        except SpanFaultError as fault:
            self._collector.note_fault(str(fault))

    def _each(self, sent: object, what: str, read: Callable[[Object], Any]) -> list[Any]:
        """Read the entries of a list with `read`. Entries that cannot be read are left out."""
        entries = []
        try:
            for each in read_list(sent, what):
                try:
                    entries.append(read(read_object(each)))
                except SpanFaultError as fault:
                    self._collector.note_fault(f"one of {what}: {fault}")
        except SpanFaultError as fault:
            self._collector.note_fault(str(fault))
        return entries

    def _event(self, event: Object) -> SpanEvent:
        name = read_text(event.get("name"), "its name")
        at_ns = read_integer(event.get("timeUnixNano"), "its time")
        return build_event(at_ns, name, self._attributes(event))

    def _link(self, link: Object) -> SpanLink:
        self.ids_seen += "spanId" in link
        return SpanLink(
            read_id(link.get("traceId"), "its trace id", TRACE_ID_DIGITS),
            read_id(link.get("spanId"), "its span id", SPAN_ID_DIGITS),
            self._attributes(link),
        )

    def _attributes(self, part: Object) -> Attributes:
        """Return the attributes of an event or a link, with the count of dropped attributes."""
        attributes = read_attributes(part.get("attributes"), self._collector.note_fault)
        dropped = read_integer(part.get(_DROPPED_ATTRIBUTES), _DROPPED_ATTRIBUTES)
        return {**attributes, DROPPED[0]: dropped} if dropped else attributes

    def _dropped(self, raw: RawSpan, value: object, field: str, attribute: str) -> None:
        try:
            raw.attributes[attribute] = read_integer(value, field)
        except SpanFaultError as fault:
            self._collector.note_fault(str(fault))

    def _scope(self, sent: object) -> dict[str, JsonValue]:
        scope = self._shared(sent)
        if isinstance(sent, Mapping):
            scope |= {name: str(sent[name]) for name in ("name", "version") if sent.get(name)}
        return scope

    def _shared(self, sent: object) -> dict[str, JsonValue]:
        """Return the attributes of a resource or scope. Faults in these do not affect spans."""
        faults: list[str] = []
        try:
            values = read_object(without_marks(sent) if self._repaired else sent)
            attributes = read_attributes(values.get("attributes"), faults.append)
        except SpanFaultError as fault:
            attributes = {}
            faults.append(str(fault))
        if faults:
            attributes[UNREADABLE] = faults
            for what in faults:
                self._collector.note_warning(f"a resource or scope: {what}; only this was left out")
        return attributes
