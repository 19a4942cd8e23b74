"""The stored state of traces: their root, their run, their thread and their sums."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from treadle.database import Connection
from treadle.spans.span import SpanKind
from treadle.traces.store import statements
from treadle.traces.store.columns import SpanRow, last_us
from treadle.traces.store.counters import (
    COUNTER_COLUMNS,
    COUNTER_NAMES,
    Counters,
    added,
    nothing,
)
from treadle.traces.store.properties import NO_INHERITANCE, Inheritance
from treadle.traces.store.statements import Text

Rank = tuple[bool, bool, int, bool, Text]

_TRACE_SUMS = ", ".join(f"traces.{name}" for name in COUNTER_NAMES)
_STATES = f"""
    SELECT traces.trace_id, traces.id, traces.own_run, traces.own_thread, run_id, root,
        traces.start_us, traces.last_us,
        spans.own_thread, spans.properties, spans.labels,
        spans.parent_id, spans.kind, spans.start_us, spans.span_id, {_TRACE_SUMS}
    FROM traces LEFT JOIN spans ON spans.id = traces.root
    WHERE traces.trace_id IN ({{}})"""  # noqa: S608  (names of columns)
_BOUNDS = """
    SELECT min(start_us), max(max(start_us, coalesce(end_us, start_us))) FROM spans
    WHERE trace = ?"""
_BEST_ROOT = """
    SELECT id, own_thread, parent_id, kind, start_us, span_id FROM spans
    WHERE trace = ? AND (parent_id IS NULL OR parent_id = span_id)
    ORDER BY kind != 'run', start_us, span_id LIMIT 1"""
_EARLIEST = """
    SELECT id, own_thread, parent_id, kind, start_us, span_id FROM spans WHERE trace = ?
    ORDER BY start_us, span_id LIMIT 1"""
_SMALLEST = "SELECT min(value) FROM trace_facets WHERE trace = ? AND facet = ?"
_NEW_KEYS = "UPDATE given SET number = number + ? WHERE what = 'trace' RETURNING number"
_INSERT_TRACES = (
    "INSERT INTO traces"
    " (id, trace_id, own_run, own_thread, run_id, root, rooted, start_us, last_us,"
    f" {COUNTER_COLUMNS})"
)
_UPDATE_TRACES = (
    "ON CONFLICT (id) DO UPDATE SET own_run = excluded.own_run, own_thread = excluded.own_thread,"
    " run_id = excluded.run_id, root = excluded.root, rooted = excluded.rooted,"
    " start_us = excluded.start_us, last_us = excluded.last_us, "
    + ", ".join(f"{name} = excluded.{name}" for name in COUNTER_NAMES)
)


@dataclass(slots=True)
class TraceState:
    """A trace that a transaction changes. The fields `old_…` are None or 0 for a new trace."""

    id: int
    trace_id: Text
    old_run: Text | None = None
    old_sums: Counters = field(default_factory=nothing)
    own_run: Text | None = None
    own_thread: Text | None = None
    root_thread: Text | None = None
    """The thread that the root names, or None. If it is set, the whole trace has this thread."""
    root: int = 0
    rank: Rank | None = None
    start_us: int | None = None
    last_us: int | None = None
    sums: Counters = field(default_factory=nothing)
    inherited: Inheritance = NO_INHERITANCE
    """What the stored spans of the trace inherit from its root."""
    unnamed: bool = False
    """Whether a span that named a run or a thread was removed, or no longer names it."""
    shrunk: bool = False
    """Whether the span that determined the start or the end of the trace was removed."""
    uprooted: bool = False
    """Whether the root was removed. Another span may be the root now."""

    @property
    def run_id(self) -> Text:
        """The run that includes the trace."""
        return self.trace_id if self.own_run is None else self.own_run

    @property
    def empty(self) -> bool:
        """Whether the trace has no spans."""
        return self.sums[0] == 0

    def remove(self, row: SpanRow, by: SpanRow | None = None) -> None:
        """Remove the span with this row. `by` is the row that replaces it, or None."""
        same = by is not None and (row.own_run, row.own_thread) == (by.own_run, by.own_thread)
        self.unnamed |= not same and (row.own_run is not None or row.own_thread is not None)
        if row.start_us == self.start_us:
            self.shrunk |= by is None or by.start_us > row.start_us
        if last_us(row) == self.last_us:
            self.shrunk |= by is None or last_us(by) < last_us(row)
        self.uprooted |= row.id == self.root

    def add(self, row: SpanRow) -> None:
        """Add the span with this row."""
        self.own_run = _smaller(self.own_run, row.own_run)
        if self.root_thread is None:
            self.own_thread = _smaller(self.own_thread, row.own_thread)
        last = last_us(row)
        self.start_us = row.start_us if self.start_us is None else min(self.start_us, row.start_us)
        self.last_us = last if self.last_us is None else max(self.last_us, last)
        rank = _rank(row.parent_id, row.kind, row.start_us, row.span_id)
        if self.rank is None or rank <= self.rank:
            self.root, self.rank, self.uprooted = row.id, rank, False
            self._name_thread(row.own_thread)

    def _name_thread(self, root_thread: Text | None) -> None:
        """Set the thread of the trace to the thread that its new root names.

        If the new root names none, the trace has the smallest thread that its spans name. `settle`
        must read this thread if the former root named one.
        """
        self.unnamed |= self.root_thread is not None and root_thread is None
        self.root_thread = root_thread
        if root_thread is not None:
            self.own_thread = root_thread

    def count(self, counters: Counters, sign: int) -> None:
        """Add `counters` to the sums, or subtract them if `sign` is -1."""
        self.sums = added(self.sums, counters, sign)

    def settle(self, connection: Connection) -> None:
        """Look up the values that the added rows do not determine.

        The method reads the stored spans and facets, so these must be up to date.
        """
        if self.empty:
            return
        if self.shrunk:
            self.start_us, self.last_us = connection.execute(_BOUNDS, (self.id,)).fetchone()
        if self.uprooted:
            found = (
                connection.execute(_BEST_ROOT, (self.id,)).fetchone()
                or connection.execute(_EARLIEST, (self.id,)).fetchone()
            )
            self.root, self.rank = found[0], _rank(*found[2:])
            self._name_thread(found[1])
        if self.unnamed:
            self.own_run, smallest = (
                connection.execute(_SMALLEST, (self.id, facet)).fetchone()[0]
                for facet in ("run", "thread")
            )
            self.own_thread = smallest if self.root_thread is None else self.root_thread


def trace_states(connection: Connection, trace_ids: Iterable[Text]) -> dict[Text, TraceState]:
    """Return the state of each trace. An unknown trace gets a new state with a new id."""
    unique = dict.fromkeys(trace_ids)
    found: dict[Text, TraceState] = {}
    rows = statements.select(connection, _STATES, unique)
    for row in rows:
        trace_id, id_, run, thread, run_id, root, start, last, named, properties, labels = row[:11]
        rest = row[11:]
        sums = list(rest[4:])
        rank = None if rest[3] is None else _rank(*rest[:4])
        own = thread if named is None else named
        found[trace_id] = TraceState(
            id_, trace_id, run_id, sums, run, own, named, root, rank, start, last, sums
        )
        if rank is not None and not rank[0]:
            found[trace_id].inherited = Inheritance.of_root(properties, labels)
    new = [trace_id for trace_id in unique if trace_id not in found]
    if new:
        (last,) = connection.execute(_NEW_KEYS, (len(new),)).fetchone()
        for number, trace_id in enumerate(new, start=last - len(new) + 1):
            found[trace_id] = TraceState(number, trace_id)
    return found


def store_traces(connection: Connection, changed: Iterable[TraceState]) -> None:
    """Store the rows of settled states, and delete the rows of traces without spans."""
    every = list(changed)
    statements.run(
        connection,
        "DELETE FROM traces WHERE id IN ({})",
        [state.id for state in every if state.empty],
    )
    statements.insert(
        connection,
        _INSERT_TRACES,
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
        _UPDATE_TRACES,
    )


def _rank(parent_id: Text | None, kind: str, start_us: int, span_id: Text) -> Rank:
    """Return the sort key of a span. The span with the smallest key is the root of its trace.

    The order is that of `span.true_root`. Ids are compared in SQLite's order of texts.
    """
    child = parent_id is not None and parent_id != span_id
    run = kind == SpanKind.RUN
    return child, not (child or run), start_us, isinstance(span_id, bytes), span_id


def _smaller(one: Text | None, other: Text | None) -> Text | None:
    if one is None or other is None or one == other:
        return other if one is None else one
    return min(one, other, key=lambda text: (isinstance(text, bytes), text))
