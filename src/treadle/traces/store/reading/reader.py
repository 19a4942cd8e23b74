"""The reading half of the SQLite store."""

import sqlite3
from abc import abstractmethod
from contextlib import AbstractContextManager

from treadle.traces.query.conditions import NEWEST, GroupBy, Query, Sort
from treadle.traces.query.pages import Page
from treadle.traces.span import Trace
from treadle.traces.store.reading import groups, runs, searching, skeletons, spans, summaries
from treadle.traces.store.reading.listed import (
    Group,
    LabelCounts,
    ListedSpan,
    RunSummary,
    ThreadSummary,
)
from treadle.traces.store.reading.searching import Hit
from treadle.traces.store.reading.skeletons import Skeleton
from treadle.traces.store.reading.summaries import Summary

_EVERYTHING = Query()


class ReadingStore:
    """What is read as a page, a group, a sum or a skeleton; see `protocol.TraceStore`."""

    @abstractmethod
    def reader(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection that sees one state of the file."""

    def spans(
        self,
        query: Query = _EVERYTHING,
        *,
        sort: Sort = NEWEST,
        limit: int = 50,
        offset: int = 0,
        cursor: str | None = None,
    ) -> Page[ListedSpan]:
        with self.reader() as connection:
            return spans.spans_page(
                connection, query, sort=sort, limit=limit, offset=offset, cursor=cursor
            )

    def runs(
        self,
        query: Query = _EVERYTHING,
        *,
        sort: Sort = NEWEST,
        limit: int = 50,
        offset: int = 0,
        cursor: str | None = None,
    ) -> Page[RunSummary]:
        with self.reader() as connection:
            return runs.runs_page(
                connection, query, sort=sort, limit=limit, offset=offset, cursor=cursor
            )

    def threads(
        self,
        query: Query = _EVERYTHING,
        *,
        sort: Sort = NEWEST,
        limit: int = 50,
        offset: int = 0,
        cursor: str | None = None,
    ) -> Page[ThreadSummary]:
        with self.reader() as connection:
            return runs.threads_page(
                connection, query, sort=sort, limit=limit, offset=offset, cursor=cursor
            )

    def search(
        self,
        query: Query,
        *,
        sort: Sort = NEWEST,
        limit: int = 20,
        offset: int = 0,
        cursor: str | None = None,
    ) -> Page[Hit]:
        with self.reader() as connection:
            return searching.search_page(
                connection, query, sort=sort, limit=limit, offset=offset, cursor=cursor
            )

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

    def summary(self, query: Query = _EVERYTHING) -> Summary:
        with self.reader() as connection:
            return summaries.summary(connection, query)

    def run(self, run_id: str) -> Trace:
        with self.reader() as connection:
            return runs.whole_run(connection, run_id)

    def skeleton(self, trace_id: str) -> Skeleton:
        with self.reader() as connection:
            return skeletons.skeleton(connection, trace_id)
