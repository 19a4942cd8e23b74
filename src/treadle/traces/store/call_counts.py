"""Stores which calls count, and adjusts the sums.

`counted_calls` finds the calls that count in their trace. `same_calls` finds the calls that have a
second record in another trace. Only one of these two records counts. `faults` finds the failed
spans that count as faults.
"""

from collections.abc import Iterable, Sequence

from treadle.database import Connection
from treadle.traces.store import counted_calls, same_calls, statements
from treadle.traces.store.columns import COLUMNS, SpanRow
from treadle.traces.store.counters import added, counters
from treadle.traces.store.faults import recount_faults
from treadle.traces.store.revisions import new_revisions
from treadle.traces.store.sums import SumChanges
from treadle.traces.store.trace_states import TraceState, trace_states

_NAMES = ", ".join(f"spans.{name}" for name in COLUMNS)
STORED_ROWS = f"""
    SELECT {_NAMES} FROM (VALUES {{}}) AS ids
    CROSS JOIN spans ON spans.trace = ids.column1 AND spans.span_id = ids.column2"""  # noqa: S608
"""Selects the rows of spans by pairs of a trace's key and a span id."""

_ROWS_BY_KEY = f"SELECT {_NAMES} FROM spans WHERE id IN ({{}})"  # noqa: S608  (names of columns)
_TRACE_IDS = "SELECT trace_id FROM traces WHERE id IN ({})"
_UPDATE = "UPDATE spans SET counted = ?, same_as = ?, revision = ? WHERE id = ?"


def recount(
    connection: Connection,
    changes: Iterable[tuple[SpanRow | None, SpanRow]],
    traces: dict[int, TraceState],
    sums: SumChanges,
) -> None:
    """Update which calls count and which spans count as faults. The changes must be stored already.

    Each change has the old row of a span, or None, and the new row. `traces` are the states of the
    changed traces by key. The states of other traces whose sums change are added to `traces`.
    """
    steps: list[counted_calls.SpanId] = []
    left: set[counted_calls.SpanId] = set()
    rows: list[SpanRow] = []
    for before, row in changes:
        if counted_calls.is_step(row):
            steps.append((row.trace, row.span_id))
        if before is not None:
            left |= counted_calls.left_by(before, row)
            rows.append(before)
        rows.append(row)
    rows += recount_nested(connection, steps, left, traces, sums)
    rows += match_calls(connection, rows, traces, sums)
    recount_faults(connection, rows, traces, sums)


def recount_nested(
    connection: Connection,
    changed: Iterable[counted_calls.SpanId],
    left: Iterable[counted_calls.SpanId],
    traces: dict[int, TraceState],
    sums: SumChanges,
) -> list[SpanRow]:
    """Update which calls count in their traces, and return the earlier rows of updated calls.

    `changed` are spans with new contents. `left` are the spans that `counted_calls.left_by`
    returned for the changes.
    """
    found = counted_calls.miscounted(connection, changed, left)
    rows = [SpanRow(*values) for values in statements.select(connection, STORED_ROWS, found)]
    invert_counted(connection, rows, traces, sums)
    return rows


def invert_counted(
    connection: Connection,
    rows: Sequence[SpanRow],
    traces: dict[int, TraceState],
    sums: SumChanges,
) -> None:
    """Invert which of these calls count: those that counted no longer count, and the others do.

    A call whose other record counts is treated as a call that counts, and loses its other record.
    """
    changes = []
    for row in rows:
        counts = row.counted or row.same_as is not None
        changes.append((row, row._replace(counted=int(not counts), same_as=None)))
    _store(connection, changes, traces, sums)


def match_calls(
    connection: Connection,
    rows: Iterable[SpanRow],
    traces: dict[int, TraceState],
    sums: SumChanges,
) -> list[SpanRow]:
    """Update which calls are records of the same call, after changes of these rows.

    `rows` are the rows of new, changed and removed calls. `traces` and `sums` are as in `recount`.
    Returns the earlier rows of the updated calls.
    """
    trace_ids = {key: state.trace_id for key, state in traces.items()}
    outcomes = {each.key: each for each in same_calls.outdated(connection, rows, trace_ids)}
    changes = []
    for values in statements.select(connection, _ROWS_BY_KEY, outcomes):
        row = SpanRow(*values)
        new = outcomes[row.id]
        changes.append((row, row._replace(counted=int(new.counted), same_as=new.same_as)))
    _store(connection, changes, traces, sums)
    return [row for row, _ in changes]


def _store(
    connection: Connection,
    changes: Sequence[tuple[SpanRow, SpanRow]],
    traces: dict[int, TraceState],
    sums: SumChanges,
) -> None:
    missing = {row.trace for row, _ in changes if row.trace not in traces}
    if missing:
        names = [name for (name,) in statements.select(connection, _TRACE_IDS, missing)]
        traces.update({state.id: state for state in trace_states(connection, names).values()})
    for row, new in changes:
        if row.counted != new.counted:
            difference = added(counters(new), counters(row), -1)
            sums.count(row, traces[row.trace], difference, 1)
    if not changes:
        return
    revisions = new_revisions(connection, len(changes))  # live views show which calls count
    connection.executemany(
        _UPDATE,
        [
            (new.counted, new.same_as, revision, new.id)
            for revision, (_, new) in zip(revisions, changes, strict=True)
        ],
    )
