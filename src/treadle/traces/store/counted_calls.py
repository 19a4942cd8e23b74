"""Updates `spans.counted` (whether a call of a model counts) when spans change.

`spans.totals.counted_calls` defines the rule. A changed span can affect its ancestors and
descendants up to the next calls. Only these spans are read.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from treadle.database import Connection
from treadle.spans.totals import SEPARATE, STEPS, Step, counted_calls, forwards_call, is_call
from treadle.traces.store import statements
from treadle.traces.store.columns import SpanRow
from treadle.traces.store.schema import CALL_KINDS, STEP_KINDS
from treadle.traces.store.statements import Text

SpanId = tuple[int, Text]
"""The key of a trace (`traces.id`) and a span id."""

_PASSES = f"""(s.{STEP_KINDS} AND (s.{CALL_KINDS}
    OR s.kind = 'other' AND s.operation NOT IN {SEPARATE}
    OR s.kind = 'agent' AND s.operation IN {STEPS}))"""

_RELATED = f"""
    SELECT column1, column2 FROM (VALUES {{}}) AS ids
    WHERE (
        SELECT 1 FROM spans s INDEXED BY steps_by_parent
        WHERE s.trace = column1 AND s.parent_id = column2 AND {_PASSES} LIMIT 1
    ) NOTNULL OR (
        SELECT 1 FROM spans own JOIN spans s ON s.span_id = own.parent_id AND s.trace = own.trace
        WHERE own.span_id = column2 AND own.trace = column1 AND {_PASSES} LIMIT 1
    ) NOTNULL"""  # noqa: S608  (constants)
"""Selects the spans that have a step (`is_step`) as their parent or child.

Most model calls have neither, so they count. The subqueries are not EXISTS, since PostgreSQL may
read all steps of the store to answer EXISTS.
"""
_ABOVE = f"""
    WITH RECURSIVE above (trace, span_id, parent_id, kind) AS (
        SELECT s.trace, s.span_id, s.parent_id, s.kind
        FROM (VALUES {{}}) AS ids
        CROSS JOIN spans s ON s.span_id = ids.column2 AND s.trace = ids.column1
        WHERE {_PASSES}
        UNION
        SELECT s.trace, s.span_id, s.parent_id, s.kind
        FROM above CROSS JOIN spans s ON s.span_id = above.parent_id AND s.trace = above.trace
        WHERE {_PASSES}
    )
    SELECT trace, span_id, parent_id, kind FROM above"""  # noqa: S608  (constants)
_BELOW = f"""
    WITH RECURSIVE below (trace, span_id) AS (
        SELECT column1, column2 COLLATE BINARY FROM (VALUES {{}}) AS ids
        UNION
        SELECT s.trace, s.span_id
        FROM below CROSS JOIN spans s INDEXED BY steps_by_parent
            ON s.trace = below.trace AND s.parent_id = below.span_id
        WHERE {_PASSES}
    )
    SELECT s.trace, s.span_id, s.parent_id, s.kind,
        coalesce(s.input_tokens, s.output_tokens, s.cost_nano) NOTNULL,
        s.counted = 1 OR s.same_as NOTNULL
    FROM below CROSS JOIN spans s ON s.span_id = below.span_id AND s.trace = below.trace
    WHERE {_PASSES}"""  # noqa: S608  (constants)


class _Found(NamedTuple):
    """A row of the statement `_BELOW`."""

    trace: int
    span_id: Text
    parent_id: Text | None
    kind: str
    known: int
    innermost: int
    """Whether the call counts, or would count without another record of the same call."""


def is_step(row: SpanRow) -> bool:
    """Return whether the span is a call of a model, or may be between two such calls."""
    return is_call(row.kind) or forwards_call(row.kind, str(row.operation))


def left_by(before: SpanRow, row: SpanRow) -> set[SpanId]:
    """Return the span and its old parent if the change may affect which calls count.

    Otherwise the result is empty. `before` is the old row of the span, and `row` is the new one.
    """
    if not is_step(before) or (before.parent_id == row.parent_id and is_step(row)):
        return set()
    spans = {(row.trace, row.span_id)}
    if before.parent_id is not None:
        spans.add((row.trace, before.parent_id))
    return spans


def miscounted(
    connection: Connection, changed: Iterable[SpanId], left: Iterable[SpanId]
) -> list[SpanId]:
    """Return the calls whose `counted` is wrong, without regard to other records of the calls.

    Only the calls around and below the spans of `changed` and `left` are checked. `left_by` returns
    the spans of `left`.
    """
    spans = {*left, *statements.select(connection, _RELATED, changed)}
    if not spans:
        return []
    tops = spans | _outermost_calls(connection, spans)
    found = {
        (each.trace, each.span_id): each
        for each in map(_Found._make, statements.select(connection, _BELOW, tops))
    }
    traces: dict[int, list[_Found]] = defaultdict(list)
    for each in found.values():
        traces[each.trace].append(each)
    wrong: list[SpanId] = []
    for trace, steps in traces.items():
        counted = counted_calls(
            Step(
                _id(s.span_id),
                None if s.parent_id is None else _id(s.parent_id),
                s.kind if is_call(s.kind) else None,
                bool(s.known),
            )
            for s in steps
        )
        wrong += [
            (trace, s.span_id)
            for s in steps
            if is_call(s.kind) and (_id(s.span_id) in counted) != bool(s.innermost)
        ]
    return wrong


def _outermost_calls(connection: Connection, spans: set[SpanId]) -> set[SpanId]:
    """Return the outermost model call around each span that is within a model call."""
    parents: dict[SpanId, SpanId | None] = {}
    calls: set[SpanId] = set()
    for trace, span_id, parent_id, kind in statements.select(connection, _ABOVE, spans):
        parents[trace, span_id] = None if parent_id is None else (trace, parent_id)
        if is_call(kind):
            calls.add((trace, span_id))
    outermost: dict[SpanId, SpanId | None] = {}
    for start in parents:
        path: dict[SpanId, None] = {}
        current: SpanId | None = start
        while current in parents and current not in outermost and current not in path:
            path[current] = None
            current = parents[current]
        top = outermost.get(current) if current is not None else None
        for span in reversed(path):
            if top is None and span in calls:
                top = span
            outermost[span] = top
    return {top for top in outermost.values() if top is not None}


def _id(text: Text) -> str:
    """Return a string key for a text, which may be stored as bytes."""
    return text if isinstance(text, str) else f"\0{text.hex()}"
