"""The skeleton of a trace: the columns that a tree and a timeline need, without contents."""

from collections.abc import Iterable, Sequence
from enum import IntFlag
from typing import NamedTuple

from treadle.database import Connection
from treadle.errors import NotFoundError
from treadle.spans.forest import Node, arrange
from treadle.spans.totals import CALL_KINDS
from treadle.traces.store.results import metadata_in, release_in, shown_labels, user_in
from treadle.traces.store.skeleton import Columns, Skeleton
from treadle.traces.store.statements import has_packed, packed, plain


class Flag(IntFlag):
    """Irregularities of a span, as bits of a number."""

    CYCLE = 1
    """The span is its own ancestor. The cycle of parents is broken at this span."""
    MISSING = 2
    """The span never arrived. Other spans name it as their parent."""
    CLOCK_SKEW = 4
    """The span ended before it started."""
    UNFINISHED = 8
    OUTSIDE_PARENT = 16
    """The span is not within the time of its parent."""
    UNCOUNTED = 32
    """The span is a model call or an embedding, and a call inside or around it counts instead."""
    ELSEWHERE = 128
    """A span of another trace recorded the same call and counts instead (`spans.same_calls`)."""


# The flags are plain integers. Operations on enumeration members took most of the time that the
# skeleton of a large trace needed.
_CYCLE, _MISSING, _CLOCK_SKEW = int(Flag.CYCLE), int(Flag.MISSING), int(Flag.CLOCK_SKEW)
_UNFINISHED, _OUTSIDE_PARENT = int(Flag.UNFINISHED), int(Flag.OUTSIDE_PARENT)
_UNCOUNTED, _ELSEWHERE = int(Flag.UNCOUNTED), int(Flag.ELSEWHERE)


class _Row(NamedTuple):
    span_id: str
    parent_id: str | None
    key: int
    name: str | None
    kind: str | None
    operation: str | None
    model: str | None
    status: str | None
    start_us: int
    end_us: int | None
    duration_us: int | None
    ttft_us: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_nano: int | None
    counted: int
    same_as: int | None
    revision: int


_MISSING_ROW = _Row(
    "", None, 0, None, None, None, None, None, 0, None, None, None, None, None, None, 1, None, 0
)
"""The row of a parent that never arrived."""

_TRACE = """
    SELECT t.id, t.run_id, r.thread_id, t.start_us, t.last_us, t.root,
        s.labels, s.properties
    FROM traces t JOIN runs r ON r.run_id = t.run_id LEFT JOIN spans s ON s.id = t.root
    WHERE t.trace_id = ?"""
_SPANS = """
    SELECT span_id, parent_id, id, name, kind, operation, model, status, start_us, end_us,
        duration_us, ttft_us, input_tokens, output_tokens, cost_nano, counted, same_as, revision
    FROM spans INDEXED BY spans_of_trace WHERE trace = ?"""


def skeleton(connection: Connection, trace_id: str) -> Skeleton:
    """Return the skeleton of a trace. Raises NotFoundError if the trace does not exist."""
    found = connection.execute(_TRACE, (packed(trace_id),)).fetchone()
    if found is None:
        raise NotFoundError(
            f"There is no trace {trace_id!r}.",
            hint="`treadle traces list` shows what was recorded.",
        )
    key, run_id, thread_id, start_us, last_us, root, labels, properties = map(plain, found)
    rows = _rows(connection.execute(_SPANS, (key,)).fetchall())
    texts: dict[str, int] = {}
    columns = _columns(arrange(rows), texts, start_us)
    root_id = next((row.span_id for row in rows if row.key == root), None)
    return Skeleton(
        trace_id=trace_id,
        run_id=run_id,
        thread_id=thread_id,
        start_us=start_us,
        last_us=last_us,
        root=None if root_id is None else columns.span_ids.index(root_id),
        labels=shown_labels(labels),
        user=user_in(properties),
        release=release_in(properties),
        metadata=metadata_in(properties),
        revision=max(row.revision for row in rows),
        texts=tuple(texts),
        columns=columns,
    )


def _rows(found: Sequence[Sequence[object]]) -> list[_Row]:
    if any(map(has_packed, zip(*found, strict=True))):
        found = [list(map(plain, values)) for values in found]
    return list(map(_Row._make, found))


def _columns(nodes: Sequence[Node[_Row]], texts: dict[str, int], start_us: int) -> Columns:
    """Return the columns of a skeleton. Building a large trace span by span takes twice as long."""
    span_ids = [node.span_id for node in nodes]
    positions = {span_id: position for position, span_id in enumerate(span_ids)}
    rows = [node.span or _MISSING_ROW for node in nodes]

    def texts_of(values: Iterable[str | None]) -> list[int]:
        return [-1 if text is None else texts.setdefault(text, len(texts)) for text in values]

    kinds = texts_of(row.kind for row in rows)  # texts repeat, so indexes of texts are shorter
    statuses = texts_of(row.status for row in rows)
    columns = Columns(
        span_ids=span_ids,
        parents=[
            positions[row.parent_id] if node.depth and row.parent_id is not None else -1
            for node, row in zip(nodes, rows, strict=True)
        ],
        depths=[node.depth for node in nodes],
        names=texts_of(row.name for row in rows),
        kinds=kinds,
        operations=texts_of(row.operation for row in rows),
        models=texts_of(row.model for row in rows),
        statuses=statuses,
        starts=[None if node.span is None else node.span.start_us - start_us for node in nodes],
        durations=[row.duration_us for row in rows],
        first_tokens=[row.ttft_us for row in rows],
        input_tokens=[row.input_tokens for row in rows],
        output_tokens=[row.output_tokens for row in rows],
        costs=[row.cost_nano for row in rows],
        flags=[],
    )
    columns.flags = [_flags(columns, node, position) for position, node in enumerate(nodes)]
    return columns


def _flags(columns: Columns, node: Node[_Row], position: int) -> int:
    row = node.span
    if row is None:
        return _MISSING
    flags = _CYCLE if node.cycle else 0
    if row.end_us is None:
        flags |= _UNFINISHED
    elif row.duration_us is None:
        flags |= _CLOCK_SKEW
    if not row.counted and row.kind in CALL_KINDS:
        flags |= _UNCOUNTED if row.same_as is None else _ELSEWHERE
    parent = columns.parents[position]
    above = columns.starts[parent] if parent >= 0 else None
    if above is not None:
        took = columns.durations[parent]
        start = columns.starts[position] or 0
        end = start + (row.duration_us or 0)
        if start < above or (took is not None and end > above + took):
            flags |= _OUTSIDE_PARENT
    return flags
