"""Finds the lines of a text that have the shape of a report of failure, and where in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2  # type: ignore[import-untyped]  # it ships no types

from treadle.diagnosis.detectors.shapes import ANCHORS, Anchor


def _of_many_lines() -> str:
    """One pattern for a text of many lines; what it finds may begin or end a few lines off."""
    return "|".join(
        f"(?im:{anchor.pattern[4:]})"
        if anchor.pattern.startswith("(?i)")
        else f"(?m:{anchor.pattern})"
        for anchor in ANCHORS
    )


@dataclass(frozen=True, slots=True)
class _Machines:
    """The patterns, compiled; RE2 ships no types."""

    any_shape: Any
    """Which shapes a line has."""
    shapes: tuple[Any, ...]
    groups: tuple[int, ...]
    anywhere: Any


@cache  # it takes longer than what does without it should have to wait
def _machines() -> _Machines:
    any_shape = re2.Set.SearchSet()
    for anchor in ANCHORS:
        any_shape.Add(anchor.pattern)
    any_shape.Compile()
    shapes = tuple(re2.compile(anchor.pattern) for anchor in ANCHORS)
    options = re2.Options()
    options.never_capture = True
    options.max_mem = 64 << 20
    options.log_errors = False
    return _Machines(
        any_shape,
        shapes,
        tuple(int(shape.groups > 0) for shape in shapes),
        re2.compile(_of_many_lines().encode(), options),
    )


_RANKS = tuple(-anchor.confidence for anchor in ANCHORS)


@dataclass(frozen=True, slots=True)
class Anchored:
    """An anchor in a line, and where in it the word stands that it is about."""

    anchor: Anchor
    start: int
    end: int


def anchored(line: str) -> Iterator[Anchored]:
    """The shapes that `line` has, the surest first."""
    machines = _machines()
    for number in sorted(machines.any_shape.Match(line) or (), key=_RANKS.__getitem__):
        found = machines.shapes[number].search(line)
        place = found.span(machines.groups[number])
        yield Anchored(ANCHORS[number], *(place if place[0] >= 0 else found.span()))


def anchored_lines(data: bytes, position: int = 0) -> Iterator[tuple[int, int]]:
    """Where lines of a text in UTF-8 begin and end that may have one of the shapes, in order.

    `position` is the beginning of the first line that counts.
    """
    anywhere = _machines().anywhere
    while position < len(data) and (match := anywhere.search(data, position)) is not None:
        begin = data.rfind(b"\n", position, match.start()) + 1 or position
        stop = data.find(b"\n", match.end())
        stop = len(data) if stop < 0 else stop
        while begin < stop:
            end = data.find(b"\n", begin, stop)
            end = stop if end < 0 else end
            if end > begin:
                yield begin, end
            begin = end + 1
        position = stop + 1
