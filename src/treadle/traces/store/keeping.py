"""Puts versions of spans into the tables, within a transaction of the writer.

What is there afterwards does not depend on the order in which the versions arrived, nor on how
often they did: rows, sums, facets and search text follow from the kept versions alone.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from treadle.spans.span import more_complete
from treadle.traces.store import (
    blobs,
    call_counts,
    contents,
    examination_tables,
    statements,
    trace_states,
)
from treadle.traces.store.arriving import Arrival
from treadle.traces.store.columns import COLUMNS, SpanRow
from treadle.traces.store.counters import added, counters
from treadle.traces.store.keys import Keys
from treadle.traces.store.packing import Text, labels_of
from treadle.traces.store.sums import Sums
from treadle.traces.store.trace_states import TraceState

_COLUMNS = ", ".join(COLUMNS)
_THERE = f"""
    SELECT {", ".join(f"spans.{name}" for name in COLUMNS)}
    FROM (VALUES {{}}) AS wanted
    CROSS JOIN spans ON spans.trace = wanted.column1 AND spans.span_id = wanted.column2"""  # noqa: S608


@dataclass(slots=True)
class _Change:
    """A version that is kept, and the row of the one that it takes the place of."""

    arrival: Arrival
    state: TraceState
    before: SpanRow | None
    row: SpanRow


def keep(connection: sqlite3.Connection, arrivals: Sequence[Arrival], keys: Keys) -> None:
    """Keep every version that is more complete than what is there. At most one for each span."""
    if not arrivals:
        return
    states = trace_states.states(connection, (arrival.trace_id for arrival in arrivals))
    changes = _changes(connection, arrivals, states)
    if not changes:
        return
    _allot(connection, changes, keys)
    sums = Sums()
    for change in changes:
        if change.before:
            sums.add(change.before, labels_of(change.before.labels), change.state, -1)
            change.state.take_out(change.before, change.row)
    for change in changes:
        sums.add(change.row, change.arrival.labels, change.state)
        change.state.put_in(change.row)
    remove(connection, [change.before.id for change in changes if change.before])
    _insert(connection, changes)
    _recount(connection, changes, sums)
    sums.store_facets(connection)
    touched = {change.state.id: change.state for change in changes}
    for state in touched.values():
        state.settle(connection)
    sums.store(connection, touched.values())


def count_redactions(connection: sqlite3.Connection, redacted: Mapping[str, int]) -> None:
    """Add to what is known of secrets that were taken out."""
    statements.insert(
        connection,
        "INSERT INTO redactions (kind, count)",
        [(kind, count) for kind, count in sorted(redacted.items()) if count],
        "ON CONFLICT DO UPDATE SET count = count + excluded.count",
    )


def newest_revision(connection: sqlite3.Connection) -> int:
    """The revision that was given last, ever."""
    found = connection.execute("SELECT number FROM given WHERE what = 'revision'").fetchone()
    return int(found[0])


def remove(connection: sqlite3.Connection, keys: Iterable[int]) -> None:
    """Delete the rows of spans in all tables but the sums, and blobs that nothing uses any more."""
    ordered = sorted(keys)
    if not ordered:
        return
    used = {
        key
        for (key,) in statements.select(
            connection, "SELECT hash FROM blob_uses WHERE span IN ({})", ordered
        )
    }
    labelled = [
        (label, key)
        for key, labels in statements.select(
            connection, "SELECT id, labels FROM spans WHERE id IN ({}) AND labels NOTNULL", ordered
        )
        for label in labels_of(labels)
    ]
    examined = [(table, "span") for table in examination_tables.KEYED_BY_SPAN]
    for table, key in (("texts", "rowid"), ("contents", "id"), ("spans", "id"), *examined):
        statements.run(connection, f"DELETE FROM {table} WHERE {key} IN ({{}})", ordered)  # noqa: S608
    statements.run(connection, "DELETE FROM blob_uses WHERE span IN ({})", ordered)
    connection.executemany("DELETE FROM span_labels WHERE label = ? AND span = ?", labelled)
    statements.run(
        connection,
        "DELETE FROM blobs WHERE hash IN ({})"
        " AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_uses.hash = blobs.hash)",
        used,
    )


def _changes(
    connection: sqlite3.Connection, arrivals: Sequence[Arrival], states: Mapping[Text, TraceState]
) -> list[_Change]:
    """The versions that are new, or more complete than what is there."""
    places = [
        (state.id, arrival.row.span_id)
        for arrival in arrivals
        if not (state := states[arrival.trace_id]).empty
    ]
    there = {
        (row.trace, row.span_id): row
        for row in (SpanRow(*found) for found in statements.select(connection, _THERE, places))
    }
    undecided = [
        (row, arrival)
        for arrival in arrivals
        if (row := there.get((states[arrival.trace_id].id, arrival.row.span_id)))
        and (row.end_us is None) == (arrival.row.end_us is None)
    ]
    better = _more_complete(connection, undecided)
    changes = []
    for arrival in arrivals:
        state = states[arrival.trace_id]
        before = there.get((state.id, arrival.row.span_id))
        if before is None or _wins(before, arrival, better):
            changes.append(_Change(arrival, state, before, arrival.row))
    return changes


def _wins(before: SpanRow, arrival: Arrival, better: set[int]) -> bool:
    if (before.end_us is None) != (arrival.row.end_us is None):
        return before.end_us is None
    return before.id in better


def _more_complete(
    connection: sqlite3.Connection, pairs: Sequence[tuple[SpanRow, Arrival]]
) -> set[int]:
    """The keys of the stored spans that are less complete than what arrived."""
    same = dict(
        statements.select(
            connection,
            "SELECT id, data FROM contents WHERE id IN ({})",
            [row.id for row, _ in pairs],
        )
    )
    different = [(row, arrival) for row, arrival in pairs if same[row.id] != arrival.data]
    stored = contents.spans_by_key(connection, [row.id for row, _ in different])
    return {
        row.id
        for row, arrival in different
        if more_complete(stored[row.id], arrival.span) is arrival.span
    }


def _allot(connection: sqlite3.Connection, changes: Sequence[_Change], keys: Keys) -> None:
    """Give each row its key, trace and revision. A version that starts as before keeps the key."""
    moving = [
        change
        for change in changes
        if change.before is None or change.before.start_us != change.row.start_us
    ]
    allotted = keys.allot(connection, [change.row.start_us for change in moving])
    new = dict(zip(map(id, moving), allotted, strict=True))
    first = newest_revision(connection) + 1
    for revision, change in enumerate(changes, start=first):
        kept = change.before.id if change.before else 0
        change.row = change.row._replace(
            id=new.get(id(change), kept),
            trace=change.state.id,
            revision=revision,
        )
    connection.execute(
        "UPDATE given SET number = ? WHERE what = 'revision'", (first + len(changes) - 1,)
    )


def _insert(connection: sqlite3.Connection, changes: Sequence[_Change]) -> None:
    """Write the rows in the order of their keys: search would flush whenever one went back."""
    ordered = sorted(changes, key=lambda change: change.row.id)
    statements.insert(
        connection, f"INSERT INTO spans ({_COLUMNS})", [change.row for change in ordered]
    )
    statements.insert(
        connection,
        "INSERT INTO contents (id, data)",
        [(change.row.id, change.arrival.data) for change in ordered],
    )
    pieces: blobs.Pieces = {}
    for change in ordered:
        pieces |= change.arrival.pieces
    blobs.store(connection, pieces)
    statements.insert(
        connection,
        "INSERT INTO blob_uses (span, hash)",
        [(change.row.id, key) for change in ordered for key in sorted(change.arrival.pieces)],
    )
    statements.insert(
        connection,
        "INSERT INTO span_labels (label, span)",
        [(label, change.row.id) for change in ordered for label in change.arrival.labels],
    )
    statements.insert(
        connection,
        "INSERT INTO texts (rowid, name, input, output)",
        [(change.row.id, *change.arrival.texts) for change in ordered],
    )


def _recount(connection: sqlite3.Connection, changes: Sequence[_Change], sums: Sums) -> None:
    """Correct which model calls count, now that the changed spans are in place."""
    rows = [change.row for change in changes if call_counts.is_step(change.row)]
    left: set[call_counts.Place] = set()
    for change in changes:
        if change.before is not None:
            left |= call_counts.left_by(change.before, change.row)
    traces = {change.state.id: change.state for change in changes}
    recount(connection, [(row.trace, row.span_id) for row in rows], left, traces, sums)


def recount(
    connection: sqlite3.Connection,
    changed: Iterable[call_counts.Place],
    left: Iterable[call_counts.Place],
    traces: Mapping[int, TraceState],
    sums: Sums,
) -> None:
    """Correct which model calls around these places count, and the sums with them."""
    found = call_counts.miscounted(connection, changed, left)
    wrong = [SpanRow(*values) for values in statements.select(connection, _THERE, found)]
    for row in wrong:
        right = row._replace(counted=1 - row.counted)
        share = added(counters(right), counters(row), -1)
        sums.count(row, labels_of(row.labels), traces[row.trace], share, 1)
    statements.run(
        connection,
        "UPDATE spans SET counted = 1 - counted WHERE id IN ({})",
        [row.id for row in wrong],
    )
