"""Segments: copies of the short columns of spans as arrays, for sums over many spans.

Each segment covers a range of keys. Keys are in the order of time, so a segment has the spans of a
period. Segments adjoin each other, and together they cover all keys up to the last key of the
newest segment. Queries read the spans with higher keys from the table `spans`.

If a covered span is added, changed or removed after its segment was written, a trigger records it
in `changed_spans`. Queries read these spans from the table `spans` too. Therefore their results are
exact, although code that changes spans does not update segments.

A **shape** is a combination of values of those columns that have few different values, such as the
kind, the status and the model. A segment contains each of its shapes once. For each span, it
contains only the small number of the shape.
"""

import json
import zlib
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from treadle.database import Connection
from treadle.traces.store.columns import SpanRow
from treadle.traces.store.counters import COUNTERS
from treadle.traces.store.properties import property_pairs
from treadle.traces.store.statements import Text, pack_text, plain

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

SEGMENT_TABLES: tuple[str, ...] = (
    "DROP TABLE IF EXISTS segments",
    "DROP TABLE IF EXISTS segment_columns",
    "DROP TABLE IF EXISTS changed_spans",
    # `last` is the last key that the segment covers. Its first key is the key after the last key of
    # the preceding segment.
    """CREATE TABLE segments (
        last INTEGER PRIMARY KEY, spans INTEGER NOT NULL,
        first_us INTEGER NOT NULL, last_us INTEGER NOT NULL -- first and last start of a span
    )""",
    """CREATE TABLE segment_columns (
        name TEXT NOT NULL, -- a column of `segments.NUMBERS` or `segments.TEXTS`, or a property
        segment INTEGER NOT NULL, -- segments.last
        data BLOB NOT NULL,
        PRIMARY KEY (name, segment)
    ) WITHOUT ROWID""",
    "CREATE TABLE changed_spans (span INTEGER PRIMARY KEY)",
)
"""Replaces the tables by empty ones. The writer then writes the segments of all stored spans.

The triggers are those of the engine (`Engine.triggers`).
"""

WAITED = "waited_us"
"""The time that a span waited for a person: `duration_us - work_us`. It is seldom above 0."""

TRACES = "trace"

NUMBERS = (
    TRACES, "duration_us", "ttft_us", "input_tokens", "output_tokens", "cached_tokens",
    "cache_write_tokens", "reasoning_tokens", "cost_nano",
)  # fmt: skip
"""The columns of `spans` that a segment has as numbers, in addition to the key and the start."""

NAMES, LABELS = "name", "labels"
TEXTS = (NAMES, LABELS)
"""The columns of `spans` that a segment has as texts. `labels` are JSON lists."""

_NAMED_COLUMNS = ("kind", "operation", "status", "model", "provider")
_CONDITIONS = tuple(counter.when for counter in COUNTERS)
SHAPE = tuple(dict.fromkeys((*_NAMED_COLUMNS, *(c for w in _CONDITIONS for c in w.compared))))
"""The columns whose values a shape contains."""
KNOWN = tuple(sorted({column for when in _CONDITIONS for column in when.known}))
"""The columns for which a shape contains only whether their value is known."""

KEYS, STARTS, SHAPES, OTHERS = "key", "start_us", "shape", "properties"
"""Further columns of a segment.

`OTHERS` has the properties that have no column of their own, as JSON objects.
"""
MAX_PROPERTIES = 64
"""The maximum number of properties with a column of their own in a segment."""

_SELECTED = (
    f"id, start_us, properties, {', '.join((*TEXTS, *NUMBERS))}, duration_us - work_us,"
    f" {', '.join(SHAPE)},"
    f" {', '.join(f'{column} IS NOT NULL' for column in KNOWN)}"
)
_ROWS = f"SELECT {_SELECTED} FROM spans NOT INDEXED WHERE id > ? AND id <= ? ORDER BY id"  # noqa: S608
_FIRST_TEXT, _FIRST_NUMBER = 3, 3 + len(TEXTS)
_FIRST_SHAPE = _FIRST_NUMBER + len(NUMBERS) + 1

_PLAIN, _COMPRESSED = b"\0", b"\1"
_ALL_KNOWN, _SOME_KNOWN, _NONE_KNOWN = 0, 1, 2
_MASK = (1 << 64) - 1
BEFORE_ALL = -(1 << 63)


@lru_cache(4_096)
def row_of_shape(shape: tuple[Any, ...]) -> SpanRow:
    """Return the row of a span with the columns of a shape. Other columns are None.

    A shape has no values of the columns `KNOWN`. A known value becomes 0 in the row.
    """
    columns = dict(zip((*SHAPE, *KNOWN), shape, strict=True))
    columns |= {name: 0 if columns[name] else None for name in KNOWN}
    return SpanRow._make(columns.get(name) for name in SpanRow._fields)


def write_segment(connection: Connection, after: int, last: int) -> None:
    """Write the segment of the keys that are higher than `after`, up to `last`.

    If no span has such a key, no segment is written. The following segment then covers these keys.
    """
    remove_segment(connection, last)
    connection.execute("DELETE FROM changed_spans WHERE span > ? AND span <= ?", (after, last))
    rows = connection.execute(_ROWS, (after, last)).fetchall()
    if not rows:
        return
    columns = list(zip(*rows, strict=True))
    starts = columns[1]
    packed = {
        KEYS: pack_numbers(columns[0], ascending=True),
        STARTS: pack_numbers(starts, ascending=True),
        SHAPES: pack_texts([row[_FIRST_SHAPE:] for row in rows]),
    }
    for position, name in enumerate(TEXTS, _FIRST_TEXT):
        packed[name] = pack_texts(columns[position])
    for position, name in enumerate((*NUMBERS, WAITED), _FIRST_NUMBER):
        packed[name] = pack_numbers(columns[position])
    packed |= _pack_properties(columns[2])
    connection.execute(
        "INSERT INTO segments VALUES (?, ?, ?, ?)", (last, len(rows), min(starts), max(starts))
    )
    connection.executemany(
        "INSERT INTO segment_columns VALUES (?, ?, ?)",
        [(pack_text(name), last, data) for name, data in packed.items() if data],
    )


def remove_segment(connection: Connection, last: int) -> None:
    """Remove the segment that ends with this key, if there is one."""
    if connection.execute("DELETE FROM segments WHERE last = ?", (last,)).rowcount:
        names = connection.execute("SELECT DISTINCT name FROM segment_columns").fetchall()
        connection.executemany(
            "DELETE FROM segment_columns WHERE name = ? AND segment = ?",
            [(name, last) for (name,) in names],
        )


def _pack_properties(column: Sequence[str | None]) -> dict[str, bytes]:
    """Return columns of the most frequent properties, and a column `OTHERS` of further ones."""
    import numpy

    combinations, codes = _numbered(column)
    counts = numpy.bincount(codes, minlength=len(combinations)).tolist()
    frequency: dict[Text, int] = {}
    for pairs, count in zip(map(property_pairs, combinations), counts, strict=True):
        for name, _ in pairs:
            frequency[name] = frequency.get(name, 0) + count
    names = sorted(frequency, key=lambda name: -frequency[name])
    packed: dict[str, bytes] = {}
    for name in names[:MAX_PROPERTIES]:
        values = [dict(property_pairs(each)).get(name) for each in combinations]
        packed[plain(name)] = _pack_codes(*_numbered(values), of=codes)
    if rest := set(names[MAX_PROPERTIES:]):
        others = [
            json.dumps({plain(n): plain(v) for n, v in property_pairs(each) if n in rest})
            for each in combinations
        ]
        packed[OTHERS] = _pack_codes(*_numbered(others), of=codes)
    return packed


def pack_numbers(values: Sequence[int | None], *, ascending: bool = False) -> bytes:
    """Pack 64-bit numbers. The range of the numbers determines how many bytes each one takes.

    None is an unknown number. The result is empty if no number is known. If `ascending` is true,
    the differences between consecutive numbers are packed.
    """
    import numpy

    unknown = values.count(None)
    if unknown == len(values):
        return b""
    complete = unknown == 0
    known = numpy.ones(len(values), bool)
    if not complete:
        known = numpy.array([value is not None for value in values])
        values = [0 if value is None else value for value in values]
    array = numpy.array(values, numpy.int64)
    first = int(array[0])
    if ascending:
        with numpy.errstate(over="ignore"):
            array = numpy.diff(array, prepend=array[0])
    lowest = int(array[known].min())
    highest = int(array[known].max())
    size = next(size for size in (0, 1, 2, 4, 8) if highest - lowest < 1 << 8 * size)
    with numpy.errstate(over="ignore"):
        shifted = (array - numpy.int64(lowest)).view(numpy.uint64)
    shifted[~known] = 0
    data = shifted.astype(f"<u{size}").tobytes() if size else b""
    head = numpy.array([lowest, first], "<i8").tobytes() + bytes((size, not complete, ascending))
    return _compressed(head + (b"" if complete else numpy.packbits(known).tobytes()) + data)


class Numbers(NamedTuple):
    """The numbers of spans. An unknown number is 0."""

    values: "Array"
    known: "Array | None"
    """Which numbers are known. None means that all numbers are known."""
    most: int
    """No number has a larger absolute value."""


def unpack_numbers(packed: bytes, count: int, selected: "Array | None" = None) -> Numbers:
    """Unpack `count` numbers, and return those at the positions `selected`, or else all of them."""
    import numpy

    data = _expanded(packed)
    lowest, first = (int(each) for each in numpy.frombuffer(data, "<i8", 2))
    size, partial, ascending = data[16:19]
    at = 19
    known = None
    if partial:
        bits = numpy.frombuffer(data, numpy.uint8, -(-count // 8), at)
        known = numpy.unpackbits(bits, count=count).view(bool)
        known = known if selected is None else known[selected]
        at += -(-count // 8)
    if not size:
        array = numpy.zeros(count, numpy.int64)
    else:
        array = numpy.frombuffer(data, f"<u{size}", count, at)
    if selected is not None and not ascending:
        array = array[selected]
    array = array.astype(numpy.int64)
    with numpy.errstate(over="ignore"):
        if lowest:
            array += numpy.int64(lowest)
        if ascending:
            array = numpy.cumsum(array) + numpy.int64(first)
            array = array if selected is None else array[selected]
    if known is not None and lowest:
        array *= known
    most = _MASK if ascending else max(abs(lowest), abs(lowest + (1 << 8 * size) - 1))
    return Numbers(array, known, most)


V = TypeVar("V", bound=Hashable)


def pack_texts(values: Sequence[Hashable]) -> bytes:
    """Pack a list of the different values, and the position in this list (code) of each value."""
    different, codes = _numbered(values)
    return _pack_codes(different, codes)


def unpack_texts(packed: bytes) -> "tuple[list[Any], Array]":
    """Return the different values, and for each span the position (code) of its value."""
    import numpy

    data = _expanded(packed)
    length = int.from_bytes(data[:4], "little")
    values = json.loads(data[4 : 4 + length])
    size = data[4 + length]
    return values, numpy.frombuffer(data, f"<u{size}", offset=5 + length)


def _numbered(values: Iterable[V]) -> "tuple[list[V], Array]":
    import numpy

    numbers: dict[V, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return list(numbers), numpy.array(codes, numpy.uint32)


def _pack_codes(different: Sequence[Any], codes: "Array", *, of: "Array | None" = None) -> bytes:
    """Pack different values and codes. If `of` is given, pack the codes at these positions."""
    values = [
        list(map(plain, value)) if isinstance(value, tuple) else plain(value) for value in different
    ]
    listed = json.dumps(values).encode()
    size = 1 if len(different) <= 1 << 8 else 2 if len(different) <= 1 << 16 else 4
    every = codes if of is None else codes[of]
    head = len(listed).to_bytes(4, "little") + listed + bytes((size,))
    return _compressed(head + every.astype(f"<u{size}").tobytes())


def _compressed(data: bytes) -> bytes:
    """Compress the data if this saves three quarters of it. Plain data is faster to read."""
    short = zlib.compress(data, 1)
    return _COMPRESSED + short if len(short) * 4 < len(data) else _PLAIN + data


def _expanded(data: bytes) -> bytes:
    return zlib.decompress(data[1:]) if data[:1] == _COMPRESSED else data[1:]
