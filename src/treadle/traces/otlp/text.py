"""Reads an export in JSON, by the rules of OTLP/JSON: hex ids, numbers also as text."""

import json
from collections.abc import Callable, Mapping

from treadle.traces.otlp.building import (
    DROPPED,
    Decoded,
    Export,
    OtlpError,
    SpanFaultError,
    check_depth,
    described,
    event_at,
    finite,
    status_of,
    tagged_text,
)
from treadle.traces.otlp.mending import check_whole, mended, parse_mended
from treadle.traces.span import JsonValue, SpanEvent, SpanLink
from treadle.traces.vocabularies import RawSpan, RawStatus

_HEX = frozenset("0123456789abcdef")
_DROPPED_FIELDS = dict(
    zip(
        ("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"),
        DROPPED,
        strict=True,
    )
)
_STATUS_NAMES = {f"STATUS_CODE_{status.name}": status for status in RawStatus}

_Object = Mapping[str, object]


def decode_json(body: bytes) -> Decoded:
    """The spans of an export request in JSON. Raises OtlpError when it is no such request.

    Fields that are not known are ignored, as the protocol asks.
    """
    if not body.strip():
        return Decoded(())
    try:
        request, whole = json.loads(body), True
    except (ValueError, RecursionError):
        request, whole = parse_mended(body), False
    if not isinstance(request, dict):
        raise OtlpError(
            "The body is no JSON of an OTLP trace export.",
            hint='It has to be an object with "resourceSpans".',
        )
    return decode_object(request, whole=whole)


def decode_object(request: _Object, *, whole: bool = True) -> Decoded:
    """The same of a request that is parsed already; `whole` is false where it had to be mended."""
    export = Export()
    for sent in _objects(request.get("resourceSpans")):
        resource = _shared(_object(sent.get("resource")), whole=whole)
        for scoped in _objects(sent.get("scopeSpans") or sent.get("instrumentationLibrarySpans")):
            said = _object(scoped.get("scope") or scoped.get("instrumentationLibrary"))
            scope = _shared(said, whole=whole)
            scope |= {name: str(said[name]) for name in ("name", "version") if said.get(name)}
            described_resource = described(resource, scope)
            for span in _objects(scoped.get("spans")):
                raw = RawSpan(resource=described_resource)
                try:
                    _read(raw, span)
                    if not whole:
                        check_whole(span)
                    export.take(raw)
                except SpanFaultError as fault:
                    export.reject(raw, fault)
    return export.decoded()


def _read(raw: RawSpan, span: _Object) -> None:
    raw.trace_id = _hex(span.get("traceId"), "trace id")
    raw.span_id = _hex(span.get("spanId"), "span id")
    raw.parent_id = _text(span.get("parentSpanId"), "its parent's id").lower()
    raw.name = _text(span.get("name"), "its name")
    raw.start_ns = _integer(span.get("startTimeUnixNano"), "its start")
    raw.end_ns = _integer(span.get("endTimeUnixNano"), "its end")
    raw.attributes = _attributes(span.get("attributes"))
    status = span.get("status")
    if status:
        raw.status = _status(_object(status).get("code"))
        raw.status_message = _text(_object(status).get("message"), "its status message")
    for event in _objects(span.get("events")):
        raw.events.append(_event(event))
    for link in _objects(span.get("links")):
        raw.links.append(_link(link))
    for field, name in _DROPPED_FIELDS.items():
        if span.get(field):
            raw.attributes[name] = _integer(span[field], field)


def _event(event: _Object) -> SpanEvent:
    name = _text(event.get("name"), "the name of an event")
    at_ns = _integer(event.get("timeUnixNano"), "the time of an event")
    return event_at(at_ns, name, _attributes(event.get("attributes")))


def _link(link: _Object) -> SpanLink:
    return SpanLink(
        _text(link.get("traceId"), "the trace of a link").lower(),
        _text(link.get("spanId"), "the span of a link").lower(),
        _attributes(link.get("attributes")),
    )


def _status(code: object) -> RawStatus:
    if isinstance(code, str) and code in _STATUS_NAMES:
        return _STATUS_NAMES[code]
    return status_of(_integer(code, "its status code"))


def _shared(said: _Object, *, whole: bool) -> dict[str, JsonValue]:
    """Attributes that many spans share, so that no fault in one may cost a span."""
    attributes: dict[str, JsonValue] = {}
    for each in _objects(said.get("attributes")):
        try:
            attributes |= _attributes([each if whole else mended(each)])
        except SpanFaultError:
            attributes["otel.unreadable"] = json.dumps(each, default=str)
    return attributes


def _attributes(sent: object, depth: int = 0) -> dict[str, JsonValue]:
    if sent is None:
        return {}
    if not isinstance(sent, list):
        raise SpanFaultError("its attributes are no list")
    attributes: dict[str, JsonValue] = {}
    for each in sent:
        if not isinstance(each, dict):
            raise SpanFaultError("one of its attributes is no object")
        key = each.get("key", "")
        if type(key) is not str:
            raise SpanFaultError("the name of one of its attributes is no text")
        value = each.get("value")
        # Most are texts, so these are looked at first and at once.
        if (
            type(value) is dict
            and len(value) == 1
            and type(text := value.get("stringValue")) is str
        ):
            attributes[key] = text
        else:
            attributes[key] = _value(value, key, depth)
    return attributes


def _value(value: object, key: str, depth: int) -> JsonValue:
    """An AnyValue. `key` is the attribute that holds it."""
    for name, content in _object(value).items():
        if name in _SIMPLE:
            return _SIMPLE[name](content, f"its attribute {key}")
        if name in ("arrayValue", "kvlistValue"):
            check_depth(depth + 1, key)
            values = _object(content).get("values")
            if name == "kvlistValue":
                return _attributes(values, depth + 1)
            return [_value(each, key, depth + 1) for each in _objects(values)]
    return None


def _object(value: object) -> _Object:
    """An object; nothing where it is left out. What is neither makes no sense."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SpanFaultError(
            f"it has {json.dumps(value, default=str)[:40]} where an object belongs"
        )
    return value


def _objects(values: object) -> list[_Object]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _text(value: object, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise SpanFaultError(f"{what} is no text")
    return value


def _hex(value: object, what: str) -> str:
    digits = _text(value, f"its {what}").lower()
    if not _HEX.issuperset(digits):
        raise SpanFaultError(f"its {what} is not in hex digits")
    return digits


def _integer(value: object, what: str) -> int:
    """A whole number, or one as text, as JSON has no 64 bits; 0 where it is left out."""
    if type(value) is int:
        return value
    try:
        if isinstance(value, str):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
    except ValueError:
        pass
    if value is None:
        return 0
    raise SpanFaultError(f"{what} is no whole number")


def _double(value: object, what: str) -> JsonValue:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return finite(float(value))
        except (ValueError, OverflowError):
            pass
    raise SpanFaultError(f"{what} is no number")


_SIMPLE: Mapping[str, Callable[[object, str], JsonValue]] = {
    "stringValue": _text,
    "boolValue": lambda value, _what: value in (True, "true"),
    "intValue": _integer,
    "doubleValue": _double,
    "bytesValue": lambda value, what: tagged_text(_text(value, what)),
}
"""How the values that are not nested are read."""
