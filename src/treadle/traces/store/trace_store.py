"""The store of spans in a SQLite file or in PostgreSQL.

One thread commits waiting spans in groups. Each reader has a deadline. A version of a span that is
less complete than the stored one changes nothing, so spans may arrive in any order and repeatedly.
Several processes may use one file at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Self, Unpack

from treadle.database import Connection, Database, StoreAddress, open_database
from treadle.errors import NotFoundError
from treadle.ids import is_last, resolve_prefix
from treadle.spans.span import SameCall, Span, SpanReference, Trace
from treadle.spans.span_writer import NOTHING_REDACTED
from treadle.traces.query.conditions import (
    AnyField,
    Condition,
    Field,
    Grouping,
    GroupSort,
    MetadataKey,
    Operator,
    Query,
    Rows,
)
from treadle.traces.query.pages import Page, Part
from treadle.traces.store import (
    blobs,
    connections,
    contents,
    deletion,
    same_calls,
)
from treadle.traces.store.deletion import Deleter
from treadle.traces.store.examination_writer import ExaminationWriter
from treadle.traces.store.examinations import Examinations, SpanExaminer
from treadle.traces.store.labelling import Labeller
from treadle.traces.store.migrations import SCHEMA
from treadle.traces.store.outage import SYSTEM_TIMING, Timing
from treadle.traces.store.queries import (
    examinations,
    facets,
    group_rows,
    groups,
    run_pages,
    run_totals,
    skeletons,
    span_pages,
    summaries,
)
from treadle.traces.store.results import (
    Blob,
    Changes,
    Deleted,
    DurationsOf,
    Facets,
    FieldValues,
    Group,
    HeldTraces,
    Hit,
    LabelCounts,
    ListedSpan,
    RunSummary,
    RunTotals,
    SpanChange,
    ThreadSummary,
)
from treadle.traces.store.revisions import newest_revision
from treadle.traces.store.skeleton import Skeleton
from treadle.traces.store.span_reader import EVERYTHING, SpanReader
from treadle.traces.store.statements import packed, unpacked
from treadle.traces.store.summary import Summary
from treadle.traces.store.writer_thread import Writer
from treadle.traces.tool_stats import END_OF_TIME, ToolStats, tool_stats

_EXAMINED_FIRST = 2_000
"""The maximum number of new spans that one query examines, so that queries stay fast."""

_RECENT = "SELECT trace_id FROM traces ORDER BY start_us DESC, id DESC LIMIT ?"
_BEGINNING = """
    SELECT trace_id FROM traces WHERE trace_id >= ?1 AND trace_id < ?1 || char(0x10FFFF)
    ORDER BY trace_id LIMIT ?2"""
_CHANGES = """
    SELECT trace_id, span_id, revision, status != 'unfinished'
    FROM spans JOIN traces ON traces.id = spans.trace
    WHERE revision > ? ORDER BY revision LIMIT ?"""


class TraceStore(SpanReader):
    """Stores spans in a SQLite file or in PostgreSQL. Written spans are readable at once.

    Any operating-system thread may use the store. The store keeps the more complete one of two
    versions of a span (`span.more_complete`). Answers do not depend on discarded versions. Methods
    that read raise StoreError if they fail or take too long. `SpanReader` documents the methods
    that answer queries.
    """

    def __init__(
        self, database: Database, read_seconds: float, timing: Timing = SYSTEM_TIMING
    ) -> None:
        """Create a store for a file that is already prepared. `open` prepares the file."""
        self.folder = database.folder
        self._database = database
        self._writer = Writer(database, timing)
        self._deleter = Deleter(database, self._writer)
        self._labeller = Labeller(self._writer)
        self._readers = connections.Readers(database, read_seconds)
        self._examinations = ExaminationWriter(database, self.reader, self._writer)

    @classmethod
    def open(
        cls,
        address: StoreAddress,
        *,
        read_seconds: float = 10.0,
        timing: Timing = SYSTEM_TIMING,
    ) -> Self:
        """Open the store at `address`. Creates or upgrades its tables if necessary.

        A query that takes more than `read_seconds` is cancelled. The writer waits for a lost server
        with `timing`. Raises StoreError when the store
        cannot be used.
        """
        with open_database(address, SCHEMA).open() as database:
            return cls(database, read_seconds, timing)

    def write(
        self, spans: Sequence[Span], *, redacted: Mapping[str, int] = NOTHING_REDACTED
    ) -> Future[None]:
        """Queue spans for writing. The future is done when the spans are on disk.

        The future's exception is a StoreError if the spans could not be stored, and a
        StoreBusyError if the queue is full. If PostgreSQL is away, the writer tries to reach it for
        30 seconds before it fails the request.
        """
        return self._writer.write(spans, redacted)

    def close(self) -> None:
        """Write the waiting spans, then end the writer. A second call does nothing."""
        self._writer.close()
        self._readers.close()

    def size(self) -> int:
        """Return the bytes of the store on disk."""
        return self._database.size()

    def reader(self) -> AbstractContextManager[Connection]:
        """Return a connection that sees one state of the file, for functions of `store.queries`.

        A query is cancelled after `read_seconds`. Any failure becomes a StoreError.
        """
        return self._readers.reader()

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """Return the complete span, exactly as it was written, or None if it does not exist."""
        with self.reader() as connection:
            return contents.span(connection, trace_id, span_id)

    def trace(self, reference: str) -> Trace:
        """Return the trace with an id or a prefix of an id.

        `last` means the trace that started last. A UUID may contain dashes. Raises NotFoundError if
        no trace matches, UsageError if several match, and StoreError if reading fails or takes too
        long.
        """
        with self.reader() as connection:
            trace_id = _resolve(connection, reference)
            spans = tuple(contents.spans(connection, trace_id))
            return Trace(trace_id, spans, same_calls.same_calls_of(connection, trace_id))

    def whole_trace_ids(self, query: Query) -> Query:
        """Return the query with whole ids of traces where a condition has a prefix of one.

        The references are those of `trace`. A reference that no trace matches stays as it is, so
        the query finds nothing for it. Raises UsageError if several traces match a reference.
        """
        if not any(map(_names_traces, query.conditions)):
            return query
        with self.reader() as connection:
            return Query(
                tuple(
                    replace(each, values=tuple(_known(connection, str(v)) for v in each.values))
                    if _names_traces(each)
                    else each
                    for each in query.conditions
                )
            )

    def same_call(self, trace_id: str, span_id: str) -> SameCall | None:
        """Return the other record of the same call, or None if there is none."""
        with self.reader() as connection:
            return same_calls.same_calls_of(connection, trace_id, span_id).get(span_id)

    def spans(
        self,
        query: Query = EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[ListedSpan]:
        with self.reader() as connection:
            return span_pages.spans_page(connection, query, **part)

    def runs(
        self,
        query: Query = EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[RunSummary]:
        with self.reader() as connection:
            return run_pages.runs_page(connection, query, **part)

    def threads(
        self,
        query: Query = EVERYTHING,
        **part: Unpack[Part],
    ) -> Page[ThreadSummary]:
        with self.reader() as connection:
            return run_pages.threads_page(connection, query, **part)

    def search(
        self,
        query: Query,
        **part: Unpack[Part],
    ) -> Page[Hit]:
        with self.reader() as connection:
            return span_pages.search_page(connection, query, **part)

    def groups(
        self,
        by: Grouping,
        query: Query = EVERYTHING,
        *,
        sort: GroupSort | None = None,
        ascending: bool = False,
        bucket_seconds: int = group_rows.HOUR_SECONDS,
        figures: bool = False,
        durations_of: DurationsOf | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Group]:
        with self.reader() as connection:
            return groups.groups_page(
                connection,
                by,
                query,
                sort=sort,
                ascending=ascending,
                bucket_seconds=bucket_seconds,
                figures=figures,
                durations_of=durations_of,
                limit=limit,
                offset=offset,
            )

    def run_totals(self, query: Query = EVERYTHING) -> RunTotals:
        with self.reader() as connection:
            return run_totals.run_totals(connection, query)

    def uncounted_use(self, query: Query) -> tuple[int, float]:
        """Return the tokens and the cost of matching calls whose record in another trace counts.

        `spans.same_calls` finds these records.
        """
        with self.reader() as connection:
            return groups.uncounted_use(connection, query)

    def labels(self, query: Query = EVERYTHING, *, limit: int = 100) -> LabelCounts:
        with self.reader() as connection:
            return groups.label_counts(connection, query, limit=limit)

    def values(
        self, field: AnyField, query: Query = EVERYTHING, *, text: str = "", limit: int = 20
    ) -> FieldValues:
        with self.reader() as connection:
            return facets.value_counts(connection, field, query, text=text, limit=limit)

    def facets(
        self, rows: Rows = Rows.SPANS, query: Query = EVERYTHING, *, limit: int = 20
    ) -> Facets:
        with self.reader() as connection:
            return facets.facet_counts(connection, rows, query, limit=limit)

    def metadata_keys(self, *, limit: int) -> tuple[MetadataKey, ...]:
        """Return the keys of the metadata, the most used first."""
        with self.reader() as connection:
            return facets.metadata_keys(connection, limit=limit)

    def summary(self, query: Query = EVERYTHING) -> Summary:
        with self.reader() as connection:
            return summaries.summary(connection, query)

    def run(self, run_id: str) -> Trace:
        with self.reader() as connection:
            return run_pages.whole_run(connection, run_id)

    def skeleton(self, trace_id: str) -> Skeleton:
        with self.reader() as connection:
            return skeletons.skeleton(connection, trace_id)

    def tool_stats(self, *, since_us: int = 0, until_us: int = END_OF_TIME) -> list[ToolStats]:
        """Return the statistics of the calls of each tool from `since_us` to before `until_us`."""
        with self.reader() as connection:
            return tool_stats(connection, since_us, until_us)

    def examine(self, examiners: Sequence[SpanExaminer], *, most: int | None = None) -> int:
        """Examine up to `most` new spans. Returns the number of examined spans, 0 if none is left.

        Spans that were examined by examiners with other digests are examined again.
        """
        return self._examinations.catch_up(examiners, most=most)

    def examinations(
        self, query: Query = EVERYTHING, *, examiners: Sequence[SpanExaminer]
    ) -> Examinations:
        """Return the results of the examiners for the matching spans."""
        self.examine(examiners, most=_EXAMINED_FIRST)
        with self.reader() as connection:
            return examinations.examinations(connection, query, examiners)

    def changes(self, after: int | None, *, limit: int = 1000) -> Changes:
        """Return the changes that any process made after a revision.

        If `after` is None, only the newest revision is returned.
        """
        with self.reader() as connection:
            newest = newest_revision(connection)
            if after is None:
                return Changes(newest, (), more=False)
            found = connection.execute(_CHANGES, (after, limit + 1)).fetchall()
        spans = tuple(
            SpanChange(unpacked(trace), unpacked(span), revision, bool(ended))
            for trace, span, revision, ended in found[:limit]
        )
        more = len(found) > limit
        return Changes(spans[-1].revision if more else newest, spans, more)

    def on_commit(self, listener: Callable[[int], None]) -> None:
        """Call `listener` with the newest revision after each commit of this store.

        The writer's thread calls the listener, so the listener must not block.
        """
        self._writer.listen(listener)

    def delete(
        self,
        *,
        threads: Sequence[str] = (),
        runs: Sequence[str] = (),
        traces: Sequence[str] = (),
    ) -> Deleted:
        """Delete all spans of these threads, runs and traces permanently.

        Afterwards, neither a SQLite file nor its log contains the bytes of these spans. The
        write-ahead log and the backups of a PostgreSQL server can still contain them. Unknown ids
        are ignored. Other operating-system threads can read and write during the deletion.
        """
        return self._deleter.delete(threads=threads, runs=runs, traces=traces)

    def label(
        self,
        *,
        threads: Sequence[str] = (),
        runs: Sequence[str] = (),
        traces: Sequence[str] = (),
        spans: Sequence[SpanReference] = (),
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        at_us: int,
    ) -> int:
        """Add labels to threads, runs, traces and spans, and remove labels from them.

        A label of a thread, run or trace is added to the root of each trace, so all spans of the
        trace have it. It is removed from all spans of the trace. Unknown ids are ignored. `at_us`
        is the present time. Returns the number of spans whose own labels changed.
        """
        edits = {"add": add, "remove": remove}
        return self._labeller.label_traces(
            threads=threads, runs=runs, traces=traces, **edits, at_us=at_us
        ) + self._labeller.label_spans(spans, **edits, at_us=at_us)

    def prune(
        self,
        *,
        before_us: int | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
    ) -> Deleted:
        """Delete the traces that ended before `before_us`.

        Then delete the oldest traces until the store has at most `max_bytes`. `before_us` is in
        Unix microseconds. `max_bytes` limits the approximate size of the file without its free
        pages. With `dry_run` nothing is deleted.
        """
        return self._deleter.prune(before_us=before_us, max_bytes=max_bytes, dry_run=dry_run)

    @contextmanager
    def claim_retention(self) -> Iterator[bool]:
        """Hold the lock of retention. The value is False if another process holds it.

        Raises StoreError.
        """
        try:
            with self._database.hold("retention") as held:
                yield held
        except OSError as error:
            raise self._database.error(error) from error

    def held(self) -> HeldTraces:
        """Return the totals of the store, and the period of its traces."""
        with self.reader() as connection:
            return deletion.held(connection)

    def preview_prune(self, *, before_us: int | None, max_bytes: int | None) -> HeldTraces:
        """Return the totals of the traces that `prune` would delete.

        The method only reads, so it does not block writers.
        """
        with self.reader() as connection:
            return deletion.preview_prune(connection, before_us=before_us, max_bytes=max_bytes)

    def blob(self, hash_hex: str) -> Blob | None:
        """Return the blob with a BLAKE2b-256 hash in hexadecimal, or None if it does not exist."""
        with self.reader() as connection:
            return blobs.read(connection, hash_hex)

    def redactions(self) -> Mapping[str, int]:
        """Return the number of secrets of each kind that were redacted from written spans."""
        with self.reader() as connection:
            return dict(connection.execute("SELECT kind, count FROM redactions ORDER BY kind"))


def _names_traces(condition: Condition) -> bool:
    return condition.field is Field.TRACE and condition.operator is Operator.IS


def _known(connection: Connection, reference: str) -> str:
    try:
        return _resolve(connection, reference)
    except NotFoundError:
        return reference


def _resolve(connection: Connection, reference: str) -> str:
    if is_last(reference):
        recent = connection.execute(_RECENT, (1,)).fetchone()
        if recent is None:
            raise NotFoundError(
                "No trace has been recorded yet.", hint='Ask something first: treadle ask "…".'
            )
        return unpacked(recent[0])

    def find(prefix: str, limit: int) -> list[str]:
        found = connection.execute(_BEGINNING, (packed(prefix), limit))
        return [unpacked(trace_id) for (trace_id,) in found]

    return resolve_prefix(reference, find, noun="trace", listing="`treadle traces list`")
