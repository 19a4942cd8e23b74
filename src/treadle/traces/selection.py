"""The rows of a list that a person selected, to label, delete or count them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from treadle.spans.span import SpanReference
from treadle.traces.own_spans import without_own
from treadle.traces.query import Field, Page, Query, Rows, any_of
from treadle.traces.store.results import Deleted, ListedSpan, RunSummary, ThreadSummary
from treadle.traces.store.trace_store import TraceStore
from treadle.traces.subjects import span_ids

_AT_ONCE = 500
MOST_COUNTED = 20_000
"""The maximum number of rows that are counted exactly. Counting more would take seconds."""

Row = RunSummary | ThreadSummary | ListedSpan


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected rows: all rows that match `query`, or, if it is None, the rows with `ids`.

    `ids` are ids of threads or runs, or references to spans in the form `TRACE/SPAN`.
    """

    rows: Rows
    ids: tuple[str, ...] = ()
    query: Query | None = None


@dataclass(frozen=True, slots=True)
class SelectionCount:
    """The number of selected rows, and the numbers of traces and spans that their deletion removes.

    A trace is deleted as a whole, so the deletion of a span includes the other spans of its trace.
    `complete` is false if the selection has more rows than were counted.
    """

    rows: int
    traces: int | None
    """The number of traces. It is None for threads and runs."""
    spans: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Labelled:
    """The number of spans whose own labels changed."""

    spans: int


def count_selection(store: TraceStore, selection: Selection) -> SelectionCount:
    """Count the rows of a selection, and the spans that are deleted with them."""
    rows = spans = 0
    traces: set[str] = set()
    complete = True
    for page in _pages(store, selection):
        if rows >= MOST_COUNTED:
            complete = False
            break
        rows += len(page)
        if selection.rows is Rows.SPANS:
            new = {row.trace_id for row in page if isinstance(row, ListedSpan)} - traces
            traces |= new
            spans += _spans_of(store, new)
        else:
            spans += sum(row.sums.totals.spans for row in page if not isinstance(row, ListedSpan))
    of_spans = selection.rows is Rows.SPANS
    return SelectionCount(rows, len(traces) if of_spans else None, spans, complete)


def label_selection(
    store: TraceStore,
    selection: Selection,
    *,
    add: Sequence[str],
    remove: Sequence[str],
    now_us: int,
) -> Labelled:
    """Add labels to the selected rows, and remove labels from them."""
    changed = 0
    for page in _pages(store, selection):
        threads, runs, spans = _references(page)
        changed += store.label(
            threads=threads, runs=runs, spans=spans, add=add, remove=remove, at_us=now_us
        )
    return Labelled(changed)


def trace_ids(store: TraceStore, selection: Selection) -> list[str]:
    """Return the ids of the traces of the selected spans."""
    found: dict[str, None] = {}
    for page in _pages(store, selection):
        found |= dict.fromkeys(row.trace_id for row in page if isinstance(row, ListedSpan))
    return list(found)


@dataclass(frozen=True, slots=True)
class Deletion:
    """The threads, runs and traces to delete. Rows that match later are not part of it."""

    threads: Sequence[str]
    runs: Sequence[str]
    traces: Sequence[str]

    def apply(self, store: TraceStore) -> Deleted:
        """Permanently delete them."""
        return store.delete(threads=self.threads, runs=self.runs, traces=self.traces)


def delete_selection(store: TraceStore, selection: Selection) -> Deleted:
    """Permanently delete the selected threads or runs, or the traces of the selected spans."""
    return deletion_of(store, selection).apply(store)


def deletion_of(store: TraceStore, selection: Selection) -> Deletion:
    """Return the selected threads or runs, or the traces of the selected spans."""
    threads: list[str] = []
    runs: list[str] = []
    traces: dict[str, None] = {}
    for page in _pages(store, selection):
        some_threads, some_runs, spans = _references(page)
        threads += some_threads
        runs += some_runs
        traces |= dict.fromkeys(trace_id for trace_id, _ in spans)
    return Deletion(threads, runs, list(traces))


def _references(page: Sequence[Row]) -> tuple[list[str], list[str], list[SpanReference]]:
    threads = [row.thread_id for row in page if isinstance(row, ThreadSummary)]
    runs = [row.run_id for row in page if isinstance(row, RunSummary)]
    spans = [
        SpanReference(row.trace_id, row.span_id) for row in page if isinstance(row, ListedSpan)
    ]
    return threads, runs, spans


def _spans_of(store: TraceStore, trace_ids: set[str]) -> int:
    if not trace_ids:
        return 0
    return store.summary(Query((any_of(Field.TRACE, sorted(trace_ids)),))).sums.totals.spans


def _pages(store: TraceStore, selection: Selection) -> Iterator[Sequence[Row]]:
    """Yield the existing rows of a selection page by page."""
    read: Callable[..., Page[Row]] = {
        Rows.THREADS: store.threads,
        Rows.RUNS: store.runs,
        Rows.SPANS: store.spans,
    }[selection.rows]  # type: ignore[assignment]
    if selection.query is not None:
        query = without_own(selection.query)
        cursor: str | None = None
        while True:
            page = read(query, limit=_AT_ONCE, cursor=cursor)
            yield page.data
            cursor = page.pagination.next_cursor
            if cursor is None:
                return
    every = tuple(dict.fromkeys(selection.ids))
    for start in range(0, len(every), _AT_ONCE):
        ids = every[start : start + _AT_ONCE]
        if selection.rows is not Rows.SPANS:
            field = Field.RUN if selection.rows is Rows.RUNS else Field.THREAD
            yield read(Query((any_of(field, ids),)), limit=_AT_ONCE).data
            continue
        spans = {span for each in ids if (span := span_ids(each)) is not None}
        if spans:
            yield _spans(store, spans)


def _spans(store: TraceStore, spans: set[SpanReference]) -> Sequence[ListedSpan]:
    """Return the spans with these ids.

    The query may also match other spans: a trace can have a span with the id of a span that is
    selected in another trace. These spans are left out.
    """
    query = Query(
        (
            any_of(Field.SPAN, sorted({span_id for _, span_id in spans})),
            any_of(Field.TRACE, sorted({trace_id for trace_id, _ in spans})),
        )
    )
    found: list[ListedSpan] = []
    cursor: str | None = None
    while True:
        page = store.spans(query, limit=_AT_ONCE, cursor=cursor)
        found += [row for row in page.data if (row.trace_id, row.span_id) in spans]
        cursor = page.pagination.next_cursor
        if cursor is None:
            return found
