"""Deleting for good: rows, sums, search text and attachments, then the bytes that they were in.

Everything is done in steps between which spans are written and read. Deleted rows are overwritten
(`secure_delete`), but their words stay in the search index until it is merged into one piece; then
free pages are given back, and the log is cut. A page that was once split may keep a copy of what
moved to its neighbour, where no row is; so a file that is not large is written anew as a whole.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from treadle.database import transaction
from treadle.traces.store import connections, keeping, trace_states
from treadle.traces.store.columns import COLUMNS, SpanRow
from treadle.traces.store.packing import labels_of, packed
from treadle.traces.store.protocol import Deleted
from treadle.traces.store.retained import (
    BEGINNING,
    OldTrace,
    oldest,
    size_of,
    to_prune,
)
from treadle.traces.store.sums import Sums
from treadle.traces.store.writer import Writer

T = TypeVar("T")

_SPANS_AT_ONCE = 500
_TRACES_AT_ONCE = 200
_PAGES_AT_ONCE = 500
_WORTH_MERGING = 20
"""Old traces that go make the search index be written anew when they are a twentieth of it."""
_REWRITTEN = 100_000_000
"""Bytes up to which the whole file is written anew, which takes a second or so."""
_LOG_ATTEMPTS = 50
_LOG_WAIT_MS = 200

_ROWS = f"""
    SELECT {", ".join(COLUMNS)} FROM spans WHERE trace = ? LIMIT ?"""  # noqa: S608
_REMAINS = "remains"
"""In `given`: 1 while bytes of what was deleted may be left, also after a crash."""

_Ids = Sequence[str | bytes]


class Deleter:
    """Deletes by jobs of the writer, so that it waits its turn like everything else."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def delete(
        self, *, threads: Sequence[str], runs: Sequence[str], traces: Sequence[str]
    ) -> Deleted:
        """Delete all spans of these."""
        size = self._do(size_of)
        deleted = [0, 0]
        for column, ids in (("thread_id", threads), ("run_id", runs), ("trace_id", traces)):
            for one in dict.fromkeys(map(packed, ids)):
                while found := self._do(_traces_of(column, one)):
                    self._delete(found, deleted)
        if self._do(_has_remains):
            self._clean()
        return Deleted(deleted[0], deleted[1], size.of(deleted[0]))

    def prune(self, *, before_us: int | None, max_bytes: int | None, dry_run: bool) -> Deleted:
        """Delete the traces that ended before a moment, then the oldest until the rest fits."""
        size = self._do(size_of)
        deleted = [0, 0]
        for found in to_prune(self._oldest, size, before_us, max_bytes):
            if dry_run:
                deleted[0] += sum(trace.spans for trace in found)
                deleted[1] += len(found)
            else:
                self._delete([trace.trace_id for trace in found], deleted)
        if deleted[0] * _WORTH_MERGING >= size.spans > 0 and not dry_run:
            self._clean()
        return Deleted(deleted[0], deleted[1], size.of(deleted[0]))

    def _oldest(self, before_us: int) -> Iterator[list[OldTrace]]:
        """The traces that ended before that moment, the first ones first."""
        after = BEGINNING
        while rows := self._do(partial(oldest, after=after, before_us=before_us)):
            yield rows
            after = rows[-1].place

    def _delete(self, trace_ids: _Ids, deleted: list[int]) -> None:
        left = list(trace_ids)
        while left:
            count, left = self._do(_delete_some(left))
            deleted[0] += count
        deleted[1] += len(trace_ids)

    def _clean(self) -> None:
        """Make the words vanish from the search index, then free pages and the log."""
        rounds = self._do(_pages) // _PAGES_AT_ONCE * 2 + 16  # the index is less than half of them
        while rounds and self._do(_merge):
            rounds -= 1
        if self._do(size_of).bytes <= _REWRITTEN:
            self._do(_rewrite)
        while self._do(_release):
            pass
        for _ in range(_LOG_ATTEMPTS):
            if self._do(_cut_log):
                break
        self._do(lambda connection: _note_remains(connection, 0))

    def _do(self, job: Callable[[sqlite3.Connection], T]) -> T:
        return self._writer.do(job).result()


def _traces_of(
    column: str, value: str | bytes | None
) -> Callable[[sqlite3.Connection], list[str | bytes]]:
    source = "runs JOIN traces USING (run_id)" if column == "thread_id" else "traces"
    statement = f"SELECT trace_id FROM {source} WHERE {column} = ? LIMIT {_TRACES_AT_ONCE}"  # noqa: S608

    def find(connection: sqlite3.Connection) -> list[str | bytes]:
        return [trace_id for (trace_id,) in connection.execute(statement, (value,))]

    return find


def _delete_some(
    trace_ids: _Ids,
) -> Callable[[sqlite3.Connection], tuple[int, list[str | bytes]]]:
    """Deletes spans of these traces, up to a number: how many they were, and which are left."""

    def delete(connection: sqlite3.Connection) -> tuple[int, list[str | bytes]]:
        with transaction(connection):
            states = trace_states.states(connection, trace_ids)
            sums = Sums()
            keys: list[int] = []
            for state in states.values():
                for found in connection.execute(_ROWS, (state.id, _SPANS_AT_ONCE - len(keys))):
                    row = SpanRow(*found)
                    sums.add(row, labels_of(row.labels), state, -1)
                    state.take_out(row)
                    keys.append(row.id)
            keeping.remove(connection, keys)
            sums.store_facets(connection)
            for state in states.values():
                state.settle(connection)
            sums.store(connection, states.values())
            _note_remains(connection, 1)
            left = [trace_id for trace_id, state in states.items() if not state.empty]
            return len(keys), left

    return delete


def _has_remains(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT number FROM given WHERE what = ?", (_REMAINS,))
    return bool(found.fetchone() == (1,))


def _note_remains(connection: sqlite3.Connection, number: int) -> None:
    connection.execute("REPLACE INTO given VALUES (?, ?)", (_REMAINS, number))


def _pages(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA page_count").fetchone()[0])


def _merge(connection: sqlite3.Connection) -> bool:
    """One step towards a search index of one piece; whether there is more to do."""
    before = connection.total_changes
    with transaction(connection):
        connection.execute(
            "INSERT INTO texts (texts, rank) VALUES ('merge', ?)", (-_PAGES_AT_ONCE,)
        )
    return connection.total_changes - before > 1


def _rewrite(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")


def _release(connection: sqlite3.Connection) -> bool:
    """Give some free pages back, where the file can do that; whether there are more."""
    if connection.execute("PRAGMA auto_vacuum").fetchone() != (connections.INCREMENTAL,):
        return False
    connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
    return bool(connection.execute("PRAGMA freelist_count").fetchone()[0])


def _cut_log(connection: sqlite3.Connection) -> bool:
    return connections.empty_log(connection, _LOG_WAIT_MS)
