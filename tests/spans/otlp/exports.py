"""Exports for tests, written as OTLP/JSON and encoded in either encoding."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from treadle.spans.otlp import decode_json, decode_protobuf
from treadle.spans.span import Span
from treadle.spans.span_batch import SpanBatch
from treadle.spans.vocabularies.mapper import map_spans

Object = dict[str, Any]

TRACE, SPAN, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
START = 1_791_000_000_123_456_789


def span(**fields: object) -> Object:
    """A span in JSON; `attributes` may be a plain mapping."""
    made: Object = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "work",
        "startTimeUnixNano": str(START),
        "endTimeUnixNano": str(START + 1_000_000),
        **fields,
    }
    if isinstance(made.get("attributes"), Mapping):
        made["attributes"] = attributes(made["attributes"])
    return made


def attributes(values: Mapping[str, Any]) -> list[Object]:
    """A list of key-values."""
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def any_value(value: Any) -> Object:
    """An AnyValue."""
    match value:
        case None:
            return {}
        case bool():
            return {"boolValue": value}
        case str():
            return {"stringValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}
        case list() | tuple():
            return {"arrayValue": {"values": [any_value(each) for each in value]}}
        case _:
            return {"kvlistValue": {"values": attributes(value)}}


def request(
    *spans: Object, resource: Mapping[str, Any] | None = None, scope: Object | None = None
) -> Object:
    """An export request with one resource and one scope."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(resource or {})},
                "scopeSpans": [{"scope": scope or {}, "spans": list(spans)}],
            }
        ]
    }


def protobuf(sent: Object) -> bytes:
    """The request in protobuf, encoded by the official package."""
    message = ExportTraceServiceRequest()
    ParseDict(_with_base64_ids(sent), message)
    body: bytes = message.SerializeToString()
    return body


def as_json(sent: Object) -> bytes:
    """The request in JSON."""
    return json.dumps(sent).encode()


def read_protobuf(body: bytes) -> SpanBatch[Span]:
    """The mapped spans of a request in protobuf."""
    return map_spans(decode_protobuf(body))


def read_json(body: bytes) -> SpanBatch[Span]:
    """The mapped spans of a request in JSON."""
    return map_spans(decode_json(body))


ENCODINGS: dict[str, Callable[[Object], SpanBatch[Span]]] = {
    "protobuf": lambda sent: read_protobuf(protobuf(sent)),
    "json": lambda sent: read_json(as_json(sent)),
}


def only(decoded: SpanBatch[Span]) -> Span:
    """The only span of an export without rejections."""
    assert (decoded.rejected, decoded.reasons, decoded.warnings) == (0, (), ())
    (found,) = decoded.spans
    return found


def _with_base64_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_base64_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        key: base64.b64encode(bytes.fromhex(each)).decode()
        if key in ids
        else _with_base64_ids(each)
        for key, each in value.items()
    }
