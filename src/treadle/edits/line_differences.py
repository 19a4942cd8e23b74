"""Finds the lines in which two texts differ. Lines that occur once in both texts are matched first.

Between these lines, the shortest sequence of deletions and insertions is searched. The search is
limited. Beyond the limit, parts of equal length are compared line by line.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

Difference = tuple[int, int, int, int]
"""In (a, b, c, d), lines a to b - 1 of the old text become lines c to d - 1 of the new text."""

_VISITS = 1_500_000
"""The approximate number of line visits after which the search stops.

This many visits take about a second. After that, each part of unequal length that was not searched
counts as one difference.
"""

_MAX_DEPTH = 300
"""The maximum number of deleted and inserted lines in the search for the shortest sequence."""


def differences(old: Sequence[bytes], new: Sequence[bytes]) -> list[Difference]:
    """The differences of the texts in order. At least one equal line separates two differences."""
    found: list[Difference] = []
    left = [(0, len(old), 0, len(new))]
    visits = _VISITS
    while left:
        a, b, c, d = _trimmed(old, new, left.pop())
        if a == b and c == d:
            continue
        visits -= b - a + d - c
        if a == b or c == d or visits < 0:
            found += _line_by_line(old, new, (a, b, c, d))
            continue
        anchors = _anchors(old[a:b], new[c:d])
        if anchors:
            left += _between(anchors, (a, b, c, d))[::-1]
        else:
            visits -= min(b - a + d - c, _MAX_DEPTH) ** 2 // 2
            found += _shortest(old, new, (a, b, c, d))
    return found


def _trimmed(old: Sequence[bytes], new: Sequence[bytes], part: Difference) -> Difference:
    a, b, c, d = part
    while a < b and c < d and old[a] == new[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
    return a, b, c, d


def _between(anchors: list[tuple[int, int]], part: Difference) -> list[Difference]:
    """The parts before, between and after the equal lines `anchors`."""
    a, b, c, d = part
    parts: list[Difference] = []
    begin_old, begin_new = a, c
    for in_old, in_new in anchors:
        parts.append((begin_old, a + in_old, begin_new, c + in_new))
        begin_old, begin_new = a + in_old + 1, c + in_new + 1
    return [*parts, (begin_old, b, begin_new, d)]


def _anchors(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """The longest sequence of lines that occur once in both texts, in the same order.

    Each element has the position of a line in the old text and in the new text.
    """
    once = {line for line, count in Counter(old).items() if count == 1}
    once &= {line for line, count in Counter(new).items() if count == 1}
    if not once:
        return []
    positions = {line: position for position, line in enumerate(new) if line in once}
    pairs = [(position, positions[line]) for position, line in enumerate(old) if line in once]
    tails: list[int] = []
    last: list[int] = []
    previous = [-1] * len(pairs)
    for number, (_, position) in enumerate(pairs):
        at = bisect_left(tails, position)
        previous[number] = last[at - 1] if at else -1
        tails[at : at + 1] = [position]
        last[at : at + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = last[-1]
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _shortest(old: Sequence[bytes], new: Sequence[bytes], part: Difference) -> list[Difference]:
    """The fewest deletions and insertions (Myers 1986). The search ends if there are too many."""
    a, b, c, d = part
    if set(old[a:b]).isdisjoint(new[c:d]):
        return [part]
    reached = {1: 0}
    trace: list[dict[int, int]] = []
    for depth in range(min(b - a + d - c, _MAX_DEPTH) + 1):
        trace.append(dict(reached))
        for diagonal in range(-depth, depth + 1, 2):
            down = diagonal == -depth or (
                diagonal != depth and reached[diagonal - 1] < reached[diagonal + 1]
            )
            x = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            while x < b - a and x - diagonal < d - c and old[a + x] == new[c + x - diagonal]:
                x += 1
            reached[diagonal] = x
            if x >= b - a and x - diagonal >= d - c:
                return _walked_back(trace, part)
    return _line_by_line(old, new, part)


def _line_by_line(old: Sequence[bytes], new: Sequence[bytes], part: Difference) -> list[Difference]:
    """The lines that differ at the same position of a part. One difference for unequal lengths."""
    a, b, c, d = part
    if b - a != d - c:
        return [part]
    found: list[Difference] = []
    for at, in_new in zip(range(a, b), range(c, d), strict=True):
        if old[at] == new[in_new]:
            continue
        if found and found[-1][1] == at:
            start, _, start_new, _ = found.pop()
        else:
            start, start_new = at, in_new
        found.append((start, at + 1, start_new, in_new + 1))
    return found


def _walked_back(trace: list[dict[int, int]], part: Difference) -> list[Difference]:
    """The differences of the shortest path, which is followed backwards through `trace`."""
    a, b, c, d = part
    found: list[Difference] = []
    x, y = b - a, d - c
    for depth in range(len(trace) - 1, 0, -1):
        reached = trace[depth]
        diagonal = x - y
        down = diagonal == -depth or (
            diagonal != depth and reached[diagonal - 1] < reached[diagonal + 1]
        )
        before = diagonal + 1 if down else diagonal - 1
        x = reached[before]
        y = x - before
        step = (a + x, a + x, c + y, c + y + 1) if down else (a + x, a + x + 1, c + y, c + y)
        if found and found[-1][0] == step[1] and found[-1][2] == step[3]:
            step = (step[0], found[-1][1], step[2], found[-1][3])
            found.pop()
        found.append(step)
    return found[::-1]
