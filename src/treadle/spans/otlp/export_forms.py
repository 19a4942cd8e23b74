"""The forms in which exports of spans and log records arrive."""

from collections.abc import Callable
from enum import StrEnum
from functools import partial

from treadle.spans.otlp.json_encoding import decode_json
from treadle.spans.otlp.log_records import decode_log_json, decode_log_protobuf
from treadle.spans.otlp.protobuf_encoding import decode_protobuf
from treadle.spans.raw_span import RawSpan
from treadle.spans.span_batch import SpanBatch


class ExportForm(StrEnum):
    """The signal and the encoding of an export. NATS stores the value with the export."""

    SPANS_JSON = "application/json"
    SPANS_PROTOBUF = "application/x-protobuf"
    LOGS_JSON = "application/json; signal=logs"
    LOGS_PROTOBUF = "application/x-protobuf; signal=logs"

    @property
    def has_spans(self) -> bool:
        """Whether such exports contain spans, and not log records."""
        return self in {ExportForm.SPANS_JSON, ExportForm.SPANS_PROTOBUF}


def export_decoder(form: ExportForm, received_ns: int) -> Callable[[bytes], SpanBatch[RawSpan]]:
    """Return the function that decodes exports of a form.

    `received_ns` becomes the time of log records that have none. If an export is decoded twice with
    the same `received_ns`, both results are equal, and the store keeps each message once.
    """
    match form:
        case ExportForm.SPANS_JSON:
            return decode_json
        case ExportForm.SPANS_PROTOBUF:
            return decode_protobuf
        case ExportForm.LOGS_JSON:
            return partial(decode_log_json, received_ns=received_ns)
        case ExportForm.LOGS_PROTOBUF:
            return partial(decode_log_protobuf, received_ns=received_ns)
