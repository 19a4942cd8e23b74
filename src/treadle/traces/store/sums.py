"""The sums of traces, runs, threads and hours: changed by what each span adds or takes away.

A span's share goes to its trace; a trace's to its run, a run's to its thread. When one of them
moves, what it had moves along: its kept sums are taken from the one and given to the other.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from treadle.traces.store import statements, trace_states
from treadle.traces.store.columns import SpanRow
from treadle.traces.store.counters import (
    COUNTER_COLUMNS,
    COUNTER_NAMES,
    Counters,
    added,
    counters,
    nothing,
)
from treadle.traces.store.packing import Text
from treadle.traces.store.trace_states import TraceState

HOUR_US = 3_600_000_000

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
"""What a part belonged to with which sums, and what it belongs to with which; None for nothing."""


class Sums:
    """What one transaction changes in the sums. `add` in any order, then `store` once."""

    def __init__(self) -> None:
        self._hours: dict[tuple[int, Text, Text], Counters] = {}
        self._labels: dict[tuple[int, Text], Counters] = {}
        self._facets: dict[tuple[str, Text, int], int] = defaultdict(int)

    def add(self, row: SpanRow, labels: Sequence[Text], state: TraceState, sign: int = 1) -> None:
        """A span with that row is there; with `sign` -1 no longer."""
        self.count(row, labels, state, counters(row), sign)
        trace = row.trace
        self._facets["operation", row.operation, trace] += sign
        for facet, value in (
            ("model", row.model),
            ("run", row.own_run),
            ("thread", row.own_thread),
        ):
            if value is not None:
                self._facets[facet, value, trace] += sign
        for label in labels:
            self._facets["label", label, trace] += sign

    def count(
        self, row: SpanRow, labels: Sequence[Text], state: TraceState, share: Counters, sign: int
    ) -> None:
        """Change all sums that the span is part of by `share`."""
        state.count(share, sign)
        hour = row.start_us // HOUR_US * HOUR_US
        key = (hour, row.model or "", row.operation)
        self._hours[key] = added(self._hours.get(key) or nothing(), share, sign)
        for label in labels:
            at = (hour, label)
            self._labels[at] = added(self._labels.get(at) or nothing(), share, sign)

    def store_facets(self, connection: sqlite3.Connection) -> None:
        """Write how many spans of a trace have what."""
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

    def store(self, connection: sqlite3.Connection, states: Iterable[TraceState]) -> None:
        """Write all other sums; the states of the traces must be settled."""
        every = list(states)
        trace_states.store(connection, every)
        _store_runs(connection, every)
        self._store_hours(connection)

    def _store_hours(self, connection: sqlite3.Connection) -> None:
        sums: dict[tuple[str, Text, int], Counters] = {}
        for (hour, model, operation), share in self._hours.items():
            for key in (("all", "", hour), ("model", model, hour), ("operation", operation, hour)):
                sums[key] = added(sums.get(key) or nothing(), share)
        for (hour, label), share in self._labels.items():
            sums["label", label, hour] = share
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
    """Pass on what the runs got, and what they had where they moved."""
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
    """What each whole gets or loses, in the order of their ids; all that are touched are there."""
    shares: dict[Text, Counters] = {}
    for old, old_sums, new, new_sums in moves:
        if old is not None:
            shares[old] = added(shares.get(old) or nothing(), old_sums, -1)
        if new is not None:
            shares[new] = added(shares.get(new) or nothing(), new_sums)
    return dict(sorted(shares.items(), key=lambda item: _order(item[0])))


def _left(moves: Iterable[_Move]) -> list[Text]:
    """The wholes that lost a part, so that they may be empty."""
    return list({old for old, _, new, _ in moves if old is not None and old != new})


def _in_order(changes: dict[tuple[str, Text, int], Change]) -> list[tuple[str, Text, int]]:
    """Their keys in the order of the tables', so that neighbours are written together."""
    return sorted(changes, key=lambda key: (key[0], *_order(key[1]), key[2]))


def _order(text: Text) -> tuple[bool, Text]:
    return isinstance(text, bytes), text
