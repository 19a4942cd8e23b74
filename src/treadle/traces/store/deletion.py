"""Deletes traces permanently: rows, sums, search text and attachments, then the bytes in the file.

Deletion runs in steps, and the writer commits spans between them. Segments (`store.segments`) with
deleted spans are written again. Then the engine of the database removes the remaining bytes
(`Engine.clean`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from treadle.database import Connection, Database, transaction
from treadle.traces.store import span_merge
from treadle.traces.store.call_counts import match_calls
from treadle.traces.store.columns import COLUMNS, SpanRow
from treadle.traces.store.engines import engine_for, engine_of
from treadle.traces.store.faults import recount_faults
from treadle.traces.store.results import Deleted, HeldTraces
from treadle.traces.store.segment_builder import renew_after
from treadle.traces.store.segments import BEFORE_ALL
from treadle.traces.store.statements import packed
from treadle.traces.store.sums import SumChanges
from treadle.traces.store.trace_states import TraceState, trace_states
from treadle.traces.store.writer_thread import Writer

BEGINNING = (-(2**63), 0)
"""The position before the first trace."""
_END = 2**63 - 1
_TRACES_AT_ONCE = 200

_OLDEST = """
    SELECT trace_id, run_id, spans, start_us, last_us, id FROM traces
    WHERE (start_us, id) > (?, ?) AND start_us < ? AND last_us < ? ORDER BY start_us, id LIMIT ?"""
_TOTALS = """
    SELECT count(*), count(DISTINCT run_id), min(start_us), max(last_us) FROM traces"""


class OldTrace(NamedTuple):
    """A trace that pruning may delete."""

    trace_id: str | bytes
    run_id: str | bytes | None
    spans: int
    start_us: int
    last_us: int
    id: int

    @property
    def position(self) -> tuple[int, int]:
        """The position of the trace in the order of age."""
        return self.start_us, self.id


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the store: the number of spans, and the bytes of the pages in use."""

    spans: int
    bytes: int

    def estimated_bytes(self, spans: int) -> int:
        """Return the approximate size of a number of spans, in bytes."""
        return self.bytes * spans // self.spans if self.spans else 0

    def excess_spans(self, max_bytes: int | None) -> int:
        """Return about how many spans must be deleted so that the store has at most `max_bytes`.

        The result is 0 if `max_bytes` is None.

        """
        if max_bytes is None or self.bytes <= max_bytes:
            return 0
        return -(-(self.bytes - max_bytes) * self.spans // self.bytes)


def size_of(connection: Connection) -> Size:
    """Return the size of the whole store."""
    (spans,) = connection.execute(
        "SELECT coalesce(sum(spans), 0) FROM rollups WHERE dimension = 'all'"
    ).fetchone()
    return Size(spans, engine_of(connection).used_bytes(connection, spans))


def oldest(connection: Connection, *, after: tuple[int, int], before_us: int) -> list[OldTrace]:
    """Return a batch of the traces that ended before `before_us`, the oldest first.

    The batch begins behind the position `after`.
    """
    found = connection.execute(_OLDEST, (*after, before_us, before_us, _TRACES_AT_ONCE))
    return [OldTrace(*row) for row in found]


def to_prune(
    find: Callable[[int], Iterator[list[OldTrace]]],
    size: Size,
    before_us: int | None,
    max_bytes: int | None,
) -> Iterator[list[OldTrace]]:
    """Yield batches of the traces to delete.

    The traces that ended before `before_us` come first. Then come the oldest traces, until the
    remaining store has at most `max_bytes`. `find` returns batches of the traces that ended before
    a moment, oldest first.
    """
    spans = 0
    expired: set[str | bytes] = set()
    if before_us is not None:
        for batch in find(before_us):
            spans += sum(trace.spans for trace in batch)
            expired |= {trace.trace_id for trace in batch}
            yield batch
    excess = size.excess_spans(max_bytes)
    if spans >= excess:
        return
    for batch in find(_END):
        selected = []
        for trace in batch:
            if trace.trace_id not in expired and spans < excess:
                selected.append(trace)
                spans += trace.spans
        yield selected
        if spans >= excess:
            return


def held(connection: Connection) -> HeldTraces:
    """Return the totals of all traces in the store."""
    size = size_of(connection)
    traces, runs, first, last = connection.execute(_TOTALS).fetchone()
    return HeldTraces(size.spans, traces, runs, size.bytes, first, last)


def preview_prune(
    connection: Connection, *, before_us: int | None, max_bytes: int | None
) -> HeldTraces:
    """Return the totals of the traces that pruning with these limits would delete.

    Nothing is deleted.
    """
    size = size_of(connection)
    runs: set[str | bytes | None] = set()
    spans = traces = 0
    first = last = None
    for batch in to_prune(partial(_all_oldest, connection), size, before_us, max_bytes):
        for trace in batch:
            traces, spans = traces + 1, spans + trace.spans
            runs.add(trace.run_id)
            first = trace.start_us if first is None else min(first, trace.start_us)
            last = trace.last_us if last is None else max(last, trace.last_us)
    return HeldTraces(spans, traces, len(runs), size.estimated_bytes(spans), first, last)


def _all_oldest(connection: Connection, before_us: int) -> Iterator[list[OldTrace]]:
    after = BEGINNING
    while rows := oldest(connection, after=after, before_us=before_us):
        yield rows
        after = rows[-1].position


T = TypeVar("T")

_SPANS_AT_ONCE = 200
"""The maximum number of spans that a transaction deletes. Other writers wait for its end."""
_CLEANED_FRACTION = 20
"""Pruning cleans the file if it deletes at least a twentieth of the spans."""

_ROWS = f"""
    SELECT {", ".join(COLUMNS)} FROM spans WHERE trace = ? LIMIT ?"""  # noqa: S608
_REMAINS = "remains"
"""A row of the table `given`. It is 1 while the file may contain bytes of deleted traces.

The value survives a crash, so that the next deletion cleans the file.
"""

_Ids = Sequence[str | bytes]


class Deleter:
    """Deletes traces in jobs of the writer, which runs them between the other writes."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database = database
        self._writer = writer

    def delete(
        self, *, threads: Sequence[str], runs: Sequence[str], traces: Sequence[str]
    ) -> Deleted:
        """Delete all spans of these threads, runs and traces."""
        size = self._do(size_of)
        deleted = [0, 0]
        for column, ids in (("thread_id", threads), ("run_id", runs), ("trace_id", traces)):
            for identifier in dict.fromkeys(map(packed, ids)):
                while found := self._do(_traces_of(column, identifier)):
                    self._delete(found, deleted)
        if self._do(_has_remains):
            self._clean()
        return Deleted(deleted[0], deleted[1], size.estimated_bytes(deleted[0]))

    def prune(self, *, before_us: int | None, max_bytes: int | None, dry_run: bool) -> Deleted:
        """Delete the traces that ended before `before_us`.

        Then delete the oldest traces until the store has at most `max_bytes`.
        """
        size = self._do(size_of)
        deleted = [0, 0]
        for found in to_prune(self._oldest, size, before_us, max_bytes):
            if dry_run:
                deleted[0] += sum(trace.spans for trace in found)
                deleted[1] += len(found)
            else:
                self._delete([trace.trace_id for trace in found], deleted)
        if deleted[0] * _CLEANED_FRACTION >= size.spans > 0 and not dry_run:
            self._clean()
        return Deleted(deleted[0], deleted[1], size.estimated_bytes(deleted[0]))

    def _oldest(self, before_us: int) -> Iterator[list[OldTrace]]:
        """Yield batches of the traces that ended before `before_us`, the oldest first."""
        after = BEGINNING
        while rows := self._do(partial(oldest, after=after, before_us=before_us)):
            yield rows
            after = rows[-1].position

    def _delete(self, trace_ids: _Ids, deleted: list[int]) -> None:
        left = list(trace_ids)
        at_once = len(left)
        while left:
            some = left[:at_once]
            count, rest = self._do(_delete_some(some))
            left = rest + left[at_once:]
            # Each step loads the states of its traces, so it gets few more than it can delete.
            at_once = 2 * (len(some) - len(rest)) + 1
            deleted[0] += count
        deleted[1] += len(trace_ids)

    def _clean(self) -> None:
        """Remove what remains of deleted spans in the file and in its log.

        The segments and the search index have copies of the texts of these spans. Free pages are
        returned to the file system.
        """
        position: int | None = BEFORE_ALL
        while position is not None:
            position = self._do(partial(renew_after, after=position))
        engine_for(self._database).clean(self._database, self._do)
        self._do(lambda connection: _note_remains(connection, 0))

    def _do(self, job: Callable[[Connection], T]) -> T:
        return self._writer.do(job).result()


def _traces_of(column: str, value: str | bytes | None) -> Callable[[Connection], list[str | bytes]]:
    source = "runs JOIN traces USING (run_id)" if column == "thread_id" else "traces"
    statement = f"SELECT trace_id FROM {source} WHERE {column} = ? LIMIT {_TRACES_AT_ONCE}"  # noqa: S608

    def find(connection: Connection) -> list[str | bytes]:
        return [trace_id for (trace_id,) in connection.execute(statement, (value,))]

    return find


def _delete_some(
    trace_ids: _Ids,
) -> Callable[[Connection], tuple[int, list[str | bytes]]]:
    """Build a job that deletes up to `_SPANS_AT_ONCE` spans of these traces.

    The job returns the number of deleted spans, and the traces that still have spans.
    """

    def delete(connection: Connection) -> tuple[int, list[str | bytes]]:
        with transaction(connection):
            states = trace_states(connection, trace_ids)
            sums = SumChanges()
            rows: list[SpanRow] = []
            traces: dict[int, TraceState] = {}
            for state in states.values():
                if len(rows) == _SPANS_AT_ONCE:
                    break
                traces[state.id] = state
                for found in connection.execute(_ROWS, (state.id, _SPANS_AT_ONCE - len(rows))):
                    row = SpanRow(*found)
                    sums.add(row, state, -1)
                    state.remove(row)
                    rows.append(row)
            span_merge.delete_rows(connection, [row.id for row in rows])
            rows_of_others = match_calls(connection, rows, traces, sums)
            recount_faults(connection, [*rows, *rows_of_others], traces, sums)
            sums.store_facets(connection)
            for state in traces.values():
                state.settle(connection)
            sums.store(connection, traces.values())
            _note_remains(connection, 1)
            left = [
                trace_id
                for trace_id, state in states.items()
                if state.id not in traces or not state.empty
            ]
            return len(rows), left

    return delete


def _has_remains(connection: Connection) -> bool:
    found = connection.execute("SELECT number FROM given WHERE what = ?", (_REMAINS,))
    return bool(found.fetchone() == (1,))


def _note_remains(connection: Connection, number: int) -> None:
    connection.execute(
        "INSERT INTO given VALUES (?, ?) ON CONFLICT (what) DO UPDATE SET number = excluded.number",
        (_REMAINS, number),
    )
