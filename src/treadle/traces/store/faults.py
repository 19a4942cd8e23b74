"""Updates the column `spans.fault`: whether a span counts as a fault.

An exception often passes from a tool through its agent to the run, and each of these spans fails.
This is one fault. Therefore a failed span counts as a fault only if none of its children failed. If
a client and the gateway recorded the same failed call in different traces, only the client's span
counts.
"""

from collections.abc import Iterable

from treadle.database import Connection
from treadle.spans.same_calls import GATEWAY_BIT
from treadle.spans.span import SpanStatus
from treadle.traces.store import statements
from treadle.traces.store.columns import COLUMNS, SpanRow
from treadle.traces.store.counters import added, counters
from treadle.traces.store.statements import Text
from treadle.traces.store.sums import SumChanges
from treadle.traces.store.trace_states import TraceState

UNMATCHED_FAULT = """(s.status = 'error' AND NOT EXISTS (
        SELECT 1 FROM spans child INDEXED BY failed_by_parent
        WHERE child.trace = s.trace AND child.parent_id = s.span_id AND child.status = 'error'
            AND child.span_id != s.span_id
    ))"""
"""The SQL condition that the span `s` failed and none of its children failed."""

FAULT = f"""({UNMATCHED_FAULT} AND NOT (
        s.same_as NOTNULL AND coalesce(s.response_key, s.content_key, 0) & {GATEWAY_BIT} != 0
    ))"""
"""The SQL condition that the span `s` counts as a fault."""

_NAMES = ", ".join(f"s.{name}" for name in COLUMNS)
_OUTDATED = f"""
    SELECT {_NAMES} FROM (VALUES {{}}) AS ids
    CROSS JOIN spans s ON s.span_id = ids.column2 AND s.trace = ids.column1
    WHERE (s.fault = 1) != {FAULT}"""  # noqa: S608  (constants)


def recount_faults(
    connection: Connection,
    rows: Iterable[SpanRow],
    traces: dict[int, TraceState],
    sums: SumChanges,
) -> None:
    """Update which spans count as faults, after changes of these rows.

    `rows` are the rows of new, changed and removed spans. A changed span has two rows, the old and
    the new one. `traces` has the states of the traces of all these rows, by the key of the trace.
    """
    related: dict[tuple[int, Text], None] = {}
    for row in rows:
        if row.status == SpanStatus.ERROR:
            related[row.trace, row.span_id] = None
            if row.parent_id is not None:
                related[row.trace, row.parent_id] = None
    if not related:
        return
    outdated = [SpanRow(*values) for values in statements.select(connection, _OUTDATED, related)]
    for row in outdated:
        difference = added(counters(row._replace(fault=int(not row.fault))), counters(row), -1)
        sums.count(row, traces[row.trace], difference, 1)
    statements.run(
        connection,
        "UPDATE spans SET fault = 1 - fault WHERE id IN ({})",
        [row.id for row in outdated],
    )
