"""Reads the matching spans of segments as arrays, and adds up their counters.

Two kinds of spans are not read here: spans that no segment has, and spans that changed after their
segment was written. `uncovered` returns the sources that have these spans.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from treadle.database import Connection
from treadle.traces.query.conditions import NUMERIC, PROPERTIES, Condition, Field, Operator, Query
from treadle.traces.store.counters import COUNTERS
from treadle.traces.store.queries.conditions import COMPARISONS, Sql, listing
from treadle.traces.store.queries.span_sources import Source
from treadle.traces.store.segments import (
    BEFORE_ALL,
    KEYS,
    LABELS,
    NAMES,
    OTHERS,
    SHAPES,
    STARTS,
    Numbers,
    row_of_shape,
    unpack_numbers,
    unpack_texts,
)
from treadle.traces.store.statements import plain

if TYPE_CHECKING:
    from treadle.traces.store.segments import Array

FEWEST_SPANS = 20_000
"""If a query reads at least this many spans, it takes less time with segments."""

SHAPED = {
    Field.KIND: "kind",
    Field.OPERATION: "operation",
    Field.STATUS: "status",
    Field.MODEL: "model",
    Field.PROVIDER: "provider",
    Field.ERROR: "status",
}
"""Maps fields to the columns of shapes that conditions on these fields compare."""
_TEXTS = {Field.NAME: NAMES, Field.LABEL: LABELS}
_NUMBERS: dict[Field, tuple[str, ...]] = {
    Field.COST: ("cost_nano",),
    Field.DURATION: ("duration_us",),
    Field.TTFT: ("ttft_us",),
    Field.INPUT: ("input_tokens",),
    Field.OUTPUT: ("output_tokens",),
    Field.CACHED: ("cached_tokens",),
    Field.TOKENS: ("input_tokens", "output_tokens"),
    Field.START: (STARTS,),
}
_EXACT = 1 << 53
"""A 64-bit float represents every integer up to this number exactly."""

_DATA = "SELECT name, data FROM segment_columns WHERE segment = ? AND name IN ({})"
_DATA_OF_SEVERAL = """
    SELECT segment, name, data FROM segment_columns
    WHERE segment >= ? AND segment <= ? AND name IN ({})"""
_SEGMENTS_AT_ONCE = 16
"""The number of segments whose columns one statement reads, which limits the memory."""
_CHANGED = "SELECT span FROM changed_spans WHERE span <= ? ORDER BY span"
_LAST = "SELECT max(last) FROM segments"


@dataclass(slots=True)
class Matches:
    """The matching spans of a segment. Returned arrays have one element for each matching span."""

    _read: Callable[[Sequence[str]], Mapping[str, bytes]]
    _all: int
    """The number of spans of the segment, whether they match or not."""
    _selected: "Array | None" = None
    """The positions of the matching spans. None means that all spans match."""
    _data: dict[str, bytes] = field(default_factory=dict)
    _loaded: set[str] = field(default_factory=set)
    _texts: "dict[str, tuple[list[Any], Array]]" = field(default_factory=dict)
    _numbers: dict[str, Numbers] = field(default_factory=dict)

    def __len__(self) -> int:
        return self._all if self._selected is None else len(self._selected)

    def load(self, names: Sequence[str]) -> None:
        """Read these columns with one query, which is faster than one query for each column."""
        missing = [name for name in names if name not in self._loaded]
        if missing:
            self._data |= self._read(missing)
            self._loaded.update(missing)

    def add(self, names: Sequence[str], data: Mapping[str, bytes]) -> None:
        """Add columns that were read together with those of other segments."""
        self._data |= data
        self._loaded.update(names)

    def numbers(self, name: str) -> Numbers | None:
        """Return the numbers of a column, or None if no span of the segment has a number."""
        self.load((name,))
        if name not in self._data:
            return None
        if name not in self._numbers:
            self._numbers[name] = unpack_numbers(self._data[name], self._all, self._selected)
        return self._numbers[name]

    def texts(self, name: str) -> "tuple[list[Any], Array]":
        """Return the different values of a column, and for each span the position of its value.

        The values include those that no matching span has.
        """
        self.load((name,))
        if name not in self._texts:
            values, codes = unpack_texts(self._data[name])
            self._texts[name] = (values, codes if self._selected is None else codes[self._selected])
        return self._texts[name]

    def properties(self, name: str) -> "tuple[list[str | None], Array] | None":
        """Return the values of a property as `texts` does. A missing value is None.

        The result is None if the segment has no column that may contain the property.
        """
        self.load((name, OTHERS))
        if name in self._data:
            return self.texts(name)
        if OTHERS not in self._data:
            return None
        values, codes = self.texts(OTHERS)
        return [_pairs(value).get(name) for value in values], codes

    def select(self, chosen: "Array") -> None:
        """Keep only the spans for which `chosen` is true."""
        import numpy

        if not chosen.all():
            kept = numpy.flatnonzero(chosen)
            self._selected = kept if self._selected is None else self._selected[kept]
            self._numbers.clear()
            self._texts = {name: (each, at[kept]) for name, (each, at) in self._texts.items()}


@lru_cache(4_096)
def _pairs(properties: str) -> Mapping[str, str]:
    found: Mapping[str, str] = json.loads(properties)
    return found


def can_scan(connection: Connection, query: Query, source: Source) -> bool:
    """Return whether a query should read segments instead of `source`, the best other source.

    This is the case if it is faster, and if segments can answer all conditions of the query.
    """
    if source.count < FEWEST_SPANS:
        return False
    return all(map(_is_scanned, query.conditions)) and _last_key(connection) is not None


def _is_scanned(condition: Condition) -> bool:
    if condition.field in NUMERIC or condition.field is Field.ERROR:
        return True
    columns = condition.field in SHAPED or condition.field in _TEXTS
    return condition.operator is Operator.IS and (columns or condition.field in PROPERTIES)


def uncovered(connection: Connection) -> tuple[Source, ...]:
    """Return the sources of the spans that are in no segment, or changed after it was written."""
    last = _last_key(connection)
    return (
        Source(Sql("spans s NOT INDEXED"), 0, Sql("s.id > ?", (last,))),
        Source(
            Sql("changed_spans c CROSS JOIN spans s ON s.id = c.span"),
            0,
            Sql("c.span <= ?", (last,)),
            key="c.span",
        ),
    )


def _last_key(connection: Connection) -> int | None:
    found: tuple[int | None] = connection.execute(_LAST).fetchone()
    return found[0]


def matches(connection: Connection, query: Query, columns: Sequence[str]) -> Iterator[Matches]:
    """Yield the matching spans of each segment that has any.

    `columns` are the columns that the caller needs. They are read together.
    """
    period = [each for each in query.of(Field.START) if not each.negated]
    compared = tuple(dict.fromkeys(name for each in query.conditions for name in _columns(each)))
    segments = connection.execute(
        "SELECT last, spans, first_us, last_us FROM segments ORDER BY last"
    ).fetchall()
    if not segments:
        return
    changed = [key for (key,) in connection.execute(_CHANGED, (segments[-1][0],))]
    after = BEFORE_ALL
    fitting = []
    for last, spans, first_us, last_us in segments:
        between = changed[bisect_right(changed, after) : bisect_right(changed, last)]
        if all(_may_fit(each, first_us, last_us) for each in period):
            fitting.append((Matches(_reader(connection, last), spans), last, between))
        after = last
    for start in range(0, len(fitting), _SEGMENTS_AT_ONCE):
        part = fitting[start : start + _SEGMENTS_AT_ONCE]
        needed = (*compared, *((KEYS,) if any(keys for _, _, keys in part) else ()))
        _load(connection, [(found, last) for found, last, _ in part], needed)
        matching = []
        for found, last, keys in part:
            chosen = _chosen(found, query, keys)
            if chosen.any():
                found.select(chosen)
                matching.append((found, last))
        if 2 * len(matching) > len(part):
            _load(connection, matching, columns)
        for found, _ in matching:
            found.load(columns)
            yield found


def _chosen(found: Matches, query: Query, changed: Sequence[int]) -> "Array":
    """Return for each span of a segment whether it matches and has not changed since then."""
    import numpy

    chosen = numpy.ones(len(found), bool)
    if changed and (keys := found.numbers(KEYS)):
        chosen[numpy.isin(keys.values, numpy.array(changed, numpy.int64))] = False
    for each in query.conditions:
        if not chosen.any():
            break
        fits = _fitting(found, each)
        chosen &= ~fits if each.negated else fits
    return chosen


def _load(
    connection: Connection, segments: Sequence[tuple[Matches, int]], names: Sequence[str]
) -> None:
    """Read columns of adjacent segments with one statement."""
    if not names or len(segments) < 2:
        return
    placeholders, values = listing(names)
    data: dict[int, dict[str, bytes]] = defaultdict(dict)
    for segment, name, content in connection.execute(
        _DATA_OF_SEVERAL.format(placeholders), (segments[0][1], segments[-1][1], *values)
    ):
        data[segment][plain(name)] = content
    for found, last in segments:
        found.add(names, data[last])


def _reader(connection: Connection, segment: int) -> Callable[[Sequence[str]], Mapping[str, bytes]]:
    def read(names: Sequence[str]) -> Mapping[str, bytes]:
        placeholders, values = listing(names)
        found = connection.execute(_DATA.format(placeholders), (segment, *values))
        return {plain(name): data for name, data in found}

    return read


def _may_fit(condition: Condition, first_us: int, last_us: int) -> bool:
    """Return whether a start from `first_us` to `last_us` may meet the condition."""
    if condition.operator is Operator.IS:
        return any(first_us <= int(value) <= last_us for value in condition.values)
    moment = int(condition.values[0])
    later = condition.operator in {Operator.MORE, Operator.AT_LEAST}
    return bool(COMPARISONS[condition.operator](last_us if later else first_us, moment))


def _columns(condition: Condition) -> tuple[str, ...]:
    """Return the columns of segments that the condition compares."""
    if condition.field in SHAPED:
        return (SHAPES,)
    if condition.field in PROPERTIES:
        return condition.about.value, OTHERS
    return _NUMBERS.get(condition.field) or (_TEXTS[condition.field],)


def _fitting(spans: Matches, condition: Condition) -> "Array":
    """Return for each span whether it meets the condition. The negation is ignored."""
    import numpy

    if condition.field in NUMERIC:
        return _fitting_numbers(spans, condition)
    wanted = {str(value) for value in condition.values}
    if condition.field in PROPERTIES:
        found = spans.properties(condition.about.value)
        if found is None:
            return numpy.zeros(len(spans), bool)
        values, codes = found
        fits = [value in wanted for value in values]
    elif condition.field is Field.LABEL:
        values, codes = spans.texts(LABELS)
        fits = [not wanted.isdisjoint(labels_in(value)) for value in values]
    elif condition.field is Field.NAME:
        values, codes = spans.texts(NAMES)
        fits = [value in wanted for value in values]
    else:
        shapes, codes = spans.texts(SHAPES)
        wanted = {"error"} if condition.field is Field.ERROR else wanted
        column = SHAPED[condition.field]
        fits = [getattr(row_of_shape(tuple(shape)), column) in wanted for shape in shapes]
    if not any(fits):
        return numpy.zeros(len(spans), bool)
    return numpy.array(fits)[codes]


@lru_cache(4_096)
def labels_in(column: str | None) -> frozenset[str]:
    """Return the labels in a value of the column `labels`."""
    return frozenset(json.loads(column)) if column else frozenset()


def _fitting_numbers(spans: Matches, condition: Condition) -> "Array":
    import numpy

    parts = [spans.numbers(name) for name in _NUMBERS[condition.field]]
    there = [part for part in parts if part is not None]
    if not there:
        return numpy.zeros(len(spans), bool)
    values, known, _ = there[0]
    if sum(part.most for part in there) >= 1 << 63:
        values = values.astype(object)  # sums of integers of any size
    for more, more_known, _ in there[1:]:
        values = values + more
        known = None if known is None or more_known is None else known | more_known
    if condition.operator is Operator.IS:
        fits = numpy.isin(values, numpy.array([int(each) for each in condition.values]))
    else:
        fits = COMPARISONS[condition.operator](values, int(condition.values[0])).astype(bool)
    return fits if known is None else fits & known


@lru_cache(4_096)
def _met(shape: tuple[Any, ...]) -> tuple[bool, ...]:
    """Return for each counter whether spans with this shape meet its condition."""
    row = row_of_shape(shape)
    return tuple(bool(counter.when.holds(row)) for counter in COUNTERS)


COUNTED_COLUMNS = (
    SHAPES,
    *dict.fromkeys(counter.column for counter in COUNTERS if counter.column is not None),
)
"""The columns of segments that `counted` reads."""


def counted(spans: Matches, groups: "Array", number: int) -> "Array":
    """Return the counters of `number` groups. `groups` has the number of the group of each span.

    The result has one row for each group, and one column for each counter.
    """
    import numpy

    shapes, codes = spans.texts(SHAPES)
    met = numpy.array([_met(tuple(shape)) for shape in shapes], numpy.int64)
    if number * len(shapes) <= 8 * len(spans):
        combined = groups.astype(numpy.int64) * len(shapes) + codes
        counts = numpy.bincount(combined, minlength=number * len(shapes))
        sums = counts.reshape(number, len(shapes)) @ met
    else:
        sums = numpy.zeros((number, len(COUNTERS)), numpy.int64)
        for position in range(len(COUNTERS)):
            sums[:, position] = _summed(met[:, position][codes], groups, number, 1)
    for position, counter in enumerate(COUNTERS):
        if counter.column is None:
            continue
        column = spans.numbers(counter.column)
        mask = met[:, position]
        if column is None or not mask.any():
            sums[:, position] = 0
            continue
        values, most = column.values, column.most
        if most > counter.most:
            values, most = values.clip(-counter.most, counter.most), counter.most
        if not mask.all():
            values = values * mask[codes]
        sums[:, position] = _summed(values, groups, number, most)
    return sums


def _summed(values: "Array", groups: "Array", number: int, most: int) -> "Array":
    """Return the sum of the values of each group. No absolute value is larger than `most`."""
    import numpy

    if most * len(values) < _EXACT:
        return numpy.bincount(groups, weights=values, minlength=number).astype(numpy.int64)
    sums = numpy.zeros(number, numpy.int64)
    numpy.add.at(sums, groups, values)
    return sums
