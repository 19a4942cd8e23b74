"""The ranges of an item that a context can show: the whole item, an excerpt, or its signature."""

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
"""The number of lines after the signature in the first excerpt of an item.

If the budget allows, the excerpt gets more lines later.
"""
_WHOLE_TYPE = 20
"""The maximum number of lines of a type that is shown whole.

A longer type shows only its head, which is its signature and a few more lines. Its methods are
candidates of their own.
"""
_HEAD_LINES = 8
"""The number of lines after the signature in the head of a type."""
_WHOLE_TEXT = 25
"""The maximum number of lines of an item that is shown whole, unless it is a function."""
_LONG = 150
"""An item with more lines than this is added only if an item of twice its size would fit."""
_OPENING_LINES = 4
"""The maximum number of lines of a type's signature that is shown above a method."""
_BEFORE = 4
"""An excerpt has 1 / `_BEFORE` of its lines before the best matching line."""
_BETTER = 1.2
"""The factor by which a later position must match better than the start of an item.

Otherwise the excerpt is at the start.
"""
_FROM_START = frozenset(
    {Kind.CLASS, Kind.STRUCT, Kind.TRAIT, Kind.INTERFACE, Kind.IMPL, Kind.MODULE}
)
"""Kinds that contain other items. Items of these kinds are shown from their start."""


@dataclass(frozen=True)
class ContextItem:
    """A retrieved item with the bytes of its file.

    `terms` are the weighted terms of the query. `exact` states that the query names the item.
    """

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
        """The signature, or the best line of an item without a signature."""
        if self.hit.signature_start < self.hit.signature_end:
            return self._entry(self.hit.signature_start, self.hit.signature_end)
        return self.excerpt(1)

    @cached_property
    def opening(self) -> ContextEntry | None:
        """The signature as an entry, or None if the signature has more than a few lines."""
        start, end = self.hit.signature_start, self.hit.signature_end
        first, last = self.lines.of(start), self.lines.of(max(start, end - 1))
        return self._entry(start, end) if start < end and last - first < _OPENING_LINES else None

    @property
    def is_type(self) -> bool:
        """Whether items of this kind contain other items, which are candidates of their own."""
        return self.hit.kind in _FROM_START

    @property
    def is_large_type(self) -> bool:
        """Whether the item is a type of which only the first lines are shown."""
        return self.is_type and self.length > _WHOLE_TYPE

    def contains(self, other: "ContextItem") -> bool:
        """Whether another item of the file is inside this item and needs no entry of its own."""
        hit, inner = self.hit, other.hit
        is_inside = hit.start_byte <= inner.start_byte and inner.end_byte <= hit.end_byte
        return is_inside and (self.exact or not self.is_large_type)

    @property
    def is_long(self) -> bool:
        """Whether the item is so long that it must leave room for other items."""
        return self.length > _LONG

    @property
    def form(self) -> ContextEntry | None:
        """The preferred entry. Functions and short items are shown whole."""
        if self.hit.kind in FUNCTION_KINDS or self.length <= _WHOLE_TEXT:
            return self.whole
        return self.excerpt(min(self.usual, self.length))

    def head_before(self, line: int | None = None) -> ContextEntry | None:
        """Return the first lines of a type, or None if they do not include its signature.

        If `line` is given, only lines before this line of the file are returned.
        """
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
        """The number of lines of the shortest useful excerpt."""
        return 1 if self._best_line else self._opening + 1

    @property
    def length(self) -> int:
        """The number of lines of the item."""
        return self.hit.end_line - self.hit.start_line + 1

    @property
    def usual(self) -> int:
        """The number of lines of the first excerpt."""
        return EXCERPT_LINES + self._opening

    def excerpt(self, count: int) -> ContextEntry | None:
        """Return `count` whole lines of the item.

        The lines are at the start of the item, or around the best matching line. A longer excerpt
        always contains each shorter excerpt.
        """
        first = max(0, self._best_line - count // _BEFORE)
        first = min(first, max(0, self.length - count))
        last = min(self.length, first + count)
        starts, line = self.lines.starts, self.hit.start_line - 1
        end = self.hit.end_byte if last == self.length else starts[line + last] - 1
        return self._entry(max(self.hit.start_byte, starts[line + first]), end)

    @property
    def _opening(self) -> int:
        """The number of lines up to the end of the signature."""
        if self.hit.signature_start == self.hit.signature_end:
            return 0
        return self.lines.of(self.hit.signature_end - 1) - self.hit.start_line + 1

    @cached_property
    def _best_line(self) -> int:
        """Return the best line for an excerpt, as its position in the item.

        The result is 0 if the excerpt must begin at the start of the item. The weight of a query
        term is larger if fewer lines of the item contain it. The weight of a line is the sum of the
        weights of its terms. The weight of a range is the sum of the weights of its different
        terms, plus twice the weight of its best line. Terms of the item's name do not count.
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
        """Return the entry of a range.

        The result is None if the snippet format cannot carry the bytes or the path.
        """
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
