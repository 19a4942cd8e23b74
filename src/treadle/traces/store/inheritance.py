"""Keeps the properties and labels that spans inherit from the root of their trace up to date.

A root often arrives after the spans below it. Then the properties and labels of these spans change,
and so do the sums. This update takes time in proportion to the number of spans of the trace. It is
needed only if the root states properties or labels.
"""

from collections.abc import Iterable, Mapping, Sequence

from treadle.database import Connection
from treadle.traces.store import statements
from treadle.traces.store.columns import COLUMNS, SpanRow
from treadle.traces.store.properties import (
    NO_INHERITANCE,
    Inheritance,
    inherit,
    inherit_labels,
    property_pairs,
)
from treadle.traces.store.revisions import new_revisions
from treadle.traces.store.statements import labels_of
from treadle.traces.store.sums import SumChanges
from treadle.traces.store.trace_states import TraceState

_AT_ONCE = 500
_ROWS = f"""
    SELECT {", ".join(COLUMNS)} FROM spans INDEXED BY spans_of_trace
    WHERE trace = ? AND id > ? ORDER BY id LIMIT {_AT_ONCE}"""  # noqa: S608  (names of columns)
_OF_ROOT = f"SELECT {', '.join(COLUMNS)} FROM spans WHERE id = ?"  # noqa: S608  (names of columns)
_UPDATE = """
    UPDATE spans SET properties = column2, inherited = column3, labels = column4,
        inherited_labels = column5, revision = column6
    FROM (VALUES {}) AS changed WHERE spans.id = column1"""
_STORED = "SELECT id, properties FROM spans WHERE id IN ({}) AND properties NOTNULL"
_DELETE_LABEL = "DELETE FROM span_labels WHERE label = ? AND span = ?"
_DELETE = "DELETE FROM span_properties WHERE name = ? AND value = ? AND span = ?"


def with_inherited(row: SpanRow, of_root: Inheritance) -> SpanRow:
    """Return the row with the properties and the labels that it inherits from the root."""
    if of_root == NO_INHERITANCE and row.inherited is None and row.inherited_labels is None:
        return row
    properties, inherited = inherit(row.properties, row.inherited, of_root.properties)
    labels, inherited_labels = inherit_labels(row.labels, row.inherited_labels, of_root.labels)
    return row._replace(
        properties=properties, inherited=inherited, labels=labels, inherited_labels=inherited_labels
    )


def store(
    connection: Connection,
    states: Iterable[TraceState],
    expected: Mapping[int, Inheritance],
    sums: SumChanges,
) -> None:
    """Update the stored spans of traces whose root gives other properties or labels than before.

    `states` must be settled (`TraceState.settle`). `expected` is the inheritance that the new rows
    of the transaction already have, by the key of the trace.
    """
    for state in states:
        if state.empty or state.id not in expected:
            continue
        inheritance = expected[state.id]
        if state.uprooted:
            inheritance = of_root(connection, state)
        alone = state.old_run is None and inheritance == expected[state.id]
        if alone or (inheritance == expected[state.id] == state.inherited):
            continue
        update_trace(connection, state.id, inheritance, sums)
    sums.store_facets(connection)


def insert(connection: Connection, rows: Sequence[SpanRow]) -> None:
    """Add the properties and the labels of these rows to their indexes."""
    statements.insert(
        connection,
        "INSERT INTO span_labels (label, span)",
        [(label, row.id) for row in rows for label in labels_of(row.labels)],
    )
    statements.insert(
        connection,
        "INSERT INTO span_properties (name, value, span)",
        [(*pair, row.id) for row in rows for pair in property_pairs(row.properties)],
    )


def delete(connection: Connection, keys: Sequence[int]) -> None:
    """Remove the properties of the spans with these keys from the index of properties.

    The rows of the spans must still be stored.
    """
    stored = statements.select(connection, _STORED, keys)
    listed = [(*pair, key) for key, properties in stored for pair in property_pairs(properties)]
    connection.executemany(_DELETE, listed)


def of_root(connection: Connection, state: TraceState) -> Inheritance:
    """Return what the other spans of the trace inherit from its root."""
    if state.rank is None or state.rank[0]:
        return NO_INHERITANCE
    row = SpanRow(*connection.execute(_OF_ROOT, (state.root,)).fetchone())
    own = with_inherited(row, NO_INHERITANCE)
    return Inheritance.of_root(own.properties, own.labels)


def update_trace(
    connection: Connection, trace: int, of_root: Inheritance, sums: SumChanges
) -> None:
    """Update the spans of a trace, in batches of limited size."""
    last = -(1 << 63)
    while found := connection.execute(_ROWS, (trace, last)).fetchall():
        rows = list(map(SpanRow._make, found))
        last = rows[-1].id
        changed = []
        for row in rows:
            new = with_inherited(row, of_root)
            if new != row:
                changed.append((row, new))
        _replace(connection, changed, sums)


def _replace(
    connection: Connection, changed: Sequence[tuple[SpanRow, SpanRow]], sums: SumChanges
) -> None:
    for row, new in changed:
        sums.change_inherited(row, new)
    if not changed:
        return
    revisions = new_revisions(connection, len(changed))  # live views show the new values
    connection.executemany(
        _DELETE_LABEL, [(label, row.id) for row, _ in changed for label in labels_of(row.labels)]
    )
    connection.executemany(
        _DELETE,
        [(*pair, row.id) for row, _ in changed for pair in property_pairs(row.properties)],
    )
    statements.run(
        connection,
        _UPDATE,
        [
            (new.id, new.properties, new.inherited, new.labels, new.inherited_labels, revision)
            for revision, (_, new) in zip(revisions, changed, strict=True)
        ],
    )
    insert(connection, [new for _, new in changed])
