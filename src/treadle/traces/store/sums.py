"""Updates the sums of traces, runs, threads and hours when spans are added or removed.

A span contributes to its trace, a trace to its run, and a run to its thread. When a trace or a run
moves to another parent, its stored sums are subtracted from the old parent and added to the new
one.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from treadle.spans.span import OWN_LABELS, SpanKind
from treadle.traces.store import statements
from treadle.traces.store.columns import SpanRow, last_us
from treadle.traces.store.counters import (
    COUNTER_COLUMNS,
    COUNTER_NAMES,
    Counters,
    added,
    counters,
    nothing,
)
from treadle.traces.store.properties import NO_INHERITANCE, Inheritance, property_pairs
from treadle.traces.store.statements import Text, labels_of

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

    def settle(self, connection: sqlite3.Connection) -> None:
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


def trace_states(
    connection: sqlite3.Connection, trace_ids: Iterable[Text]
) -> dict[Text, TraceState]:
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
        (last,) = connection.execute("SELECT number FROM given WHERE what = 'trace'").fetchone()
        for number, trace_id in enumerate(new, start=last + 1):
            found[trace_id] = TraceState(number, trace_id)
        connection.execute("UPDATE given SET number = ? WHERE what = 'trace'", (last + len(new),))
    return found


def store_traces(connection: sqlite3.Connection, changed: Iterable[TraceState]) -> None:
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


HOUR_US = 3_600_000_000

OWN = "own:"
"""The prefix of the dimensions and names that include only Treadle's own calls.

Queries subtract these sums to leave out the own calls. Rows with the name `OWN_TRACE` have the sums
of the own calls of a trace.
"""
OWN_TRACE = f"{OWN}trace"

_ADDED = ", ".join(f"{name} = {name} + excluded.{name}" for name in COUNTER_NAMES)

_RUN_THREADS = "SELECT run_id, thread_id FROM runs WHERE run_id IN ({})"
_RUN_SUMS = f"SELECT run_id, {COUNTER_COLUMNS} FROM runs WHERE run_id IN ({{}})"  # noqa: S608  (columns)
_DELETE_EMPTY_RUNS = """
    DELETE FROM runs WHERE run_id IN ({})
        AND NOT EXISTS (SELECT 1 FROM traces WHERE traces.run_id = runs.run_id)"""
_SETTLE_RUNS = """
    UPDATE runs SET
        thread_id = coalesce(
            (SELECT own_thread FROM traces
                WHERE traces.run_id = runs.run_id AND own_thread IS NOT NULL
                ORDER BY own_thread LIMIT 1),
            run_id),
        root = coalesce(
            (SELECT root FROM traces WHERE traces.run_id = runs.run_id AND rooted = 1
                ORDER BY start_us, trace_id LIMIT 1),
            (SELECT root FROM traces WHERE traces.run_id = runs.run_id AND rooted = 0
                ORDER BY start_us, trace_id LIMIT 1)),
        start_us = (SELECT min(earliest) FROM (
            SELECT min(start_us) AS earliest FROM traces
                WHERE traces.run_id = runs.run_id AND rooted = 0
            UNION ALL SELECT min(start_us) FROM traces
                WHERE traces.run_id = runs.run_id AND rooted = 1)),
        last_us = (SELECT max(last_us) FROM traces WHERE traces.run_id = runs.run_id)
    WHERE run_id IN ({})"""
_DELETE_EMPTY_THREADS = """
    DELETE FROM threads WHERE thread_id IN ({})
        AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.thread_id = threads.thread_id)"""
_SETTLE_THREADS = """
    UPDATE threads SET
        start_us = (SELECT min(start_us) FROM runs WHERE runs.thread_id = threads.thread_id),
        last_us = (SELECT max(last_us) FROM runs WHERE runs.thread_id = threads.thread_id)
    WHERE thread_id IN ({})"""

Change = TypeVar("Change", int, Counters)
_Move = tuple[Text | None, Counters, Text | None, Counters]
"""A move of a trace or run: its old parent and sums, then its new parent and sums.

None means that there is no parent.
"""


_Inheritable = tuple[int, str | None, str | None]
"""The hour in which a span starts, and its columns `labels` and `properties`."""


def _inheritable(row: SpanRow) -> _Inheritable:
    return row.start_us // HOUR_US * HOUR_US, row.labels, row.properties


class SumChanges:
    """The changes of the sums in one transaction. Call `add` in any order, then `store` once."""

    def __init__(self) -> None:
        self._hours: dict[tuple[Text, Text, _Inheritable], Counters] = {}
        self._inherited: dict[_Inheritable, Counters] = {}
        self._facets: dict[tuple[Text, Text, int], int] = defaultdict(int)
        self._own_traces: dict[Text, Counters] = {}

    def add(self, row: SpanRow, state: TraceState, sign: int = 1) -> None:
        """Add the span with this row, or subtract it if `sign` is -1."""
        self.count(row, state, counters(row), sign)
        trace = row.trace
        self._facets["operation", row.operation, trace] += sign
        for facet, value in (
            ("model", row.model),
            ("run", row.own_run),
            ("thread", row.own_thread),
        ):
            if value is not None:
                self._facets[facet, value, trace] += sign
        self._count_inheritable_facets(row, sign)

    def change_inherited(self, before: SpanRow, row: SpanRow) -> None:
        """Subtract the labels and properties of the row `before`, and add those of `row`."""
        share = counters(row)
        for each, sign in ((before, -1), (row, 1)):
            key = _inheritable(each)
            self._inherited[key] = added(self._inherited.get(key) or nothing(), share, sign)
            self._count_inheritable_facets(each, sign)

    def _count_inheritable_facets(self, row: SpanRow, sign: int) -> None:
        for label in labels_of(row.labels):
            self._facets["label", label, row.trace] += sign
        for name, value in property_pairs(row.properties):
            self._facets[name, value, row.trace] += sign

    def count(self, row: SpanRow, state: TraceState, share: Counters, sign: int) -> None:
        """Add `share` to all sums that include the span, or subtract it if `sign` is -1."""
        state.count(share, sign)
        self._count_hours(row, state.trace_id, share, sign)

    def count_own(self, row: SpanRow, trace_id: Text) -> None:
        """Add one of Treadle's own calls to the sums of own calls, but not to the others.

        Call `store_own` afterwards.
        """
        self._count_hours(row, trace_id, counters(row), 1)

    def _count_hours(self, row: SpanRow, trace_id: Text, share: Counters, sign: int) -> None:
        key = (row.model or "", row.operation, _inheritable(row))
        self._hours[key] = added(self._hours.get(key) or nothing(), share, sign)
        if _is_own(row.labels):
            before = self._own_traces.get(trace_id) or nothing()
            self._own_traces[trace_id] = added(before, share, sign)

    def store_facets(self, connection: sqlite3.Connection) -> None:
        """Store how many spans of each trace have each model, label or other facet value.

        The method may be called again after further changes.
        """
        changes = {key: count for key, count in self._facets.items() if count}
        statements.insert(
            connection,
            "INSERT INTO trace_facets (facet, value, trace, count)",
            [(*key, changes[key]) for key in _in_order(changes)],
            "ON CONFLICT DO UPDATE SET count = count + excluded.count",
        )
        fewer = {trace for (_, _, trace), count in changes.items() if count < 0}
        statements.run(
            connection, "DELETE FROM trace_facets WHERE trace IN ({}) AND count = 0", sorted(fewer)
        )
        self._facets.clear()

    def store(self, connection: sqlite3.Connection, states: Iterable[TraceState]) -> None:
        """Store all sums except the facets. The states must be settled (`TraceState.settle`)."""
        every = list(states)
        store_traces(connection, every)
        _store_runs(connection, every)
        self._store_hours(connection, every=True)
        self._store_properties(connection, every=True)

    def store_own(self, connection: sqlite3.Connection) -> None:
        """Store the sums of Treadle's own calls alone."""
        self._store_hours(connection, every=False)
        self._store_properties(connection, every=False)

    def _inheritable_sums(self) -> Iterator[tuple[_Inheritable, Counters]]:
        for (_, _, key), share in self._hours.items():
            yield key, share
        yield from self._inherited.items()

    def _store_properties(self, connection: sqlite3.Connection, *, every: bool) -> None:
        sums: dict[tuple[Text, Text], Counters] = {
            (OWN_TRACE, trace_id): share for trace_id, share in self._own_traces.items()
        }
        for (_, labels, properties), share in self._inheritable_sums():
            for prefix in _prefixes(labels, every=every):
                for name, value in property_pairs(properties):
                    pair = (_prefixed(prefix, name), value)
                    sums[pair] = added(sums.get(pair) or nothing(), share)
        changes = {key: share for key, share in sums.items() if any(share)}
        ordered = sorted(changes, key=lambda key: (*_order(key[0]), *_order(key[1])))
        statements.insert(
            connection,
            f"INSERT INTO properties (name, value, {COUNTER_COLUMNS})",
            [(*key, *changes[key]) for key in ordered],
            f"ON CONFLICT DO UPDATE SET {_ADDED}",
        )
        connection.executemany(
            "DELETE FROM properties WHERE name = ? AND value = ? AND spans = 0",
            [key for key in ordered if changes[key][0] < 0],
        )

    def _store_hours(self, connection: sqlite3.Connection, *, every: bool) -> None:
        sums: dict[tuple[Text, Text, int], Counters] = {}

        def add(dimension: Text, value: Text, hour: int, share: Counters) -> None:
            at = (dimension, value, hour)
            sums[at] = added(sums.get(at) or nothing(), share)

        for (model, operation, (hour, labels, _)), share in self._hours.items():
            for prefix in _prefixes(labels, every=every):
                add(f"{prefix}all", "", hour, share)
                add(f"{prefix}model", model, hour, share)
                add(f"{prefix}operation", operation, hour, share)
        for (hour, labels, properties), share in self._inheritable_sums():
            for prefix in _prefixes(labels, every=every):
                for label in labels_of(labels):
                    add(f"{prefix}label", label, hour, share)
                for name, value in property_pairs(properties):
                    add(_prefixed(prefix, name), value, hour, share)
        changes = {key: share for key, share in sums.items() if any(share)}
        statements.insert(
            connection,
            f"INSERT INTO rollups (dimension, value, hour_us, {COUNTER_COLUMNS})",
            [(*key, *changes[key]) for key in _in_order(changes)],
            f"ON CONFLICT DO UPDATE SET {_ADDED}",
        )
        fewer = [key for key, share in changes.items() if share[0] < 0]
        for key in fewer:
            connection.execute(
                "DELETE FROM rollups"
                " WHERE dimension = ? AND value = ? AND hour_us = ? AND spans = 0",
                key,
            )


@lru_cache(4_096)
def _is_own(labels: str | None) -> bool:
    return any(label in OWN_LABELS for label in labels_of(labels))


def _prefixes(labels: str | None, *, every: bool) -> tuple[str, ...]:
    """Return the prefixes of the dimensions to which a span with these labels contributes."""
    own = (OWN,) if _is_own(labels) else ()
    return ("", *own) if every else own


def _prefixed(prefix: str, name: Text) -> Text:
    return prefix + name if isinstance(name, str) else prefix.encode() + name


def _store_runs(connection: sqlite3.Connection, states: Sequence[TraceState]) -> None:
    moves: list[_Move] = [
        (state.old_run, state.old_sums, None if state.empty else state.run_id, state.sums)
        for state in states
    ]
    shares = _shares(moves)
    before = dict(statements.select(connection, _RUN_THREADS, shares))
    statements.insert(
        connection,
        f"INSERT INTO runs (run_id, thread_id, start_us, last_us, {COUNTER_COLUMNS})",
        [(run, run, 0, 0, *share) for run, share in shares.items()],
        f"ON CONFLICT (run_id) DO UPDATE SET {_ADDED}",
    )
    statements.run(connection, _DELETE_EMPTY_RUNS, _left(moves))
    statements.run(connection, _SETTLE_RUNS, shares)
    _store_threads(connection, shares, before)


def _store_threads(
    connection: sqlite3.Connection, shares: dict[Text, Counters], before: dict[Text, Text]
) -> None:
    """Add the changes of runs to their threads. All sums of a moved run move to the new thread."""
    after = dict(statements.select(connection, _RUN_THREADS, shares))
    moved = {run for run in shares if before.get(run) != after.get(run)}
    sums = {run: list(rest) for run, *rest in statements.select(connection, _RUN_SUMS, moved)}
    moves: list[_Move] = []
    for run, share in shares.items():
        if run in moved:
            new = sums.get(run, nothing())
            old = added(new, share, -1) if run in before else nothing()
        else:
            new, old = share, nothing()
        moves.append((before.get(run), old, after.get(run), new))
    runs: dict[Text, int] = defaultdict(int)
    for run in moved:
        for threads, change in ((before, -1), (after, 1)):
            if run in threads:
                runs[threads[run]] += change
    changes = _shares(moves)
    statements.insert(
        connection,
        f"INSERT INTO threads (thread_id, runs, start_us, last_us, {COUNTER_COLUMNS})",
        [(thread, runs[thread], 0, 0, *share) for thread, share in changes.items()],
        f"ON CONFLICT (thread_id) DO UPDATE SET runs = runs + excluded.runs, {_ADDED}",
    )
    statements.run(connection, _DELETE_EMPTY_THREADS, _left(moves))
    statements.run(connection, _SETTLE_THREADS, changes)


def _shares(moves: Iterable[_Move]) -> dict[Text, Counters]:
    """Return the change of each parent, in the order of the ids. Changes of 0 are included."""
    shares: dict[Text, Counters] = {}
    for old, old_sums, new, new_sums in moves:
        if old is not None:
            shares[old] = added(shares.get(old) or nothing(), old_sums, -1)
        if new is not None:
            shares[new] = added(shares.get(new) or nothing(), new_sums)
    return dict(sorted(shares.items(), key=lambda item: _order(item[0])))


def _left(moves: Iterable[_Move]) -> list[Text]:
    """Return the parents that lost a child and may be empty."""
    return list({old for old, _, new, _ in moves if old is not None and old != new})


def _in_order(changes: dict[tuple[Text, Text, int], Change]) -> list[tuple[Text, Text, int]]:
    """Return the keys in the order of the table, so that adjacent rows are written together."""
    return sorted(changes, key=lambda key: (*_order(key[0]), *_order(key[1]), key[2]))


def _order(text: Text) -> tuple[bool, Text]:
    return isinstance(text, bytes), text
