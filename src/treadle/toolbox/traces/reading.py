"""What the tools need of the store of spans."""

from typing import Protocol

from treadle.spans.span import Span
from treadle.traces.store.protocol import SpanReader


class TraceReading(SpanReader, Protocol):
    """Answers about spans; `SqliteTraceStore` is one. All methods block: call them in threads."""

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """The whole span, exactly as it was written; None when there is none."""
        ...
