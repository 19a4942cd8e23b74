"""Finds the recorded call that a person or a program names."""

from typing import Protocol

from treadle.errors import NotFoundError, UsageError
from treadle.experiments.reading import NotRunnableError
from treadle.ids import is_last
from treadle.spans.span import Span, SpanKind, Trace
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import Query
from treadle.traces.query.conditions import Field, any_of
from treadle.traces.store.protocol import SpanReader
from treadle.traces.store.results import ListedSpan

_CALLS_OF_OTHERS = Query((any_of(Field.KIND, [SpanKind.MODEL.value]),)) & OF_OTHERS


class RecordedCalls(SpanReader, Protocol):
    """Recorded spans, read one by one too."""

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """The whole span; None when there is none."""
        ...

    def trace(self, reference: str) -> Trace:
        """The trace with that id, or with an id that begins so, or `last`."""
        ...


def listed_call(traces: SpanReader, reference: str) -> ListedSpan:
    """The span with that id, or TRACE/SPAN, as lists show it; either id may have slashes.

    Raises NotFoundError, UsageError for several.
    """
    found = traces.spans(Query((any_of(Field.SPAN, [reference]),)), limit=2).data
    parts = reference.split("/")
    for place in range(len(parts) - 1, 0, -1):
        if found:
            break
        trace_id, span_id = "/".join(parts[:place]), "/".join(parts[place:])
        query = Query((any_of(Field.SPAN, [span_id]), any_of(Field.TRACE, [trace_id])))
        found = traces.spans(query, limit=2).data
    if not found:
        raise NotFoundError(
            f"There is no span {reference[:100]!r}.", hint="fetch_spans lists spans with their ids."
        )
    if len(found) > 1:
        raise UsageError(
            f"Several traces have a span {reference[:100]!r}.",
            hint="Put the id of its trace before it: TRACE/SPAN.",
        )
    return found[0]


def find_call(traces: RecordedCalls, reference: str) -> Span:
    """The model call that is meant: by SPAN or TRACE/SPAN; of a trace its last one.

    `last` is the newest trace with a model call, whatever the analyst has done since.
    Raises NotFoundError, UsageError, and NotRunnableError for a trace without one.
    """
    try:
        listed = listed_call(traces, reference)
    except NotFoundError:
        if "/" in reference:
            raise
        if is_last(reference):
            newest = traces.spans(_CALLS_OF_OTHERS, limit=1).data
            reference = newest[0].trace_id if newest else reference
        return _last_call(traces.trace(reference))
    span = traces.span(listed.trace_id, listed.span_id)
    if span is None:  # deleted meanwhile
        raise NotFoundError(f"The span {reference[:100]!r} no longer exists.")
    if span.kind is not SpanKind.MODEL:
        below = [s for s in traces.trace(span.trace_id).spans if s.parent_id == span.span_id]
        calls = [s for s in below if s.kind is SpanKind.MODEL]
        # A call that the gateway tried several times is told by a step around its attempts.
        return calls[-1] if span.operation == "gateway" and calls else span
    return span


def _last_call(trace: Trace) -> Span:
    calls = [span for span in trace.spans if span.kind is SpanKind.MODEL]
    if not calls:
        raise NotRunnableError(
            f"The trace {trace.trace_id} has no model call.", hint="Choose another trace."
        )
    return calls[-1]
