"""Writes spans as OTLP/JSON, with one request in each line.

The file exporter of OpenTelemetry's collector uses the same form. A hash replaces an id that
OpenTelemetry does not allow. Attributes such as `treadle.trace_id` keep the original id. Input and
output have the attribute names of OpenInference.
"""

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from treadle.owner_only import open_output
from treadle.spans.span import Attributes, JsonValue, Span, SpanStatus

_STATUS_CODES = {SpanStatus.OK: 1, SpanStatus.ERROR: 2, SpanStatus.CANCELLED: 2}
_SCOPE = "otel.scope."


def write_otlp(path: Path, spans: Iterable[Span]) -> int:
    """Write `spans` to a new file. Returns the number of spans. Raises OSError."""
    with open_output(path) as stream:
        return write_otlp_lines(stream, spans)


def write_otlp_lines(stream: BinaryIO, spans: Iterable[Span]) -> int:
    """Write `spans` to an open stream of bytes. Returns the number of spans."""
    written = 0
    for span in spans:
        stream.write(json.dumps(_request(span), separators=(",", ":")).encode() + b"\n")
        written += 1
    return written


def _request(span: Span) -> dict[str, Any]:
    resource = {k: v for k, v in span.resource.items() if not k.startswith(_SCOPE)}
    scoped = {k.removeprefix(_SCOPE): v for k, v in span.resource.items() if k.startswith(_SCOPE)}
    names = [key for key in ("name", "version") if isinstance(scoped.get(key), str)]
    named = {key: scoped.pop(key) for key in names}
    scope = {**named, "attributes": _attributes(scoped)}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [{"scope": scope, "spans": [_span(span)]}],
            }
        ]
    }


def _span(span: Span) -> dict[str, Any]:
    attributes = dict(span.attributes)
    trace_id = _id(span.trace_id, 32, "treadle.trace_id", attributes)
    span_id = _id(span.span_id, 16, "treadle.span_id", attributes)
    parent = span.parent_id
    parent_id = None if parent is None else _id(parent, 16, "treadle.parent_id", attributes)
    for name, content in (("input.value", span.input), ("output.value", span.output)):
        if content is not None and content not in span.attributes.values():
            attributes.setdefault(name, content)
    start, end = span.start_ns or span.start_us * 1_000, span.end_ns or (span.end_us or 0) * 1_000
    return {
        "traceId": trace_id,
        "spanId": span_id,
        **({"parentSpanId": parent_id} if parent_id else {}),
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": _attributes(attributes),
        "events": [
            {
                "timeUnixNano": str(event.at_us * 1_000),
                "name": event.name,
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ],
        "links": [
            {
                "traceId": _id(link.trace_id, 32, "treadle.trace_id", {}),
                "spanId": _id(link.span_id, 16, "treadle.span_id", {}),
                "attributes": _attributes(link.attributes),
            }
            for link in span.links
        ],
        "status": {
            "code": _STATUS_CODES.get(span.status, 0),
            **({"message": span.error} if span.error else {}),
        },
    }


def _id(own: str, digits: int, name: str, attributes: dict[str, JsonValue]) -> str:
    if re.fullmatch(f"[0-9a-f]{{{digits}}}", own) and own.strip("0"):
        return own
    attributes[name] = own
    return blake2b(own.encode("utf-8", "surrogatepass"), digest_size=digits // 2).hexdigest()


def _attributes(attributes: Attributes) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: JsonValue) -> dict[str, Any]:
    match value:
        case None:
            encoded: dict[str, Any] = {}
        case bool():
            encoded = {"boolValue": value}
        case int():
            encoded = {"intValue": str(value)}
        case float():
            encoded = {"doubleValue": value}
        case str():
            encoded = {"stringValue": value}
        case {"base64": data} if len(value) == 1:
            encoded = {"bytesValue": data}
        case Mapping():
            encoded = {"kvlistValue": {"values": _attributes(value)}}
        case _:
            encoded = {"arrayValue": {"values": [_value(each) for each in value]}}
    return encoded
