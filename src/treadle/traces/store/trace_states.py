"""The traces that a transaction changes: what they were, and what they become."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field

from treadle.spans.span import SpanKind
from treadle.traces.store import statements
from treadle.traces.store.columns import SpanRow, last_us
from treadle.traces.store.counters import COUNTER_COLUMNS, COUNTER_NAMES, Counters, added, nothing
from treadle.traces.store.packing import Text

Rank = tuple[bool, bool, int, bool, Text]

_TRACE_SUMS = ", ".join(f"traces.{name}" for name in COUNTER_NAMES)

_STATES = f"""
    SELECT traces.trace_id, traces.id, traces.own_run, traces.own_thread, run_id, root,
        traces.start_us, traces.last_us,
        spans.parent_id, spans.kind, spans.start_us, spans.span_id, {_TRACE_SUMS}
    FROM traces LEFT JOIN spans ON spans.id = traces.root
    WHERE traces.trace_id IN ({{}})"""  # noqa: S608  (names of columns)

_BOUNDS = """
    SELECT min(start_us), max(max(start_us, coalesce(end_us, start_us))) FROM spans
    WHERE trace = ?"""

_BEST_ROOT = """
    SELECT id, parent_id, kind, start_us, span_id FROM spans
    WHERE trace = ? AND (parent_id IS NULL OR parent_id = span_id)
    ORDER BY kind != 'run', start_us, span_id LIMIT 1"""

_EARLIEST = """
    SELECT id, parent_id, kind, start_us, span_id FROM spans WHERE trace = ?
    ORDER BY start_us, span_id LIMIT 1"""

_SMALLEST = "SELECT min(value) FROM trace_facets WHERE trace = ? AND facet = ?"

_KEEP = (
    "INSERT INTO traces"
    " (id, trace_id, own_run, own_thread, run_id, root, rooted, start_us, last_us,"
    f" {COUNTER_COLUMNS})"
)
_OVER = (
    "ON CONFLICT (id) DO UPDATE SET own_run = excluded.own_run, own_thread = excluded.own_thread,"
    " run_id = excluded.run_id, root = excluded.root, rooted = excluded.rooted,"
    " start_us = excluded.start_us, last_us = excluded.last_us, "
    + ", ".join(f"{name} = excluded.{name}" for name in COUNTER_NAMES)
)


@dataclass(slots=True)
class TraceState:
    """One trace. What begins with `old_` is None or 0 for one that is new."""

    id: int
    trace_id: Text
    old_run: Text | None = None
    old_sums: Counters = field(default_factory=nothing)
    own_run: Text | None = None
    own_thread: Text | None = None
    root: int = 0
    rank: Rank | None = None
    start_us: int | None = None
    last_us: int | None = None
    sums: Counters = field(default_factory=nothing)
    unnamed: bool = False
    """A span no longer names the run or thread that it named."""
    shrunk: bool = False
    """A span that was at one of its ends is no longer."""
    uprooted: bool = False
    """The root is no longer the best one for certain."""

    @property
    def run_id(self) -> Text:
        """The run that it is part of."""
        return self.trace_id if self.own_run is None else self.own_run

    @property
    def empty(self) -> bool:
        """Whether no span is left."""
        return self.sums[0] == 0

    def take_out(self, row: SpanRow, by: SpanRow | None = None) -> None:
        """The span with that row is no longer there; `by` is put in for it."""
        same = by is not None and (row.own_run, row.own_thread) == (by.own_run, by.own_thread)
        self.unnamed |= not same and (row.own_run is not None or row.own_thread is not None)
        if row.start_us == self.start_us:
            self.shrunk |= by is None or by.start_us > row.start_us
        if last_us(row) == self.last_us:
            self.shrunk |= by is None or last_us(by) < last_us(row)
        self.uprooted |= row.id == self.root

    def put_in(self, row: SpanRow) -> None:
        """The span with that row is there."""
        self.own_run = _smaller(self.own_run, row.own_run)
        self.own_thread = _smaller(self.own_thread, row.own_thread)
        last = last_us(row)
        self.start_us = row.start_us if self.start_us is None else min(self.start_us, row.start_us)
        self.last_us = last if self.last_us is None else max(self.last_us, last)
        rank = _rank(row.parent_id, row.kind, row.start_us, row.span_id)
        if self.rank is None or rank <= self.rank:
            self.root, self.rank, self.uprooted = row.id, rank, False

    def count(self, counters: Counters, sign: int) -> None:
        """Change the sums."""
        self.sums = added(self.sums, counters, sign)

    def settle(self, connection: sqlite3.Connection) -> None:
        """Look up what the rows that were put in do not tell; needs spans and facets in place."""
        if self.empty:
            return
        if self.unnamed:
            self.own_run, self.own_thread = (
                connection.execute(_SMALLEST, (self.id, facet)).fetchone()[0]
                for facet in ("run", "thread")
            )
        if self.shrunk:
            self.start_us, self.last_us = connection.execute(_BOUNDS, (self.id,)).fetchone()
        if self.uprooted:
            found = (
                connection.execute(_BEST_ROOT, (self.id,)).fetchone()
                or connection.execute(_EARLIEST, (self.id,)).fetchone()
            )
            self.root, self.rank = found[0], _rank(*found[1:])


def states(connection: sqlite3.Connection, trace_ids: Iterable[Text]) -> dict[Text, TraceState]:
    """The state of each of these traces; of unknown ones a new one with an id of its own."""
    wanted = dict.fromkeys(trace_ids)
    found: dict[Text, TraceState] = {}
    for trace_id, id_, run, thread, run_id, root, start, last, *rest in statements.select(
        connection, _STATES, wanted
    ):
        sums = list(rest[4:])
        rank = None if rest[3] is None else _rank(*rest[:4])
        found[trace_id] = TraceState(
            id_, trace_id, run_id, sums, run, thread, root, rank, start, last, sums
        )
    new = [trace_id for trace_id in wanted if trace_id not in found]
    if new:
        (given,) = connection.execute("SELECT number FROM given WHERE what = 'trace'").fetchone()
        for number, trace_id in enumerate(new, start=given + 1):
            found[trace_id] = TraceState(number, trace_id)
        connection.execute("UPDATE given SET number = ? WHERE what = 'trace'", (given + len(new),))
    return found


def store(connection: sqlite3.Connection, changed: Iterable[TraceState]) -> None:
    """Write the rows of settled states, and delete those of traces without spans."""
    every = list(changed)
    statements.run(
        connection,
        "DELETE FROM traces WHERE id IN ({})",
        [state.id for state in every if state.empty],
    )
    statements.insert(
        connection,
        _KEEP,
        [
            (
                state.id,
                state.trace_id,
                state.own_run,
                state.own_thread,
                state.run_id,
                state.root,
                int(state.rank is not None and not state.rank[0]),
                state.start_us,
                state.last_us,
                *state.sums,
            )
            for state in every
            if not state.empty
        ],
        _OVER,
    )


def _rank(parent_id: Text | None, kind: str, start_us: int, span_id: Text) -> Rank:
    """The smallest is the root of a trace, by the rule of `span.true_root`, as SQLite orders."""
    child = parent_id is not None and parent_id != span_id
    run = kind == SpanKind.RUN
    return child, not (child or run), start_us, isinstance(span_id, bytes), span_id


def _smaller(one: Text | None, other: Text | None) -> Text | None:
    if one is None or other is None or one == other:
        return other if one is None else one
    return min(one, other, key=lambda text: (isinstance(text, bytes), text))
