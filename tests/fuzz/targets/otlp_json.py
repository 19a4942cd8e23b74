"""Exports of traces in OTLP/JSON."""

from tests.fuzz.spans import check_whole
from tests.spans.otlp.exports import START, as_json, request, span
from treadle.spans.otlp import OtlpError, decode_json, respond_json
from treadle.spans.vocabularies.mapper import map_spans

REFUSALS = (OtlpError,)

_VALUES = {
    "text": "é😀",
    "whole": -3,
    "number": 0.5,
    "truth": True,
    "bytes": b"\x00\xff",
    "list": ["a", None, [1]],
    "map": {"in": {"deep": 1}},
    "gen_ai.operation.name": "chat",
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]',
}
REQUESTS = (
    request(),
    request(span()),
    request(
        span(attributes=_VALUES, status={"code": 2, "message": "broken"}),
        span(
            parentSpanId="00f067aa0ba902b7",
            events=[{"name": "exception", "timeUnixNano": str(START)}],
            links=[{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331"}],
            droppedAttributesCount=1,
        ),
        resource={"service.name": "tests"},
        scope={"name": "openinference.instrumentation.openai", "version": "1"},
    ),
)
SEEDS = tuple(as_json(sent) for sent in REQUESTS)
WORDS = (
    *(b'"resourceSpans":', b'"scopeSpans":', b'"spans":', b'"resource":', b'"scope":'),
    *(b'"resource_spans":', b'"traceId":', b'"spanId":', b'"parentSpanId":', b'"name":'),
    *(b'"startTimeUnixNano":', b'"endTimeUnixNano":', b'"attributes":', b'"status":', b'"code":'),
    *(b'"events":', b'"links":', b'"key":', b'"value":', b'"stringValue":', b'"intValue":'),
    *(b'"doubleValue":', b'"bytesValue":', b'"arrayValue":', b'"kvlistValue":', b'"values":'),
    *(b"Infinity", b"NaN", b"null", b"true", b"1e999"),
)


def parse(data: bytes) -> None:
    decoded = decode_json(data)
    check_whole(map_spans(decoded).spans)
    respond_json(decoded)
