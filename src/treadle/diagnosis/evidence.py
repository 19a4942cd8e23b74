"""Evidence: the exact position of a quote in a recorded span."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from treadle.diagnosis.field_paths import text_at
from treadle.spans.span import Span

SPAN_LINK = re.compile(r"/traces/([^\s/?#)\]>\"'`]+)\?span=([^\s&#)\]>\"'`]+)")
"""The path of a span on the page, as `spans.page_links.span_link` writes it."""


@dataclass(frozen=True, slots=True, order=True)
class SpanReference:
    """The identity of a span."""

    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The position of a quote in a span.

    `field` is a path such as `output[0].content`, `output.error` (inside a result that is JSON
    text) or `attributes.http.response.status_code`. `field_paths.text_at` reads such paths. `start`
    and `end` are a half-open range of characters of the decoded text of that field. The range
    contains exactly `quote`.
    """

    span: SpanReference
    field: str
    start: int
    end: int
    quote: str


def holds(evidence: Evidence, span: Span) -> bool:
    """Return whether the quote is in `span` at exactly the position of `evidence`."""
    if evidence.span != SpanReference(span.trace_id, span.span_id):
        return False
    text = text_at(span, evidence.field)
    inside = text is not None and 0 <= evidence.start <= evidence.end <= len(text)
    return inside and text is not None and text[evidence.start : evidence.end] == evidence.quote


def linked_spans(text: str) -> list[SpanReference]:
    """The spans to which links in `text` lead, in order. A span may occur several times."""
    return [SpanReference(unquote(trace), unquote(span)) for trace, span in SPAN_LINK.findall(text)]
