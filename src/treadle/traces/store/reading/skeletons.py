"""The skeleton of a trace: what a tree and a timeline need, column by column, without contents."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from typing import NamedTuple

from treadle.errors import NotFoundError
from treadle.traces.forest import Node, arrange
from treadle.traces.store.packing import packed
from treadle.traces.store.reading.listed import plain


class Flag(IntFlag):
    """What is odd about a span."""

    CYCLE = 1
    """It is its own ancestor; here the ring was cut open."""
    MISSING = 2
    """A parent that never arrived; only its children are known."""
    CLOCK_SKEW = 4
    """It ended before it started."""
    UNFINISHED = 8
    OUTSIDE_PARENT = 16
    """It is not within the time of its parent."""
    UNCOUNTED = 32
    """A model call around another one, whose tokens and cost count there."""


# As plain integers: of a large trace most of the time went into those of the class.
_CYCLE, _MISSING, _CLOCK_SKEW = int(Flag.CYCLE), int(Flag.MISSING), int(Flag.CLOCK_SKEW)
_UNFINISHED, _OUTSIDE_PARENT = int(Flag.UNFINISHED), int(Flag.OUTSIDE_PARENT)
_UNCOUNTED = int(Flag.UNCOUNTED)


@dataclass(slots=True)
class Columns:
    """One entry a span in each, parents before children, children by their start.

    `parents` are places in these lists, -1 for none. `names`, `operations` and `models` are places
    in `Skeleton.texts`, -1 for none; `kinds` and `statuses` too. `starts` are microseconds since
    the start of the trace, `durations` microseconds, None where there is none; `first_tokens`
    count from the start of their span. `costs` are billionths of a dollar.
    """

    span_ids: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    names: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    operations: list[int] = field(default_factory=list)
    models: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    starts: list[int | None] = field(default_factory=list)
    durations: list[int | None] = field(default_factory=list)
    first_tokens: list[int | None] = field(default_factory=list)
    input_tokens: list[int | None] = field(default_factory=list)
    output_tokens: list[int | None] = field(default_factory=list)
    costs: list[int | None] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A trace without contents. `root` is the place of the true root, None while there is none.

    `start_us` is the first start, in Unix microseconds, `last_us` the last moment that is known.
    """

    trace_id: str
    run_id: str
    thread_id: str
    start_us: int
    last_us: int
    root: int | None
    revision: int
    """The newest revision of its spans: what was written later is not in it."""
    texts: tuple[str, ...]
    columns: Columns


class _Row(NamedTuple):
    span_id: str
    parent_id: str | None
    key: int
    name: str
    kind: str
    operation: str
    model: str | None
    status: str
    start_us: int
    end_us: int | None
    duration_us: int | None
    ttft_us: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_nano: int | None
    counted: int
    revision: int


_TRACE = """
    SELECT t.id, t.run_id, r.thread_id, t.start_us, t.last_us, t.root, t.rooted
    FROM traces t JOIN runs r ON r.run_id = t.run_id WHERE t.trace_id = ?"""
_SPANS = """
    SELECT span_id, parent_id, id, name, kind, operation, model, status, start_us, end_us,
        duration_us, ttft_us, input_tokens, output_tokens, cost_nano, counted, revision
    FROM spans INDEXED BY spans_of_trace WHERE trace = ?"""


def skeleton(connection: sqlite3.Connection, trace_id: str) -> Skeleton:
    """The skeleton of the trace with that id. Raises NotFoundError when there is none."""
    found = connection.execute(_TRACE, (packed(trace_id),)).fetchone()
    if found is None:
        raise NotFoundError(
            f"There is no trace {trace_id}.", hint="`treadle traces list` shows what was recorded."
        )
    key, run_id, thread_id, start_us, last_us, root, rooted = map(plain, found)
    rows = [_row(each) for each in connection.execute(_SPANS, (key,))]
    texts: dict[str, int] = {}
    columns, places = Columns(), dict[str, int]()
    for node in arrange(rows):
        _add(columns, texts, places, node, start_us)
    root_row = next((row for row in rows if rooted and row.key == root), None)
    return Skeleton(
        trace_id=trace_id,
        run_id=run_id,
        thread_id=thread_id,
        start_us=start_us,
        last_us=last_us,
        root=places[root_row.span_id] if root_row else None,
        revision=max(row.revision for row in rows),
        texts=tuple(texts),
        columns=columns,
    )


def _row(values: Sequence[object]) -> _Row:
    return _Row._make(map(plain, values) if bytes in map(type, values) else values)


def _add(
    columns: Columns,
    texts: dict[str, int],
    places: dict[str, int],
    node: Node[_Row],
    start_us: int,
) -> None:
    row = node.span
    parent = -1
    if row is not None and node.depth and row.parent_id is not None:
        parent = places[row.parent_id]
    places[node.span_id] = len(columns.span_ids)
    columns.span_ids.append(node.span_id)
    columns.parents.append(parent)
    columns.depths.append(node.depth)
    if row is None:
        _add_missing(columns)
        return
    columns.names.append(texts.setdefault(row.name, len(texts)))
    columns.kinds.append(texts.setdefault(row.kind, len(texts)))
    columns.operations.append(texts.setdefault(row.operation, len(texts)))
    columns.models.append(-1 if row.model is None else texts.setdefault(row.model, len(texts)))
    columns.statuses.append(texts.setdefault(row.status, len(texts)))
    columns.starts.append(row.start_us - start_us)
    columns.durations.append(row.duration_us)
    columns.first_tokens.append(row.ttft_us)
    columns.input_tokens.append(row.input_tokens)
    columns.output_tokens.append(row.output_tokens)
    columns.costs.append(row.cost_nano)
    columns.flags.append(_flags(columns, row, parent, cycle=node.cycle))


def _add_missing(columns: Columns) -> None:
    """What nobody knows of a parent that never arrived."""
    for texts in (
        columns.names,
        columns.kinds,
        columns.operations,
        columns.models,
        columns.statuses,
    ):
        texts.append(-1)
    for numbers in (
        columns.starts,
        columns.durations,
        columns.first_tokens,
        columns.input_tokens,
        columns.output_tokens,
        columns.costs,
    ):
        numbers.append(None)
    columns.flags.append(_MISSING)


def _flags(columns: Columns, row: _Row, parent: int, *, cycle: bool) -> int:
    flags = _CYCLE if cycle else 0
    if row.end_us is None:
        flags |= _UNFINISHED
    elif row.duration_us is None:
        flags |= _CLOCK_SKEW
    if not row.counted and row.kind == "model":
        flags |= _UNCOUNTED
    above = columns.starts[parent] if parent >= 0 else None
    if above is not None:
        took = columns.durations[parent]
        start = columns.starts[-1] or 0
        end = start + (row.duration_us or 0)
        if start < above or (took is not None and end > above + took):
            flags |= _OUTSIDE_PARENT
    return flags
