"""The ranges of an item that a context can show: whole, excerpt, or signature."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import log
from pathlib import Path

from treadle.code.model import FUNCTION_KINDS, ContextEntry, Kind
from treadle.code.retrieval.hits import Hit
from treadle.code.snippets import write_snippet
from treadle.code.terms import term_counts
from treadle.code.text import Lines

EXCERPT_LINES = 16
"""Lines of a first excerpt after the end of the signature."""
_WHOLE_TYPE = 20
"""Most lines of a type that is shown whole; longer types show their head, since their methods are
candidates of their own."""
_HEAD_LINES = 8
"""Lines of the head of a type after its signature."""
_WHOLE_TEXT = 25
"""Most lines of an item without code that is shown whole."""
_LONG = 150
"""Items with more lines may take at most half of the remaining budget."""
_OPENING_LINES = 4
"""Most lines of the signature of a type that is shown above its methods."""
_BEFORE = 4
"""One line in this number of lines of an excerpt is before the line that matches best."""
_BETTER = 1.2
"""The factor by which another position must match better than the start of the item."""
_FROM_START = frozenset(
    {Kind.CLASS, Kind.STRUCT, Kind.TRAIT, Kind.INTERFACE, Kind.IMPL, Kind.MODULE}
)
"""Kinds that contain other items; they are shown from their start."""


@dataclass(frozen=True)
class ContextItem:
    """A retrieved item with its file's bytes. `exact`: the query names it."""

    root: Path
    hit: Hit
    data: bytes
    lines: Lines
    terms: Mapping[str, float]
    exact: bool = False

    @cached_property
    def whole(self) -> ContextEntry | None:
        return self._entry(self.hit.start_byte, self.hit.end_byte)

    @cached_property
    def smallest(self) -> ContextEntry | None:
        """The signature, or the best line of an item without one."""
        if self.hit.signature_start < self.hit.signature_end:
            return self._entry(self.hit.signature_start, self.hit.signature_end)
        return self.excerpt(1)

    @cached_property
    def opening(self) -> ContextEntry | None:
        """The signature as an entry; None if it has more than a few lines."""
        start, end = self.hit.signature_start, self.hit.signature_end
        first, last = self.lines.of(start), self.lines.of(max(start, end - 1))
        return self._entry(start, end) if start < end and last - first < _OPENING_LINES else None

    @property
    def is_type(self) -> bool:
        """Whether it contains other items, which are candidates of their own."""
        return self.hit.kind in _FROM_START

    @property
    def is_large_type(self) -> bool:
        """Whether it is a type of which only the first lines are shown."""
        return self.is_type and self.length > _WHOLE_TYPE

    def contains(self, other: "ContextItem") -> bool:
        """Whether another item of the file is inside it and needs no entry of its own."""
        hit, inner = self.hit, other.hit
        is_inside = hit.start_byte <= inner.start_byte and inner.end_byte <= hit.end_byte
        return is_inside and (self.exact or not self.is_large_type)

    @property
    def is_long(self) -> bool:
        """Whether it must leave room for other items."""
        return self.length > _LONG

    @property
    def form(self) -> ContextEntry | None:
        """The preferred entry: functions and short items are whole."""
        if self.hit.kind in FUNCTION_KINDS or self.length <= _WHOLE_TEXT:
            return self.whole
        return self.excerpt(min(self.usual, self.length))

    def head_before(self, line: int | None = None) -> ContextEntry | None:
        """The first lines of a type, at most up to a line of the file."""
        count = min(self._opening + _HEAD_LINES, self.length)
        if line is not None:
            count = min(count, line - self.hit.start_line)
        return self.excerpt(count) if count >= max(1, self._opening) else None

    @property
    def showable(self) -> bool:
        """Whether the snippet format can carry the item or its signature."""
        return self.whole is not None or self.smallest is not None

    @property
    def fewest(self) -> int:
        """Lines of the shortest useful excerpt."""
        return 1 if self._best_line else self._opening + 1

    @property
    def length(self) -> int:
        """Lines of the item."""
        return self.hit.end_line - self.hit.start_line + 1

    @property
    def usual(self) -> int:
        """Lines of the first excerpt."""
        return EXCERPT_LINES + self._opening

    def excerpt(self, count: int) -> ContextEntry | None:
        """`count` whole lines of the item: from its start, or around the lines that match best.

        An excerpt with more lines contains one with fewer lines.
        """
        first = max(0, self._best_line - count // _BEFORE)
        first = min(first, max(0, self.length - count))
        last = min(self.length, first + count)
        starts, line = self.lines.starts, self.hit.start_line - 1
        end = self.hit.end_byte if last == self.length else starts[line + last] - 1
        return self._entry(max(self.hit.start_byte, starts[line + first]), end)

    @property
    def _opening(self) -> int:
        """Lines up to the end of the signature."""
        if self.hit.signature_start == self.hit.signature_end:
            return 0
        return self.lines.of(self.hit.signature_end - 1) - self.hit.start_line + 1

    @cached_property
    def _best_line(self) -> int:
        """The position in the item of the line to show lines around; 0 for its start.

        The weight of a line is that of the query terms in it, each by its rarity in the item. The
        weight of a range is that of its terms plus twice that of its best line. Terms of the item's
        name do not count.
        """
        if self.exact or self.hit.kind in _FROM_START or self.length <= self.usual:
            return 0
        text = self.data[self.hit.start_byte : self.hit.end_byte].decode("utf-8", "replace")
        requested = self.terms.keys() - term_counts(self.hit.name).keys()
        found = [sorted(requested & term_counts(line).keys()) for line in text.split("\n")]
        counts = Counter(chain.from_iterable(found))
        weights = {
            term: self.terms[term] * log(1 + len(found) / count) for term, count in counts.items()
        }
        by_line = [sum(map(weights.__getitem__, terms)) for terms in found]

        def score(first: int) -> float:
            run = slice(first, first + self.usual)
            held = dict.fromkeys(chain.from_iterable(found[run]))
            return sum(map(weights.__getitem__, held)) + 2 * max(by_line[run])

        best = max(range(len(found) - self.usual + 1), key=lambda first: (score(first), -first))
        if score(best) <= _BETTER * score(0):
            return 0
        run = range(best, best + self.usual)
        return max(run, key=lambda line: (by_line[line], -line))

    def _entry(self, start: int, end: int) -> ContextEntry | None:
        """The entry of a range; None if the snippet format cannot carry its bytes or its path."""
        hit = self.hit
        try:
            snippet = write_snippet(str(self.root / hit.file), start, end, self.data[start:end])
        except ValueError:
            return None
        return ContextEntry(
            hit.name, hit.canonical_path, hit.kind, hit.file,
            self.lines.of(start), self.lines.of(max(start, end - 1)), start, end, snippet,
            (start, end) == (hit.start_byte, hit.end_byte),
        )  # fmt: skip
