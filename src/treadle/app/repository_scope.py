"""Limits records to one repository.

Every span that Treadle records in a repository has the label of that repository. The module
computes the label, and reads only the spans with that label.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from treadle.errors import NotFoundError
from treadle.repository_identity import identity
from treadle.spans.span import REPOSITORY_LABEL, Span, Trace
from treadle.traces.query.conditions import AnyField, Field, Grouping, Query, Rows, any_of

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
        RunTotals,
        ThreadSummary,
    )
    from treadle.traces.store.skeleton import Skeleton
    from treadle.traces.store.summary import Summary

    class Recorded(TraceReader, RecordedCalls, Protocol):
        """The methods of a reader that the tools for traces and experiments use."""


_EVERYTHING = Query()
_NO_REPOSITORY = f"{REPOSITORY_LABEL}unknown"
"""A label that no span has."""


def repository_label(root: Path, *, create: bool = True) -> str | None:
    """Return the label for records of the repository at `root`.

    With `create`, a repository without an id gets one. Returns None if the repository cannot be
    identified. The records of such a repository get no label.
    """
    try:
        found = identity(root, create=create)
    except OSError:
        return None
    if found is None:
        return None
    return REPOSITORY_LABEL + blake2b(found.encode(), digest_size=8).hexdigest()


def records_of(root: Path) -> Query:
    """Return a query for all records of the repository at `root`, without creating an id."""
    return _labelled(repository_label(root, create=False))


def _labelled(label: str | None) -> Query:
    """Return a query for the spans with `label`. If `label` is None, no span matches."""
    return Query((any_of(Field.LABEL, [label or _NO_REPOSITORY]),))


class OfRepository:
    """Wraps a reader so that it reads only spans with the label of one repository."""

    def __init__(self, reader: "Recorded", label: str | None) -> None:
        """Wrap `reader`. If `label` is None, no span is found."""
        self._reader = reader
        self._only = _labelled(label)

    def spans(self, query: Query = _EVERYTHING, **part: Unpack["Part"]) -> "Page[ListedSpan]":
        """Return spans of this repository, as `SpanReader` describes."""
        return self._reader.spans(query & self._only, **part)

    def runs(self, query: Query = _EVERYTHING, **part: Unpack["Part"]) -> "Page[RunSummary]":
        """Return runs of this repository, as `SpanReader` describes."""
        return self._reader.runs(query & self._only, **part)

    def threads(self, query: Query = _EVERYTHING, **part: Unpack["Part"]) -> "Page[ThreadSummary]":
        """Return threads of this repository, as `SpanReader` describes."""
        return self._reader.threads(query & self._only, **part)

    def search(self, query: Query, **part: Unpack["Part"]) -> "Page[Hit]":
        """Search the spans of this repository, as `SpanReader` describes."""
        return self._reader.search(query & self._only, **part)

    def groups(self, by: Grouping, query: Query = _EVERYTHING, **bounds: Any) -> "Page[Group]":
        """Return groups of spans of this repository, as `SpanReader` describes."""
        return self._reader.groups(by, query & self._only, **bounds)

    def run_totals(self, query: Query = _EVERYTHING) -> "RunTotals":
        """Return the totals of runs of this repository, as `SpanReader` describes."""
        return self._reader.run_totals(query & self._only)

    def labels(self, query: Query = _EVERYTHING, *, limit: int = 100) -> "LabelCounts":
        """Return labels of this repository, as `SpanReader` describes."""
        return self._reader.labels(query & self._only, limit=limit)

    def values(
        self, field: AnyField, query: Query = _EVERYTHING, *, text: str = "", limit: int = 20
    ) -> "FieldValues":
        """Return values of a field in this repository, as `SpanReader` describes."""
        return self._reader.values(field, query & self._only, text=text, limit=limit)

    def facets(
        self, rows: Rows = Rows.SPANS, query: Query = _EVERYTHING, *, limit: int = 20
    ) -> "Facets":
        """Return the facets of this repository, as `SpanReader` describes."""
        return self._reader.facets(rows, query & self._only, limit=limit)

    def summary(self, query: Query = _EVERYTHING) -> "Summary":
        """Return a summary of this repository, as `SpanReader` describes."""
        return self._reader.summary(query & self._only)

    def examinations(
        self, query: Query = _EVERYTHING, *, examiners: Sequence["SpanExaminer"]
    ) -> "Examinations":
        """Return examinations of this repository's spans, as `SpanReader` describes."""
        return self._reader.examinations(query & self._only, examiners=examiners)

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """Return a span, or None if this repository does not have it."""
        named = (any_of(Field.TRACE, [trace_id]), any_of(Field.SPAN, [span_id]))
        found = self.spans(Query(named), limit=1).data
        return self._reader.span(trace_id, span_id) if found else None

    def run(self, run_id: str) -> Trace:
        """Return a run without the spans of other repositories.

        Raises NotFoundError if no span remains.
        """
        found = self._reader.run(run_id)
        spans = tuple(span for span in found.spans if self._is_own(span))
        if not spans:
            raise NotFoundError(f"This repository has no run {run_id!r}.")
        return replace(found, spans=spans)

    def trace(self, reference: str) -> Trace:
        """Return a trace without the spans of other repositories.

        Raises NotFoundError if no span remains.
        """
        found = self._reader.trace(reference)
        spans = tuple(span for span in found.spans if self._is_own(span))
        if not spans:
            raise NotFoundError(f"This repository has no trace {reference[:100]!r}.")
        return replace(found, spans=spans)

    def _is_own(self, span: Span) -> bool:
        (label,) = self._only.conditions[0].values
        return label in span.labels

    def skeleton(self, trace_id: str) -> "Skeleton":
        """Return the skeleton of a trace.

        A skeleton contains all spans without their content. Raises NotFoundError unless all spans
        of the trace belong to this repository.
        """
        named = Query((any_of(Field.TRACE, [trace_id]),))
        found = self._reader.skeleton(trace_id)
        if self.spans(named, limit=1).pagination.total != len(found.columns.span_ids):
            raise NotFoundError(f"This repository has no trace {trace_id!r}.")
        return found
