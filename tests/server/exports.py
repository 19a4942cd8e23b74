"""OTLP exports of spans, written by hand in both encodings."""

import json
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

START_NS = 1_700_000_000_000_000_000


def span(number: int, *, trace: int = 1, text: str | None = None, **more: Any) -> dict[str, Any]:
    """An OTLP/JSON span of a model call with the prompt `text`."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small"}
    if text is not None:
        messages = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
        attributes["gen_ai.input.messages"] = json.dumps(messages)
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": f"chat {number}",
        "kind": 3,
        "startTimeUnixNano": str(START_NS + number * 1_000_000),
        "endTimeUnixNano": str(START_NS + number * 1_000_000 + 5_000_000),
        "attributes": [
            {"key": key, "value": {"stringValue": value}} for key, value in attributes.items()
        ],
        **more,
    }


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    """An OTLP/JSON request."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "tests"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def binary(request: dict[str, Any]) -> bytes:
    """The request as protobuf."""
    message = ExportTraceServiceRequest()
    for sent in request["resourceSpans"]:
        resource = message.resource_spans.add()
        for attribute in sent["resource"]["attributes"]:
            _add(resource.resource.attributes, attribute)
        for scoped in sent["scopeSpans"]:
            scope = resource.scope_spans.add()
            for each in scoped["spans"]:
                one = scope.spans.add()
                one.trace_id = bytes.fromhex(each["traceId"])
                one.span_id = bytes.fromhex(each["spanId"])
                one.name = each["name"]
                one.kind = each["kind"]
                one.start_time_unix_nano = int(each["startTimeUnixNano"])
                one.end_time_unix_nano = int(each["endTimeUnixNano"])
                for attribute in each["attributes"]:
                    _add(one.attributes, attribute)
    return bytes(message.SerializeToString())


def _add(attributes: Any, attribute: dict[str, Any]) -> None:
    one = attributes.add()
    one.key = attribute["key"]
    one.value.string_value = attribute["value"]["stringValue"]
