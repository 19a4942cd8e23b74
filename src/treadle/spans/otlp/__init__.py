"""OTLP, the protocol of OpenTelemetry: export requests of traces as protobuf and as JSON."""

from treadle.spans.otlp.json_encoding import decode_json, respond_json
from treadle.spans.otlp.protobuf_encoding import decode_protobuf, respond_protobuf
from treadle.spans.otlp.span_collector import OtlpError

__all__ = [
    "OtlpError",
    "decode_json",
    "decode_protobuf",
    "respond_json",
    "respond_protobuf",
]
