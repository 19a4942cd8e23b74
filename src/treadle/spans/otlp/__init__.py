"""OTLP, the protocol of OpenTelemetry: exports of traces as protobuf and as JSON."""

from treadle.spans.otlp.json_decoder import decode_json
from treadle.spans.otlp.protobuf_decoder import decode_protobuf
from treadle.spans.otlp.responses import respond_json, respond_protobuf
from treadle.spans.otlp.span_collector import OtlpError, SpanBatch

__all__ = [
    "OtlpError",
    "SpanBatch",
    "decode_json",
    "decode_protobuf",
    "respond_json",
    "respond_protobuf",
]
