"""Updates the sums of traces, runs, threads, hours and properties when spans change.

A span contributes to its trace, a trace to its run, and a run to its thread. When a trace or a run
moves to another parent, its stored sums are subtracted from the old parent and added to the new
one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from treadle.database import Connection, PackedText
from treadle.spans.span import OWN_LABELS
from treadle.traces.store import statements
from treadle.traces.store.columns import SpanRow
from treadle.traces.store.counters import (
    COUNTER_COLUMNS,
    COUNTER_NAMES,
    Counters,
    added,
    counters,
    nothing,
)
from treadle.traces.store.properties import property_pairs
from treadle.traces.store.statements import Text, labels_of
from treadle.traces.store.trace_states import TraceState, store_traces

HOUR_US = 3_600_000_000

OWN = "own:"
"""The prefix of dimensions in `rollups` and of names in `properties` for Treadle's own calls.

Sums with this prefix include only these calls. Queries subtract them to leave out the own calls.
A row of `properties` with the name `OWN_TRACE` has the sums of the own calls of one trace.
"""
OWN_TRACE = f"{OWN}trace"


def _added(table: str) -> str:
    """Return the assignments that add the counters of an inserted row to those of the table."""
    return ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in COUNTER_NAMES)


_ADD_HOURS = f"ON CONFLICT (dimension, value, hour_us) DO UPDATE SET {_added('rollups')}"
_ADD_PROPERTIES = f"ON CONFLICT (name, value) DO UPDATE SET {_added('properties')}"
_ADD_RUNS = f"ON CONFLICT (run_id) DO UPDATE SET {_added('runs')}"
_ADD_THREADS = (
    "ON CONFLICT (thread_id) DO UPDATE SET runs = threads.runs + excluded.runs, "
    + _added("threads")
)
_ADD_FACETS = """ON CONFLICT (facet, value, trace) DO UPDATE
    SET count = trace_facets.count + excluded.count"""

_RUN_THREADS = "SELECT run_id, thread_id FROM runs WHERE run_id IN ({})"
_RUN_SUMS = f"SELECT run_id, thread_id, {COUNTER_COLUMNS} FROM runs WHERE run_id IN ({{}})"  # noqa: S608  (columns)
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
        """Add one of Treadle's own calls to the sums of own calls, but not to the other sums.

        Call `store_own` afterwards.
        """
        self._count_hours(row, trace_id, counters(row), 1)

    def _count_hours(self, row: SpanRow, trace_id: Text, share: Counters, sign: int) -> None:
        key = (row.model or "", row.operation, _inheritable(row))
        self._hours[key] = added(self._hours.get(key) or nothing(), share, sign)
        if _is_own(row.labels):
            before = self._own_traces.get(trace_id) or nothing()
            self._own_traces[trace_id] = added(before, share, sign)

    def store_facets(self, connection: Connection) -> None:
        """Store how many spans of each trace have each model, label or other facet value.

        The method may be called again after further changes.
        """
        changes = {key: count for key, count in self._facets.items() if count}
        statements.insert(
            connection,
            "INSERT INTO trace_facets (facet, value, trace, count)",
            [(*key, changes[key]) for key in _in_order(changes)],
            _ADD_FACETS,
        )
        fewer = {trace for (_, _, trace), count in changes.items() if count < 0}
        statements.run(
            connection, "DELETE FROM trace_facets WHERE trace IN ({}) AND count = 0", sorted(fewer)
        )
        self._facets.clear()

    def store(self, connection: Connection, states: Iterable[TraceState]) -> None:
        """Store all sums except the facets. The states must be settled (`TraceState.settle`)."""
        every = list(states)
        store_traces(connection, every)
        _store_runs(connection, every)
        self._store_hours(connection, every=True)
        self._store_properties(connection, every=True)

    def store_own(self, connection: Connection) -> None:
        """Store the sums of Treadle's own calls alone."""
        self._store_hours(connection, every=False)
        self._store_properties(connection, every=False)

    def _inheritable_sums(self) -> Iterator[tuple[_Inheritable, Counters]]:
        for (_, _, key), share in self._hours.items():
            yield key, share
        yield from self._inherited.items()

    def _store_properties(self, connection: Connection, *, every: bool) -> None:
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
            _ADD_PROPERTIES,
        )
        connection.executemany(
            "DELETE FROM properties WHERE name = ? AND value = ? AND spans = 0",
            [key for key in ordered if changes[key][0] < 0],
        )

    def _store_hours(self, connection: Connection, *, every: bool) -> None:
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
            _ADD_HOURS,
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
    """Return the prefixes of the dimensions to which a span with these labels contributes.

    If `every` is false, only the dimensions of Treadle's own calls are included.
    """
    own = (OWN,) if _is_own(labels) else ()
    return ("", *own) if every else own


def _prefixed(prefix: str, name: Text) -> Text:
    return prefix + name if isinstance(name, str) else PackedText(prefix.encode() + name)


def _store_runs(connection: Connection, states: Sequence[TraceState]) -> None:
    moves: list[_Move] = [
        (state.old_run, state.old_sums, None if state.empty else state.run_id, state.sums)
        for state in states
    ]
    shares = _shares(moves)
    before = statements.request(connection, _RUN_THREADS, shares)
    statements.insert(
        connection,
        f"INSERT INTO runs (run_id, thread_id, start_us, last_us, {COUNTER_COLUMNS})",
        [(run, run, 0, 0, *share) for run, share in shares.items()],
        _ADD_RUNS,
    )
    statements.run(connection, _DELETE_EMPTY_RUNS, _left(moves))
    statements.run(connection, _SETTLE_RUNS, shares)
    stored = statements.request(connection, _RUN_SUMS, shares)
    _store_threads(connection, shares, dict(before), list(stored))


def _store_threads(
    connection: Connection,
    shares: dict[Text, Counters],
    before: dict[Text, Text],
    stored: Sequence[Sequence[Any]],
) -> None:
    """Add the changes of runs to their threads. All sums of a moved run move to the new thread.

    `before` has the earlier threads of the runs. `stored` has their present threads and sums.
    """
    after = {run: thread for run, thread, *_ in stored}
    sums = {run: list(rest) for run, _, *rest in stored}
    moved = {run for run in shares if before.get(run) != after.get(run)}
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
        _ADD_THREADS,
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
