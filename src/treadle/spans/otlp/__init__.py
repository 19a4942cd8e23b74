"""OTLP, the protocol of OpenTelemetry: export requests as protobuf and as JSON."""

from treadle.spans.otlp.export_forms import ExportForm, export_decoder
from treadle.spans.otlp.json_encoding import decode_json, respond_json
from treadle.spans.otlp.log_records import decode_log_json, decode_log_protobuf
from treadle.spans.otlp.metrics import decline_metrics_json, decline_metrics_protobuf
from treadle.spans.otlp.protobuf_encoding import decode_protobuf, respond_protobuf
from treadle.spans.otlp.span_collector import LOGS, METRICS, TRACES, OtlpError, Signal

__all__ = [
    "LOGS",
    "METRICS",
    "TRACES",
    "ExportForm",
    "OtlpError",
    "Signal",
    "decline_metrics_json",
    "decline_metrics_protobuf",
    "decode_json",
    "decode_log_json",
    "decode_log_protobuf",
    "decode_protobuf",
    "export_decoder",
    "respond_json",
    "respond_protobuf",
]
