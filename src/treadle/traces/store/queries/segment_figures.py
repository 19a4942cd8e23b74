"""Figures of the matching spans in segments, for summaries and facets.

One pass over the segments reads all figures of a summary, or all counts of facets.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from treadle.database import Connection
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.query.conditions import PROPERTIES, AnyField, Field, Query
from treadle.traces.store.counters import Counters, added
from treadle.traces.store.queries.segment_scan import (
    COUNTED_COLUMNS,
    SHAPED,
    Matches,
    counted,
    labels_in,
    matches,
)
from treadle.traces.store.segments import (
    LABELS,
    NAMES,
    OTHERS,
    SHAPES,
    STARTS,
    WAITED,
    row_of_shape,
)
from treadle.traces.store.statements import plain

if TYPE_CHECKING:
    from treadle.traces.store.segments import Array

HIGHEST = 6
"""The maximum number of costs that are kept of each segment: the highest ones."""

_DURATION, _TTFT, _COST = "duration_us", "ttft_us", "cost_nano"


@dataclass(slots=True)
class Figures:
    """The figures of a summary. All lists of arrays but `costs` contain microseconds."""

    sums: dict[tuple[str, str, str], Counters] = field(default_factory=dict)
    """The counters of each operation, status and model ('' for none)."""
    start_us: int | None = None
    last_us: int | None = None
    labels: Counter[str] = field(default_factory=Counter)
    durations: "list[Array]" = field(default_factory=list)
    first_tokens: "list[Array]" = field(default_factory=list)
    of_models: "dict[str, list[Array]]" = field(default_factory=lambda: defaultdict(list))
    """The durations of the counted calls of each model."""
    worked: "dict[str, list[Array]]" = field(default_factory=lambda: defaultdict(list))
    """The durations of the calls of each tool, without the time of waiting for a person."""
    costs: "list[Array]" = field(default_factory=list)
    """The highest costs of each segment, in billionths of a US dollar."""
    calls: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    """`calls` has the number of calls of each tool, and `failed` the number of failed calls."""


def figures(connection: Connection, query: Query) -> Figures:
    """Return the figures of all matching spans in segments."""
    found = Figures()
    columns = (*COUNTED_COLUMNS, STARTS, LABELS, NAMES, _DURATION, _TTFT, _COST, WAITED)
    for spans in matches(connection, query, columns):
        shapes, codes = spans.texts(SHAPES)
        rows = [row_of_shape(tuple(shape)) for shape in shapes]
        duration, timed = _known(spans, _DURATION)
        _add_sums(found, spans, rows, codes)
        _add_bounds(found, spans, duration)
        found.durations.append(duration[timed])
        first_token, there = _known(spans, _TTFT)
        found.first_tokens.append(first_token[there])
        cost, priced = _known(spans, _COST)
        found.costs.append(_highest(cost[priced]))
        _add_models(found, rows, codes, duration, timed)
        _add_tools(found, spans, rows, codes)
        lists, numbers = spans.texts(LABELS)
        for labels, count in _counts(lists, numbers):
            for label in labels_in(labels):
                found.labels[label] += count
    return found


def _highest(values: "Array") -> "Array":
    import numpy

    return values if len(values) <= HIGHEST else numpy.partition(values, -HIGHEST)[-HIGHEST:]


def nth_highest(arrays: "Sequence[Array]", n: int) -> int | None:
    """Return the `n`-th highest value of all arrays, or None if there are fewer values.

    `n` is at most `HIGHEST`.
    """
    import numpy

    every = numpy.concatenate([_highest(values) for values in arrays]) if arrays else ()
    return int(numpy.sort(every)[-n]) if len(every) >= n else None


def value_counts(
    connection: Connection, query: Query, fields: Sequence[AnyField]
) -> dict[AnyField, Counter[str]]:
    """Return the number of matching spans in segments with each value of each field."""
    found: dict[AnyField, Counter[str]] = {each: Counter() for each in fields}
    columns = {name for each in fields for name in _columns(each)}
    for spans in matches(connection, query, sorted(columns)):
        for each, counter in found.items():
            for value, count in _values(spans, each):
                counter[value] += count
    return found


def _values(spans: Matches, each: AnyField) -> Iterator[tuple[str, int]]:
    """Yield values of a field, each with its number of spans. A value may occur several times."""
    if each is Field.LABEL:
        for labels, count in _counts(*spans.texts(LABELS)):
            yield from ((label, count) for label in labels_in(labels))
    elif each is Field.NAME:
        yield from _counts(*spans.texts(NAMES))
    elif isinstance(each, Field) and each not in PROPERTIES:
        for shape, count in _counts(*spans.texts(SHAPES)):
            value = getattr(row_of_shape(tuple(shape)), SHAPED[each])
            if value is not None:
                yield value, count
    elif (named := spans.properties(each.value)) is not None:
        yield from ((value, count) for value, count in _counts(*named) if value is not None)


def _columns(each: AnyField) -> tuple[str, ...]:
    if each is Field.LABEL:
        return (LABELS,)
    if each is Field.NAME:
        return (NAMES,)
    if isinstance(each, Field) and each not in PROPERTIES:
        return (SHAPES,)
    return each.value, OTHERS


def _counts(values: Sequence[Any], codes: "Array") -> list[tuple[Any, int]]:
    """Return the values that spans have, each with its number of spans."""
    import numpy

    counts = numpy.bincount(codes, minlength=len(values)).tolist()
    return [(value, count) for value, count in zip(values, counts, strict=True) if count]


def _known(spans: Matches, name: str) -> "tuple[Array, Array]":
    """Return the numbers of a column, and for each number whether it is known."""
    import numpy

    found = spans.numbers(name)
    if found is None:
        return numpy.zeros(len(spans), numpy.int64), numpy.zeros(len(spans), bool)
    known = numpy.ones(len(spans), bool) if found.known is None else found.known
    return found.values, known


def _add_sums(found: Figures, spans: Matches, rows: Sequence[Any], codes: "Array") -> None:
    import numpy

    numbers: dict[tuple[str, str, str], int] = {}
    groups = [
        numbers.setdefault((plain(row.operation), row.status, plain(row.model) or ""), len(numbers))
        for row in rows
    ]
    sums = counted(spans, numpy.array(groups)[codes], len(numbers)).tolist()
    for key, counters in zip(numbers, sums, strict=True):
        if counters[0]:
            before = found.sums.get(key)
            found.sums[key] = counters if before is None else added(before, counters)


def _add_bounds(found: Figures, spans: Matches, duration: "Array") -> None:
    starts = spans.numbers(STARTS)
    assert starts is not None
    start_us, last_us = int(starts.values.min()), int((starts.values + duration).max())
    found.start_us = start_us if found.start_us is None else min(start_us, found.start_us)
    found.last_us = last_us if found.last_us is None else max(last_us, found.last_us)


def _add_models(
    found: Figures, rows: Sequence[Any], codes: "Array", duration: "Array", timed: "Array"
) -> None:
    import numpy

    for model in {row.model for row in rows if row.model and row.counted}:
        called = numpy.array([row.model == model and bool(row.counted) for row in rows])
        found.of_models[plain(model)].append(duration[called[codes] & timed])


def _add_tools(found: Figures, spans: Matches, rows: Sequence[Any], codes: "Array") -> None:
    import numpy

    tools = numpy.array([row.kind == SpanKind.TOOL for row in rows])
    if not tools.any():
        return
    at = numpy.flatnonzero(tools[codes])
    names, numbers = spans.texts(NAMES)
    duration, timed = _known(spans, _DURATION)
    waited, _ = _known(spans, WAITED)
    failed = numpy.array([row.status == SpanStatus.ERROR for row in rows])[codes]
    for name, positions in _divided(names, numbers, at):
        found.calls[name] += len(positions)
        found.failed[name] += int(failed[positions].sum())
        there = positions[timed[positions]]
        found.worked[name].append(duration[there] - waited[there])


def _divided(names: Sequence[Any], numbers: "Array", at: "Array") -> "Iterator[tuple[str, Array]]":
    """Yield each name with those of the positions `at` at which `numbers` refers to this name."""
    import numpy

    order = numpy.argsort(numbers[at], kind="stable")
    different, first = numpy.unique(numbers[at][order], return_index=True)
    parts = numpy.split(at[order], first[1:])
    for number, part in zip(different.tolist(), parts, strict=False):
        yield names[number], part
