"""Keeps the properties that spans inherit from the root of their trace up to date.

A root often arrives after the spans below it. Then the properties of these spans change, and with
them the sums. The cost is proportional to the number of spans of the trace, and arises only if the
root states properties.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from treadle.traces.store import statements
from treadle.traces.store.columns import COLUMNS, SpanRow
from treadle.traces.store.properties import inherit, property_pairs
from treadle.traces.store.sums import SumChanges, TraceState

_AT_ONCE = 500
_ROWS = f"""
    SELECT {", ".join(COLUMNS)} FROM spans INDEXED BY spans_of_trace
    WHERE trace = ? AND id > ? ORDER BY id LIMIT {_AT_ONCE}"""  # noqa: S608  (names of columns)
_OF_ROOT = "SELECT properties, inherited FROM spans WHERE id = ?"
_UPDATE = "UPDATE spans SET properties = ?, inherited = ? WHERE id = ?"
_STORED = "SELECT id, properties FROM spans WHERE id IN ({}) AND properties NOTNULL"
_DELETE = "DELETE FROM span_properties WHERE name = ? AND value = ? AND span = ?"


def with_inherited(row: SpanRow, of_root: str | None) -> SpanRow:
    """Return the row with the properties that it inherits. `of_root` are those of the root."""
    if of_root is None and row.inherited is None:
        return row
    properties, inherited = inherit(row.properties, row.inherited, of_root)
    return row._replace(properties=properties, inherited=inherited)


def store(
    connection: sqlite3.Connection,
    states: Iterable[TraceState],
    expected: Mapping[int, str | None],
    sums: SumChanges,
) -> None:
    """Update the stored spans of traces whose root states other properties than before.

    `states` must be settled. `expected` are the properties that the new rows of the transaction
    inherit, by the key of the trace.
    """
    for state in states:
        if state.empty or state.id not in expected:
            continue
        of_root = expected[state.id]
        if state.uprooted:
            of_root = _of_root(connection, state)
        alone = state.old_run is None and of_root == expected[state.id]
        if alone or (of_root == expected[state.id] == state.inherited):
            continue
        _update_trace(connection, state.id, of_root, sums)
    sums.store_facets(connection)


def insert(connection: sqlite3.Connection, rows: Iterable[SpanRow]) -> None:
    """Add the properties of these rows to the index of properties."""
    statements.insert(
        connection,
        "INSERT INTO span_properties (name, value, span)",
        [(*pair, row.id) for row in rows for pair in property_pairs(row.properties)],
    )


def delete(connection: sqlite3.Connection, keys: Sequence[int]) -> None:
    """Remove the properties of the spans with these keys from the index of properties.

    The rows of the spans must still be stored.
    """
    stored = statements.select(connection, _STORED, keys)
    listed = [(*pair, key) for key, properties in stored for pair in property_pairs(properties)]
    connection.executemany(_DELETE, listed)


def _of_root(connection: sqlite3.Connection, state: TraceState) -> str | None:
    """Return the properties that the root of the trace states."""
    if state.rank is None or state.rank[0]:
        return None
    properties, inherited = connection.execute(_OF_ROOT, (state.root,)).fetchone()
    own, _ = inherit(properties, inherited, None)
    return own


def _update_trace(
    connection: sqlite3.Connection, trace: int, of_root: str | None, sums: SumChanges
) -> None:
    """Update the spans of a trace, in batches of limited size."""
    last = -(1 << 63)
    while found := connection.execute(_ROWS, (trace, last)).fetchall():
        rows = list(map(SpanRow._make, found))
        last = rows[-1].id
        changed = []
        for row in rows:
            new = with_inherited(row, of_root)
            if (new.properties, new.inherited) != (row.properties, row.inherited):
                changed.append((row, new))
        _replace(connection, changed, sums)


def _replace(
    connection: sqlite3.Connection, changed: Sequence[tuple[SpanRow, SpanRow]], sums: SumChanges
) -> None:
    for row, new in changed:
        sums.change_properties(row, new)
    connection.executemany(
        _DELETE,
        [(*pair, row.id) for row, _ in changed for pair in property_pairs(row.properties)],
    )
    connection.executemany(_UPDATE, [(new.properties, new.inherited, new.id) for _, new in changed])
    insert(connection, [new for _, new in changed])
