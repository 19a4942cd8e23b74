"""What the tools need of the store of spans."""

from collections.abc import Sequence
from typing import Protocol

from treadle.diagnosis.detectors import Rule
from treadle.spans.span import Span
from treadle.traces.query import Query
from treadle.traces.store.findings import Findings
from treadle.traces.store.protocol import SpanReader


class TraceReading(SpanReader, Protocol):
    """Answers about spans; `SqliteTraceStore` is one. All methods block: call them in threads."""

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """The whole span, exactly as it was written; None when there is none."""
        ...

    def findings(
        self, query: Query, *, rules: Sequence[Rule] = (), limit: int | None = None
    ) -> Findings:
        """The faults of the spans that fit, by time; each at its first occurrence among them."""
        ...
