"""Finds the trace, run, thread or span that an id names, and reads the spans of this subject."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, unquote

from treadle.errors import NotFoundError
from treadle.ids import is_last
from treadle.spans.span import Span, SpanReference, Trace
from treadle.traces.query import Field, Query, Sort, any_of
from treadle.traces.store.trace_store import TraceStore

_PAGE = 100


class SubjectKind(StrEnum):
    """The kind of a subject."""

    TRACE = "trace"
    RUN = "run"
    THREAD = "thread"
    SPAN = "span"
    """A span with all spans below it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A trace, a run, a thread or a span, by its whole id.

    The id of a span has the form that `span_subject` returns.
    """

    kind: SubjectKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


def span_subject(reference: SpanReference) -> Subject:
    """Return the subject of a span. Its id is `TRACE/SPAN`, with both ids percent-encoded."""
    return Subject(SubjectKind.SPAN, "/".join(quote(each, safe="") for each in reference))


def find_subject(store: TraceStore, reference: str) -> Subject:
    """Return the subject that `reference` names.

    `reference` is LAST for the trace that started last, a whole id, or a prefix of the id of a
    trace. If a trace, a run and a thread have the same whole id, the trace is returned, or else the
    run. Raises NotFoundError if nothing matches, and UsageError if several traces have the prefix.
    """
    if not is_last(reference):
        if store.spans(Query((any_of(Field.TRACE, [reference]),)), limit=1).data:
            return Subject(SubjectKind.TRACE, reference)
        if store.runs(Query((any_of(Field.RUN, [reference]),)), limit=1).data:
            return Subject(SubjectKind.RUN, reference)
        if store.threads(Query((any_of(Field.THREAD, [reference]),)), limit=1).data:
            return Subject(SubjectKind.THREAD, reference)
        span = span_ids(reference)
        if span is not None and store.span(*span) is not None:
            return span_subject(span)
    return Subject(SubjectKind.TRACE, store.trace(reference).trace_id)


def span_ids(reference: str) -> SpanReference | None:
    """Return the ids in a reference to a span, or None if the reference has another form."""
    trace, slash, span = reference.partition("/")
    if not slash or not trace or not span or "/" in span:
        return None
    return SpanReference(unquote(trace), unquote(span))


def traces_of(store: TraceStore, subject: Subject) -> Iterator[Trace]:
    """Yield the trace, or the run, or each run of the thread in order of time.

    Each run is one `Trace` with the spans of all its traces. For a span, the trace has only the
    span and the spans below it. Raises NotFoundError if the subject does not exist.
    """
    match subject.kind:
        case SubjectKind.TRACE:
            yield store.trace(subject.id)
        case SubjectKind.RUN:
            yield store.run(subject.id)
        case SubjectKind.THREAD:
            yield from _runs_of(store, subject.id)
        case SubjectKind.SPAN:
            yield _part_of_trace(store, subject.id)


def _part_of_trace(store: TraceStore, reference: str) -> Trace:
    ids = span_ids(reference)
    assert ids is not None  # `span_subject` made the id
    trace = store.trace(ids.trace_id)
    below = defaultdict[str | None, list[Span]](list)
    for span in trace.spans:
        below[span.parent_id].append(span)
    kept = {span.span_id: span for span in trace.spans if span.span_id == ids.span_id}
    waiting = list(kept)
    while waiting:
        new = {each.span_id: each for each in below.pop(waiting.pop(), ())}
        waiting += new.keys() - kept.keys()
        kept |= new
    spans = tuple(span for span in trace.spans if span.span_id in kept)
    return Trace(trace.trace_id, spans, trace.same_calls)


def _runs_of(store: TraceStore, thread_id: str) -> Iterator[Trace]:
    query = Query((any_of(Field.THREAD, [thread_id]),))
    cursor: str | None = None
    found = False
    while True:
        page = store.runs(query, sort=Sort(ascending=True), limit=_PAGE, cursor=cursor)
        for run in page.data:
            found = True
            yield store.run(run.run_id)
        cursor = page.pagination.next_cursor
        if cursor is None:
            break
    if not found:
        raise NotFoundError(
            f"There is no thread {thread_id}.", hint="`treadle traces list --threads` lists them."
        )
