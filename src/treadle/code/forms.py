"""The ranges of one item that an answer can show: whole, an excerpt of so many lines, signature."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path

from treadle.code.extract import Lines
from treadle.code.model import ContextEntry, Kind
from treadle.code.ranking import Hit
from treadle.code.snippets import write_snippet
from treadle.code.terms import term_counts

EXCERPT_LINES = 16
"""Lines of an excerpt at first; for one from the start of an item, those below its signature."""
_BEFORE = 4
"""Of as many lines of an excerpt one stands before the line that matches best."""
_BETTER = 1.25
"""So much better than the start of the item another place must match to be shown instead."""
_FROM_START = frozenset(
    {Kind.CLASS, Kind.STRUCT, Kind.TRAIT, Kind.INTERFACE, Kind.IMPL, Kind.MODULE}
)
"""What holds other items is shown from its start: what is in it is found by itself."""


@dataclass(frozen=True)
class Candidate:
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
        """The signature; of what has none, the line that matches best."""
        if self.hit.signature_start < self.hit.signature_end:
            return self._entry(self.hit.signature_start, self.hit.signature_end)
        return self.excerpt(1)

    @property
    def showable(self) -> bool:
        """Whether the snippet format can carry the item or its signature."""
        return self.whole is not None or self.smallest is not None

    @property
    def fewest(self) -> int:
        """Lines of the shortest excerpt that tells what the item is."""
        return 1 if self._best_line else self._opening + 1

    @property
    def length(self) -> int:
        """Of the item, in lines."""
        return self.hit.end_line - self.hit.start_line + 1

    @property
    def usual(self) -> int:
        """Lines of the excerpt that is shown at first."""
        return EXCERPT_LINES + (0 if self._best_line else self._opening)

    def excerpt(self, count: int) -> ContextEntry | None:
        """`count` whole lines of the item: from its start, or around those that match best.

        One with more lines holds the one with less.
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
        """The place in the item of the line to show lines around; 0 to show them from the start.

        Lines count by the terms of the query in them, each by its rarity in the item; a run of
        lines by all its terms and by those of its best line.
        """
        if self.exact or self.hit.kind in _FROM_START or self.length <= EXCERPT_LINES:
            return 0
        text = self.data[self.hit.start_byte : self.hit.end_byte].decode("utf-8", "replace")
        found = [self.terms.keys() & term_counts(line).keys() for line in text.split("\n")]
        counts: dict[str, int] = {}
        for terms in found:
            for term in terms:
                counts[term] = counts.get(term, 0) + 1
        weights = {
            term: self.terms[term] * log(1 + len(found) / count) for term, count in counts.items()
        }
        by_line = [sum(weights[term] for term in sorted(terms)) for terms in found]

        def score(first: int, count: int) -> float:
            held = set[str]().union(*found[first : first + count])
            best = max(by_line[first : first + count])
            return sum(weights[term] for term in sorted(held)) + best

        runs = range(max(1, len(found) - EXCERPT_LINES + 1))
        best = max(runs, key=lambda first: (score(first, EXCERPT_LINES), -first))
        if score(best, EXCERPT_LINES) <= _BETTER * score(0, EXCERPT_LINES + self._opening):
            return 0
        return max(range(best, best + EXCERPT_LINES), key=lambda line: (by_line[line], -line))

    def _entry(self, start: int, end: int) -> ContextEntry | None:
        """The entry of a range; None for bytes or a path that the snippet format cannot carry."""
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
