"""Limits records to one repository: its label, and a reader of the spans with that label."""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from treadle.errors import NotFoundError
from treadle.repository_identity import identity
from treadle.spans.span import REPOSITORY_LABEL, Span, Trace
from treadle.traces.query.conditions import Field, GroupBy, Query, Rows, any_of

if TYPE_CHECKING:
    from treadle.experiments.recorded_calls import RecordedCalls
    from treadle.toolbox.traces import TraceReader
    from treadle.traces.query.pages import Page, Part
    from treadle.traces.store.examinations import Examinations, SpanExaminer
    from treadle.traces.store.results import (
        Facets,
        FieldValues,
        Group,
        Hit,
        LabelCounts,
        ListedSpan,
        RunSummary,
        Skeleton,
        Summary,
        ThreadSummary,
    )

    class Recorded(TraceReader, RecordedCalls, Protocol):
        """The reader that the tools for traces and experiments use."""


_EVERYTHING = Query()
_NO_REPOSITORY = f"{REPOSITORY_LABEL}unknown"
"""A label that no span has."""


def repository_label(root: Path, *, create: bool = True) -> str | None:
    """The label of the records of the repository at `root`.

    With `create`, a repository without an id gets an id. Returns None if the repository cannot be
    identified. Its records then do not belong to a repository.
    """
    try:
        found = identity(root, create=create)
    except OSError:
        return None
    if found is None:
        return None
    return REPOSITORY_LABEL + blake2b(found.encode(), digest_size=8).hexdigest()


def records_of(root: Path) -> Query:
    """The query of all records of the repository at `root`. It does not create an id."""
    return _labelled(repository_label(root, create=False))


def _labelled(label: str | None) -> Query:
    """The query of the spans with `label`. A label of None matches no span."""
    return Query((any_of(Field.LABEL, [label or _NO_REPOSITORY]),))


class OfRepository:
    """Reads only the spans with the label of one repository."""

    def __init__(self, reader: "Recorded", label: str | None) -> None:
        """Without a `label`, the reader finds nothing."""
        self._reader = reader
        self._only = _labelled(label)

    def spans(self, query: Query = _EVERYTHING, **part: Unpack["Part"]) -> "Page[ListedSpan]":
        """See `SpanReader`."""
        return self._reader.spans(query & self._only, **part)

    def runs(self, query: Query = _EVERYTHING, **part: Unpack["Part"]) -> "Page[RunSummary]":
        """See `SpanReader`."""
        return self._reader.runs(query & self._only, **part)

    def threads(self, query: Query = _EVERYTHING, **part: Unpack["Part"]) -> "Page[ThreadSummary]":
        """See `SpanReader`."""
        return self._reader.threads(query & self._only, **part)

    def search(self, query: Query, **part: Unpack["Part"]) -> "Page[Hit]":
        """See `SpanReader`."""
        return self._reader.search(query & self._only, **part)

    def groups(self, by: GroupBy, query: Query = _EVERYTHING, **bounds: Any) -> "Page[Group]":
        """See `SpanReader`."""
        return self._reader.groups(by, query & self._only, **bounds)

    def labels(self, query: Query = _EVERYTHING, *, limit: int = 100) -> "LabelCounts":
        """See `SpanReader`."""
        return self._reader.labels(query & self._only, limit=limit)

    def values(
        self, field: Field, query: Query = _EVERYTHING, *, text: str = "", limit: int = 20
    ) -> "FieldValues":
        """See `SpanReader`."""
        return self._reader.values(field, query & self._only, text=text, limit=limit)

    def facets(
        self, rows: Rows = Rows.SPANS, query: Query = _EVERYTHING, *, limit: int = 20
    ) -> "Facets":
        """See `SpanReader`."""
        return self._reader.facets(rows, query & self._only, limit=limit)

    def summary(self, query: Query = _EVERYTHING) -> "Summary":
        """See `SpanReader`."""
        return self._reader.summary(query & self._only)

    def examinations(
        self, query: Query = _EVERYTHING, *, examiners: Sequence["SpanExaminer"]
    ) -> "Examinations":
        """See `SpanReader`."""
        return self._reader.examinations(query & self._only, examiners=examiners)

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """See `TraceReader`. Also returns None for a span of another repository."""
        named = (any_of(Field.TRACE, [trace_id]), any_of(Field.SPAN, [span_id]))
        found = self.spans(Query(named), limit=1).data
        return self._reader.span(trace_id, span_id) if found else None

    def run(self, run_id: str) -> Trace:
        """See `SpanReader`. Leaves out spans of other repositories."""
        found = self._reader.run(run_id)
        spans = tuple(span for span in found.spans if self._is_own(span))
        if not spans:
            raise NotFoundError(f"This repository has no run {run_id!r}.")
        return Trace(found.trace_id, spans)

    def trace(self, reference: str) -> Trace:
        """See `RecordedCalls`. Leaves out spans of other repositories."""
        found = self._reader.trace(reference)
        spans = tuple(span for span in found.spans if self._is_own(span))
        if not spans:
            raise NotFoundError(f"This repository has no trace {reference[:100]!r}.")
        return Trace(found.trace_id, spans)

    def _is_own(self, span: Span) -> bool:
        (label,) = self._only.conditions[0].values
        return label in span.labels

    def skeleton(self, trace_id: str) -> "Skeleton":
        """See `SpanReader`. Accepts only a trace whose spans all belong to this repository."""
        named = Query((any_of(Field.TRACE, [trace_id]),))
        found = self._reader.skeleton(trace_id)
        if self.spans(named, limit=1).pagination.total != len(found.columns.span_ids):
            raise NotFoundError(f"This repository has no trace {trace_id!r}.")
        return found
