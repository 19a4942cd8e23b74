"""The reading half of the SQLite store."""

import sqlite3
from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Unpack

from treadle.spans.span import Trace
from treadle.traces.query.conditions import Field, GroupBy, Query, Rows
from treadle.traces.query.pages import Page, Part
from treadle.traces.store.reading import (
    facets,
    groups,
    runs,
    searching,
    skeletons,
    spans,
    summaries,
)
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

_EVERYTHING = Query()


class ReadingStore:
    """What is read as a page, a group, a sum or a skeleton; see `protocol.TraceStore`."""

    @abstractmethod
    def reader(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection that sees one state of the file."""

    def spans(
        self,
        query: Query = _EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[ListedSpan]:
        with self.reader() as connection:
            return spans.spans_page(connection, query, **part)

    def runs(
        self,
        query: Query = _EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[RunSummary]:
        with self.reader() as connection:
            return runs.runs_page(connection, query, **part)

    def threads(
        self,
        query: Query = _EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[ThreadSummary]:
        with self.reader() as connection:
            return runs.threads_page(connection, query, **part)

    def search(
        self,
        query: Query,
        **part: Unpack[Part],
    ) -> Page[Hit]:
        with self.reader() as connection:
            return searching.search_page(connection, query, **part)

    def groups(
        self,
        by: GroupBy,
        query: Query = _EVERYTHING,
        *,
        bucket_seconds: int = groups.HOUR_SECONDS,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Group]:
        with self.reader() as connection:
            return groups.groups_page(
                connection, by, query, bucket_seconds=bucket_seconds, limit=limit, offset=offset
            )

    def labels(self, query: Query = _EVERYTHING, *, limit: int = 100) -> LabelCounts:
        with self.reader() as connection:
            return groups.label_counts(connection, query, limit=limit)

    def values(
        self, field: Field, query: Query = _EVERYTHING, *, text: str = "", limit: int = 20
    ) -> FieldValues:
        with self.reader() as connection:
            return facets.value_counts(connection, field, query, text=text, limit=limit)

    def facets(
        self, rows: Rows = Rows.SPANS, query: Query = _EVERYTHING, *, limit: int = 20
    ) -> Facets:
        with self.reader() as connection:
            return facets.facet_counts(connection, rows, query, limit=limit)

    def summary(self, query: Query = _EVERYTHING) -> Summary:
        with self.reader() as connection:
            return summaries.summary(connection, query)

    def run(self, run_id: str) -> Trace:
        with self.reader() as connection:
            return runs.whole_run(connection, run_id)

    def skeleton(self, trace_id: str) -> Skeleton:
        with self.reader() as connection:
            return skeletons.skeleton(connection, trace_id)
