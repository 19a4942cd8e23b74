"""Streams the complete spans that a query matches."""

from collections.abc import Iterator

from treadle.spans.span import Span
from treadle.traces import TraceStore
from treadle.traces.query import Query, Sort

_PAGE = 200


def whole_spans(store: TraceStore, query: Query, *, newest_first: bool = False) -> Iterator[Span]:
    """Yield every matching span in order of time. The store reads one page at a time."""
    sort = Sort(ascending=not newest_first)
    cursor: str | None = None
    while True:
        page = store.spans(query, sort=sort, limit=_PAGE, cursor=cursor)
        for listed in page.data:
            span = store.span(listed.trace_id, listed.span_id)
            if span is not None:  # None if the span was deleted in the meantime
                yield span
        cursor = page.pagination.next_cursor
        if cursor is None:
            return
