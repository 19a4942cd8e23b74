"""OTLP, the protocol of OpenTelemetry: exports of traces as protobuf and as JSON."""

from treadle.traces.otlp.answers import respond_json, respond_protobuf
from treadle.traces.otlp.binary import decode_protobuf
from treadle.traces.otlp.building import Decoded, OtlpError
from treadle.traces.otlp.text import decode_json

__all__ = [
    "Decoded",
    "OtlpError",
    "decode_json",
    "decode_protobuf",
    "respond_json",
    "respond_protobuf",
]
