"""Reads an export in JSON, by the rules of OTLP/JSON: hex ids, numbers also as text.

What is off the rules is read where it has one meaning: the names of fields in snake case, ids in
base64, an export without its outer levels, several exports in a row. What cannot be read is counted
as rejected, so that nothing is lost in silence.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from treadle.spans.otlp.json_fields import (
    Object,
    attributes_of,
    id_of,
    integer_of,
    list_of,
    object_of,
    renamed,
    shown,
    text_of,
)
from treadle.spans.otlp.json_repair import Pairs, faults_in, parse_repaired, unmarked
from treadle.spans.otlp.span_collector import (
    DROPPED,
    SPAN_ID_DIGITS,
    TRACE_ID_DIGITS,
    UNREADABLE,
    OtlpError,
    SpanBatch,
    SpanCollector,
    SpanFaultError,
    described,
    event_at,
    status_of,
)
from treadle.spans.raw_span import RawSpan, RawStatus
from treadle.spans.span import Attributes, JsonValue, SpanEvent, SpanLink

_LEVELS = ("resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans")
"""The lists on the way from an export to its spans."""
_MOST_LEVELS = 8
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
"""Stands for a time that cannot be read, and is none."""


def decode_json(body: bytes) -> SpanBatch[RawSpan]:
    """The spans of an export request in JSON. Raises OtlpError if it is not such a request.

    Fields that are not known are ignored, as the protocol asks.
    """
    if not body.strip():
        return SpanBatch(())
    reader = _Reader(*_parse(body, None))
    if body.count(b'"spanId"') + body.count(b'"span_id"') > reader.ids_seen:
        # Perhaps a name comes twice in one object, of which a parser keeps the last.
        reader = _Reader(*_parse(body, _joined))
    return reader.decoded()


def _parse(body: bytes, hook: Callable[[Pairs], object] | None) -> tuple[list[Any], bool]:
    """The documents in a body, usually one, and whether something in them was repaired."""
    try:
        documents, repaired = [json.loads(body, object_pairs_hook=hook)], False
    except (ValueError, RecursionError):
        documents, repaired = parse_repaired(body, hook)
    if not documents or not all(isinstance(each, dict) or each for each in documents):
        raise OtlpError(
            "The body is no JSON of an OTLP trace export.",
            hint='It has to be an object with "resourceSpans".',
        )
    return documents, repaired


def _joined(pairs: Pairs) -> dict[str, Any]:
    """An object whose lists under the same name are one list."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        before = made.get(name)
        if isinstance(before, list) and isinstance(value, list):
            before.extend(value)
        else:
            made[name] = value
    return made


class _Reader:
    """Reads the documents of one body."""

    def __init__(self, documents: list[Any], repaired: bool) -> None:
        self.ids_seen = 0
        """How many objects with a span id were read."""
        self._export = SpanCollector()
        self._repaired = repaired
        for document in documents:
            self._level(document, "the body", {}, {}, 0)

    def decoded(self) -> SpanBatch[RawSpan]:
        """What was read. Raises OtlpError."""
        return self._export.decoded()

    def _level(
        self, sent: object, where: str, resource: Attributes, scope: Attributes, depth: int
    ) -> None:
        """Read whatever leads to spans: a list, an object of any level, or a span itself."""
        if sent is None:
            return
        if depth > _MOST_LEVELS:
            self._export.lose(f"{where} is nested deeper than any export")
        elif isinstance(sent, list):
            for each in sent:
                self._level(each, where, resource, scope, depth + 1)
        elif not isinstance(sent, dict):
            self._export.lose(f"{where} has {shown(sent)} where an object belongs")
        else:
            self._container(renamed(sent), where, resource, scope, depth)

    def _container(
        self, sent: Object, where: str, resource: Attributes, scope: Attributes, depth: int
    ) -> None:
        if "resource" in sent:
            resource = self._shared(sent["resource"])
        said = sent.get("scope") or sent.get("instrumentationLibrary")
        if said:
            scope = self._scope(said)
        levels = [name for name in _LEVELS if sent.get(name) is not None]
        if not levels and ("traceId" in sent or "spanId" in sent):
            self._span(sent, described(resource, scope))
        elif not levels:
            unknown = [name for name in sent if name not in _SHARED and name not in _LEVELS]
            if any(sent[name] is not None for name in unknown):
                self._export.lose(f"{where} has {shown(unknown[0])}, but no list of spans")
        for name in levels:
            if name == "spans":
                self._spans(sent[name], described(resource, scope))
            else:
                self._level(sent[name], name, resource, scope, depth + 1)

    def _spans(self, sent: object, resource: Attributes) -> None:
        for span in sent if isinstance(sent, list) else [sent]:
            if isinstance(span, dict):
                self._span(renamed(span), resource)
            elif span is not None:
                self._export.lose(f"spans has {shown(span)} where a span belongs")

    def _span(self, sent: Object, resource: Attributes) -> None:
        raw = RawSpan(resource=resource)
        if self._repaired:
            for fault in faults_in(sent):
                self._export.fault(fault)
            sent = unmarked(sent)
        self.ids_seen += "spanId" in sent
        try:
            self._read(raw, sent)
            self._export.take(raw)
        except SpanFaultError as fault:
            self._export.reject(raw, fault)

    def _read(self, raw: RawSpan, span: Object) -> None:
        """Read a span. Raises SpanFaultError where its ids cannot be read."""
        name = span.get("name")
        if type(name) is str:
            raw.name = name
        elif name is not None:
            raw.name = shown(name)
            self._export.fault("its name is no text")
        raw.trace_id = id_of(span.get("traceId"), "its trace id", TRACE_ID_DIGITS)
        raw.span_id = id_of(span.get("spanId"), "its span id", SPAN_ID_DIGITS)
        raw.parent_id = self._reference(span.get("parentSpanId"), "its parent's id")
        raw.start_ns = self._time(span.get("startTimeUnixNano"))
        raw.end_ns = self._time(span.get("endTimeUnixNano"))
        raw.attributes = attributes_of(span.get("attributes"), self._export.fault)
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
        """The id of another span; one of another form is kept, as no span here may have it."""
        try:
            return id_of(value, what, SPAN_ID_DIGITS)
        except SpanFaultError as fault:
            if isinstance(value, str):
                return value
            self._export.fault(str(fault))
            return ""

    def _time(self, value: object) -> int:
        if type(value) is int:
            return value
        try:
            return integer_of(value, "")
        except SpanFaultError:
            return _NO_TIME

    def _status(self, raw: RawSpan, sent: object) -> None:
        try:
            status = object_of(sent)
            raw.status_message = text_of(status.get("message"), "its status message")
            code = status.get("code")
            named = _STATUS_NAMES.get(code) if isinstance(code, str) else None
            raw.status = named or status_of(integer_of(code, "its status code"))
        except SpanFaultError as fault:
            self._export.fault(str(fault))

    def _each(self, sent: object, what: str, read: Callable[[Object], Any]) -> list[Any]:
        """Those of a list that can be read."""
        made = []
        try:
            for each in list_of(sent, what):
                try:
                    made.append(read(object_of(each)))
                except SpanFaultError as fault:
                    self._export.fault(f"one of {what}: {fault}")
        except SpanFaultError as fault:
            self._export.fault(str(fault))
        return made

    def _event(self, event: Object) -> SpanEvent:
        name = text_of(event.get("name"), "its name")
        at_ns = integer_of(event.get("timeUnixNano"), "its time")
        return event_at(at_ns, name, self._attributes(event))

    def _link(self, link: Object) -> SpanLink:
        self.ids_seen += "spanId" in link
        return SpanLink(
            id_of(link.get("traceId"), "its trace id", TRACE_ID_DIGITS),
            id_of(link.get("spanId"), "its span id", SPAN_ID_DIGITS),
            self._attributes(link),
        )

    def _attributes(self, part: Object) -> Attributes:
        """Those of an event or a link, and how many of them the exporter dropped."""
        attributes = attributes_of(part.get("attributes"), self._export.fault)
        dropped = integer_of(part.get(_DROPPED_ATTRIBUTES), _DROPPED_ATTRIBUTES)
        return {**attributes, DROPPED[0]: dropped} if dropped else attributes

    def _dropped(self, raw: RawSpan, value: object, field: str, attribute: str) -> None:
        try:
            raw.attributes[attribute] = integer_of(value, field)
        except SpanFaultError as fault:
            self._export.fault(str(fault))

    def _scope(self, sent: object) -> dict[str, JsonValue]:
        scope = self._shared(sent)
        if isinstance(sent, Mapping):
            scope |= {name: str(sent[name]) for name in ("name", "version") if sent.get(name)}
        return scope

    def _shared(self, sent: object) -> dict[str, JsonValue]:
        """Attributes that many spans share, so that no fault in one may cost a span."""
        faults: list[str] = []
        try:
            said = object_of(unmarked(sent) if self._repaired else sent)
            attributes = attributes_of(said.get("attributes"), faults.append)
        except SpanFaultError as fault:
            attributes = {}
            faults.append(str(fault))
        if faults:
            attributes[UNREADABLE] = faults
            for what in faults:
                self._export.warn(f"a resource or scope: {what}; only this was left out")
        return attributes
