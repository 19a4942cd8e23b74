"""Evidence: the exact position of a quote in a recorded span."""

from dataclasses import dataclass

from treadle.diagnosis.field_paths import text_at
from treadle.spans.span import Span


@dataclass(frozen=True, slots=True, order=True)
class SpanReference:
    """Which span."""

    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a finding stands.

    `field` is a path such as `output[0].content`, `output.error` (inside a result that is JSON
    text) or `attributes.http.response.status_code`; `places.text_at` reads it. `start` and `end`
    are characters, half open, of that field's decoded text, which hold exactly `quote`.
    """

    span: SpanReference
    field: str
    start: int
    end: int
    quote: str


def holds(evidence: Evidence, span: Span) -> bool:
    """Whether the quote stands in `span` exactly where `evidence` says."""
    if evidence.span != SpanReference(span.trace_id, span.span_id):
        return False
    text = text_at(span, evidence.field)
    inside = text is not None and 0 <= evidence.start <= evidence.end <= len(text)
    return inside and text is not None and text[evidence.start : evidence.end] == evidence.quote
