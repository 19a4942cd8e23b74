"""How much a store holds, and which traces go first where less is to be kept."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from treadle.traces.store.protocol import Held

BEGINNING = (-(2**63), 0)
"""Before the first trace."""
_END = 2**63 - 1
_AT_ONCE = 200

_OLDEST = """
    SELECT trace_id, run_id, spans, start_us, last_us, id FROM traces
    WHERE (start_us, id) > (?, ?) AND start_us < ? AND last_us < ? ORDER BY start_us, id LIMIT ?"""
_HELD = """
    SELECT count(*), count(DISTINCT run_id), min(start_us), max(last_us) FROM traces"""


class OldTrace(NamedTuple):
    """A trace as it is looked at for deletion."""

    trace_id: str | bytes
    run_id: str | bytes | None
    spans: int
    start_us: int
    last_us: int
    id: int

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands among all, by age."""
        return self.start_us, self.id


@dataclass(frozen=True, slots=True)
class Size:
    """What the store holds: spans, and bytes in pages that are in use."""

    spans: int
    bytes: int

    def of(self, spans: int) -> int:
        """About how many bytes so many spans take."""
        return self.bytes * spans // self.spans if self.spans else 0

    def needless(self, max_bytes: int | None) -> int:
        """About how many spans have to go so that no more than so many bytes are left."""
        if max_bytes is None or self.bytes <= max_bytes:
            return 0
        return -(-(self.bytes - max_bytes) * self.spans // self.bytes)


def size_of(connection: sqlite3.Connection) -> Size:
    """The size of the whole store."""
    (spans,) = connection.execute(
        "SELECT coalesce(sum(spans), 0) FROM rollups WHERE dimension = 'all'"
    ).fetchone()
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return Size(spans, (pages - free) * size)


def oldest(
    connection: sqlite3.Connection, *, after: tuple[int, int], before_us: int
) -> list[OldTrace]:
    """The first traces behind that place of those that ended before that moment, some of them."""
    found = connection.execute(_OLDEST, (*after, before_us, before_us, _AT_ONCE))
    return [OldTrace(*row) for row in found]


def to_prune(
    find: Callable[[int], Iterator[list[OldTrace]]],
    size: Size,
    before_us: int | None,
    max_bytes: int | None,
) -> Iterator[list[OldTrace]]:
    """The traces that have to go, some at a time: the old ones, then the oldest until all fits.

    `find` gives those that ended before a moment, the first ones first.
    """
    gone = 0
    old: set[str | bytes] = set()
    if before_us is not None:
        for some in find(before_us):
            gone += sum(trace.spans for trace in some)
            old |= {trace.trace_id for trace in some}
            yield some
    too_many = size.needless(max_bytes)
    if gone >= too_many:
        return
    for some in find(_END):
        needed = []
        for trace in some:
            if trace.trace_id not in old and gone < too_many:
                needed.append(trace)
                gone += trace.spans
        yield needed
        if gone >= too_many:
            return


def held(connection: sqlite3.Connection) -> Held:
    """All that the store holds."""
    size = size_of(connection)
    traces, runs, first, last = connection.execute(_HELD).fetchone()
    return Held(size.spans, traces, runs, size.bytes, first, last)


def would_prune(
    connection: sqlite3.Connection, *, before_us: int | None, max_bytes: int | None
) -> Held:
    """What would be deleted, with nothing changed."""
    size = size_of(connection)
    runs: set[str | bytes | None] = set()
    spans = traces = 0
    first = last = None
    for some in to_prune(partial(_all_oldest, connection), size, before_us, max_bytes):
        for trace in some:
            traces, spans = traces + 1, spans + trace.spans
            runs.add(trace.run_id)
            first = trace.start_us if first is None else min(first, trace.start_us)
            last = trace.last_us if last is None else max(last, trace.last_us)
    return Held(spans, traces, len(runs), size.of(spans), first, last)


def _all_oldest(connection: sqlite3.Connection, before_us: int) -> Iterator[list[OldTrace]]:
    after = BEGINNING
    while rows := oldest(connection, after=after, before_us=before_us):
        yield rows
        after = rows[-1].place
