"""Exports of metrics. Treadle checks and counts them, and stores nothing (decision 0073).

The answer is a success that reports all data points as rejected. Therefore an exporter does not
repeat the export, and continues with its other exports.
"""

from dataclasses import dataclass

from treadle.spans.otlp.json_encoding import parse_documents
from treadle.spans.otlp.json_fields import with_camel_case
from treadle.spans.otlp.protobuf_encoding import MalformedError, malformed, read_fields
from treadle.spans.otlp.span_collector import METRICS, OtlpError

_POINTS = (0x0A,)
_DATA = (0x2A, 0x3A, 0x4A, 0x52, 0x5A)
"""Gauge, Sum, Histogram, ExponentialHistogram and Summary in a Metric."""
_DATA_NAMES = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
_LEVELS = ((0x0A,), (0x12,), (0x12,), _DATA, _POINTS)
"""The tags of the fields from an ExportMetricsServiceRequest down to its data points."""


@dataclass(frozen=True, slots=True)
class DeclinedMetrics:
    """The report about an export of metrics."""

    rejected: int
    """The number of data points."""

    def problems(self) -> str:
        """Return why Treadle does not store the data points. It is empty if there are none."""
        if not self.rejected:
            return ""
        return (
            "Treadle does not store metrics. It computes tokens, costs and durations from spans."
            " Set OTEL_METRICS_EXPORTER=none to stop this export."
        )


def decline_metrics_protobuf(body: bytes) -> DeclinedMetrics:
    """Count the data points of an export. Raises OtlpError if the body is not an export."""
    try:
        return DeclinedMetrics(_points(body, 0, len(body), 0))
    except MalformedError as error:
        raise malformed(METRICS) from error


def _points(body: bytes, start: int, end: int, level: int) -> int:
    if level == len(_LEVELS):
        return 1
    return sum(
        _points(body, begin, stop, level + 1)
        for tag, begin, stop in read_fields(body, start, end)
        if tag in _LEVELS[level]
    )


def decline_metrics_json(body: bytes) -> DeclinedMetrics:
    """Count the data points of an export. Raises OtlpError if the body is not an export."""
    if not body.strip():
        return DeclinedMetrics(0)
    documents, _ = parse_documents(body, None, METRICS)
    exports = [with_camel_case(each) for each in documents if isinstance(each, dict)]
    if not any(METRICS.levels[0] in each or not each for each in exports):
        raise OtlpError(
            f'The body is not an OTLP {METRICS.name} export: it has no "{METRICS.levels[0]}".',
            hint=f'Send an object with "{METRICS.levels[0]}".',
        )
    level: list[object] = list(exports)
    for names in (*((name,) for name in METRICS.levels if "Library" not in name), _DATA_NAMES):
        level = [item for each in level for name in names for item in _items(each, name)]
    return DeclinedMetrics(sum(len(_items(each, "dataPoints")) for each in level))


def _items(sent: object, name: str) -> list[object]:
    """Return the entries of a list, or a single object as a list."""
    found = with_camel_case(sent).get(name) if isinstance(sent, dict) else None
    if isinstance(found, list):
        return found
    return [found] if isinstance(found, dict) else []
