"""What a store of spans promises, whatever engine keeps it. Its contract tests hold each engine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Unpack

from treadle.spans.span import Span, Trace
from treadle.spans.span_writer import SpanWriter
from treadle.traces.query.conditions import Field, GroupBy, Query, Rows
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

EVERYTHING = Query()
"""A question that every span answers."""


@dataclass(frozen=True, slots=True)
class SpanChange:
    """A span that was written: its `revision` at that time, and whether it has ended."""

    trace_id: str
    span_id: str
    revision: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """What was written since a revision, oldest first, each span once, as it is now.

    `newest` is the revision to ask with next; `more` says that there is more at once.
    """

    newest: int
    spans: tuple[SpanChange, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted, or would be. `bytes` is about how much that held in the store."""

    spans: int
    traces: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Held:
    """A part of a store, or all of it. `bytes` is about how much it holds; times are of its traces.

    `runs` counts those that have a trace in it.
    """

    spans: int
    traces: int
    runs: int
    bytes: int
    oldest_us: int | None
    newest_us: int | None


@dataclass(frozen=True, slots=True)
class Blob:
    """A large value or an attachment, kept once however often it is used."""

    media_type: str | None
    data: bytes


class SpanReader(Protocol):
    """What answers questions about spans. Everything raises StoreError when it takes too long.

    `Part` says which part of a list is asked for. A cursor of another question is a UsageError.
    """

    def spans(
        self,
        query: Query = EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[ListedSpan]:
        """The spans that meet all conditions."""
        ...

    def runs(
        self,
        query: Query = EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[RunSummary]:
        """The runs that meet all conditions, each with the sums of its traces."""
        ...

    def threads(
        self,
        query: Query = EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[ThreadSummary]:
        """The threads that meet all conditions, each with the sums of its runs."""
        ...

    def search(
        self,
        query: Query,
        **part: Unpack[Part],
    ) -> Page[Hit]:
        """The spans whose text holds what the query looks for, and where."""
        ...

    def groups(
        self,
        by: GroupBy,
        query: Query = EVERYTHING,
        *,
        bucket_seconds: int = 3600,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Group]:
        """Sums by time, model, thread, run, label or operation."""
        ...

    def labels(self, query: Query = EVERYTHING, *, limit: int = 100) -> LabelCounts:
        """The labels of the spans that meet all conditions, the most frequent first."""
        ...

    def values(
        self, field: Field, query: Query = EVERYTHING, *, text: str = "", limit: int = 20
    ) -> FieldValues:
        """The values of a field that hold `text`, and how many spans that fit have each.

        Raises UsageError for a field whose values are not counted.
        """
        ...

    def facets(
        self, rows: Rows = Rows.SPANS, query: Query = EVERYTHING, *, limit: int = 20
    ) -> Facets:
        """The values of each facet of a list, each counted without the conditions on itself."""
        ...

    def summary(self, query: Query = EVERYTHING) -> Summary:
        """All figures about the spans that meet all conditions."""
        ...

    def examinations(
        self, query: Query = EVERYTHING, *, examiners: Sequence[SpanExaminer]
    ) -> Examinations:
        """What the examiners found in the spans that match."""
        ...

    def run(self, run_id: str) -> Trace:
        """All spans of a run, whole, of all its traces; `trace_id` is that of its root.

        Raises NotFoundError when there is none.
        """
        ...

    def skeleton(self, trace_id: str) -> Skeleton:
        """All spans of a trace as columns, without contents."""
        ...


class TraceStore(SpanWriter, SpanReader, Protocol):
    """Spans, kept for good and read at once. All methods may be called from any thread.

    Spans may be written in any order and any number of times, finished or not: of two versions of
    a span the more complete one is kept (`span.more_complete`), and everything that is read is the
    same as if only those had been written. Reading raises StoreError when it fails or takes too
    long.
    """

    def close(self) -> None:
        """Write what waits, then end. May be called twice."""
        ...

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """The whole span, exactly as it was written; None when there is none."""
        ...

    def trace(self, reference: str) -> Trace:
        """The trace with that id, with an id that begins so, or the one that started last (`last`).

        A UUID may be written with dashes. Raises NotFoundError when there is none, UsageError when
        several begin so.
        """
        ...

    def examine(self, examiners: Sequence[SpanExaminer], *, most: int | None = None) -> int:
        """Examine new spans, at most so many. Returns how many were examined; 0: none is left.

        `examinations` does it first, within bounds, so callers need not.
        """
        ...

    def changes(self, after: int | None, *, limit: int = 1000) -> Changes:
        """What was written after that revision, by any process; with None only the newest one."""
        ...

    def on_commit(self, listener: Callable[[int], None]) -> None:
        """Call `listener` with the newest revision whenever this store wrote something.

        It is called by the writer, so it must not block.
        """
        ...

    def delete(
        self,
        *,
        threads: Sequence[str] = (),
        runs: Sequence[str] = (),
        traces: Sequence[str] = (),
    ) -> Deleted:
        """Delete all spans of these for good: contents, attachments, search text and sums.

        Afterwards the bytes are no longer in the store's files. Unknown ids are no error.
        """
        ...

    def prune(
        self,
        *,
        before_us: int | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
    ) -> Deleted:
        """Delete the traces that ended before a moment, then the oldest until the rest fits.

        `before_us` is in Unix microseconds; `max_bytes` is the size of the store's files.
        `dry_run` only says what would go.
        """
        ...

    def blob(self, hash_hex: str) -> Blob | None:
        """The blob whose BLAKE2b-256 is that; None when there is none."""
        ...

    def redactions(self) -> Mapping[str, int]:
        """How many secrets of each kind were taken out of what was written."""
        ...
