"""The interface that answers queries about spans."""

from collections.abc import Sequence
from typing import Protocol, Unpack

from treadle.spans.span import Trace
from treadle.traces.query.conditions import AnyField, Grouping, GroupSort, Query, Rows
from treadle.traces.query.pages import Page, Part
from treadle.traces.store.examinations import Examinations, SpanExaminer
from treadle.traces.store.results import (
    DurationsOf,
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

EVERYTHING = Query()
"""The query that every span matches."""

NO_TRACES = "There are no traces."
"""The message for an empty or missing store."""


class SpanReader(Protocol):
    """Answers queries about spans. Each method raises StoreError if reading takes too long.

    `Part` selects a page of a list. A cursor from another query raises UsageError.
    """

    def spans(
        self,
        query: Query = EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[ListedSpan]:
        """Return the spans that meet all conditions."""
        ...

    def runs(
        self,
        query: Query = EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[RunSummary]:
        """Return the runs that meet all conditions, each with the sums of its traces."""
        ...

    def threads(
        self,
        query: Query = EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[ThreadSummary]:
        """Return the threads that meet all conditions, each with the sums of its runs."""
        ...

    def search(
        self,
        query: Query,
        **part: Unpack[Part],
    ) -> Page[Hit]:
        """Return the spans whose text matches the query, with excerpts."""
        ...

    def groups(
        self,
        by: Grouping,
        query: Query = EVERYTHING,
        *,
        sort: GroupSort | None = None,
        ascending: bool = False,
        bucket_seconds: int = 3600,
        figures: bool = False,
        durations_of: DurationsOf | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Group]:
        """Return sums by time, model, thread, run, label, operation or property.

        `figures` adds the number of runs and percentiles of durations. `durations_of` sets what the
        durations measure. The default depends on `by`, as `Group` describes.
        """
        ...

    def run_totals(self, query: Query = EVERYTHING) -> RunTotals:
        """Return the totals of all matching runs."""
        ...

    def labels(self, query: Query = EVERYTHING, *, limit: int = 100) -> LabelCounts:
        """Return the labels of the spans that meet all conditions, the most frequent first."""
        ...

    def values(
        self, field: AnyField, query: Query = EVERYTHING, *, text: str = "", limit: int = 20
    ) -> FieldValues:
        """Return a field's values that contain `text`, each with its number of spans.

        Raises UsageError for a field whose values are not counted.

        """
        ...

    def facets(
        self, rows: Rows = Rows.SPANS, query: Query = EVERYTHING, *, limit: int = 20
    ) -> Facets:
        """Return the values of each facet of a list, with their counts.

        A facet is counted without the conditions on its own field.
        """
        ...

    def summary(self, query: Query = EVERYTHING) -> Summary:
        """Return counts, sums and percentiles of the spans that meet all conditions."""
        ...

    def examinations(
        self, query: Query = EVERYTHING, *, examiners: Sequence[SpanExaminer]
    ) -> Examinations:
        """Return the results of the examiners for the matching spans."""
        ...

    def run(self, run_id: str) -> Trace:
        """Return the complete spans of all traces of a run.

        `trace_id` of the result is the trace that contains the root of the run. Raises
        NotFoundError if the run does not exist.
        """
        ...

    def skeleton(self, trace_id: str) -> Skeleton:
        """Return all spans of a trace as columns, without contents."""
        ...
