"""Assembles a context within a token budget: which items are shown, and how much of each."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from treadle.code.context.excerpts import ContextItem
from treadle.code.context.selection import SelectedItems
from treadle.code.model import ContextEntry, ContextResult

Fits = Callable[[Sequence[ContextEntry], int], bool]

_MISSES = 8
"""The budget counts as full if this many items in a row do not fit."""


@dataclass(slots=True)
class _Answer:
    """The context under construction. Its entries never overlap.

    The key of an entry in `chosen` is the position of its candidate. If the first lines of a type
    are shown above a member, their key is the position of the member minus one half. `lost` counts
    items that could not be read.
    """

    fits: Fits
    top_k: int
    candidates: Sequence[ContextItem]
    lost: int
    chosen: dict[float, ContextEntry] = field(default_factory=dict)

    def place(self, position: float, entry: ContextEntry | None, *, share: int = 1) -> bool:
        """Add `entry` if it fits together with all other entries, and return whether it was added.

        The entry must fit even if it were `share` times as large.
        """
        proposed = None if entry is None else self._with(position, entry)
        if entry is None or proposed is None or len(proposed) > self.top_k:
            return False
        entries = [proposed[key] for key in sorted(proposed)]
        most_omitted = len(self.candidates) + self.lost
        if not self.fits([*entries, *[entry] * (share - 1)], most_omitted):
            return False
        self.chosen = proposed
        return True

    def _with(self, position: float, entry: ContextEntry) -> dict[float, ContextEntry] | None:
        """Return the entries together with `entry`, or None.

        The new entry replaces entries inside it, and it shortens the shown first lines of its type.
        The result is None if the new entry is inside another entry or partly overlaps another
        entry.
        """
        proposed = {**self.chosen, position: entry}
        for key, other in self.chosen.items():
            if key == position or not _overlap(entry, other):
                continue
            if entry.whole and _inside(other, entry):
                del proposed[key]
                continue
            head = self._head_before(key, other, entry)
            if head is None:
                return None
            proposed[key] = head
        return proposed

    def _head_before(
        self, key: float, shown: ContextEntry, entry: ContextEntry
    ) -> ContextEntry | None:
        """Return the lines of a partly shown type that are before the entry of a member.

        The result is None if `shown` is not the entry of such a type, or if no useful lines are
        left.
        """
        candidate = self.candidates[int(key)] if key % 1 == 0 else None
        if candidate is None or candidate.exact or shown.whole or not candidate.is_type:
            return None
        head = candidate.head_before(entry.start_line)
        return None if head is None or _overlap(head, entry) else head

    def widen(self, position: int, candidate: ContextItem, *, share: int = 1) -> None:
        """Show as many lines of a candidate as fit, but not fewer than are shown now."""
        if self.place(position, candidate.whole, share=share):
            return
        present = self.chosen.get(position)
        shown = present.end_line - present.start_line + 1 if present else 0
        low, high = max(shown, candidate.fewest - 1), candidate.length
        while high - low > 1:
            middle = (low + high) // 2
            if self.place(position, candidate.excerpt(middle), share=share):
                low = middle
            else:
                high = middle

    def covers(self, position: int) -> bool:
        """Whether a candidate is shown, by its own entry or inside another entry."""
        hit = self.candidates[position].hit
        return position in self.chosen or any(
            entry.file == hit.file
            and entry.start_byte <= hit.start_byte
            and hit.end_byte <= entry.end_byte
            for entry in self.chosen.values()
        )

    def first_line_in(self, candidate: ContextItem) -> int | None:
        """Return the line where the first entry inside a candidate begins, or None."""
        hit = candidate.hit
        inside = (
            entry.start_line
            for entry in self.chosen.values()
            if entry.file == hit.file and hit.start_byte <= entry.start_byte < hit.end_byte
        )
        return min(inside, default=None)

    def result(self, query: str) -> ContextResult:
        """Return the context. The last entries are dropped until the context fits the budget.

        The context also states how many items are omitted. This statement counts against the
        budget.
        """
        while True:
            shown = sum(map(self.covers, range(len(self.candidates))))
            omitted = len(self.candidates) + self.lost - shown
            entries = [self.chosen[position] for position in sorted(self.chosen)]
            if not entries or self.fits(entries, omitted):
                return ContextResult(query, self.top_k, tuple(entries), omitted)
            del self.chosen[max(self.chosen)]


def assemble(query: str, top_k: int, found: SelectedItems, fits: Fits) -> ContextResult:
    """Fill the budget with named items, then other items by expected gain, then more lines.

    Each named item gets as many lines as fit. The signature of its type is shown above it. Each
    other candidate is shown in its preferred form (`ContextItem.form`), or as a short excerpt if
    that form does not fit. The rest of the budget first adds lines to shortened entries, best
    first. After that it shows the signatures of candidates that are not shown yet.
    """
    answer = _Answer(fits, top_k, found.candidates, found.lost)
    candidates = list(enumerate(found.candidates))
    exact = [position for position, candidate in candidates if candidate.exact]
    for position in exact:
        answer.widen(
            position, found.candidates[position], share=1 if [position] == exact[-1:] else 2
        )
    _place_owners(answer, found, exact)
    _fill(answer, [entry for entry in candidates if not entry[1].exact], _in_its_form)
    _place_owners(answer, found, sorted(found.owners))
    for position, candidate in candidates:
        if position in answer.chosen and not answer.chosen[position].whole:
            answer.widen(position, candidate)
    _fill(answer, candidates, _by_signature)
    return answer.result(query)


Show = Callable[["_Answer", int, ContextItem], bool]


def _fill(answer: _Answer, candidates: Iterable[tuple[int, ContextItem]], show: Show) -> None:
    """Show the candidates that fit, best first, until the budget is full."""
    misses = 0
    for position, candidate in candidates:
        if answer.covers(position):
            continue
        misses = 0 if show(answer, position, candidate) else misses + 1
        if misses == _MISSES:
            return


def _in_its_form(answer: _Answer, position: int, candidate: ContextItem) -> bool:
    """Show a candidate in its preferred form, or as a short excerpt. Return whether it is shown."""
    inner = answer.first_line_in(candidate) if candidate.is_type else None
    if inner is not None or candidate.is_large_type:
        return answer.place(position, candidate.head_before(inner))
    share = 2 if candidate.is_long else 1
    return answer.place(position, candidate.form, share=share) or answer.place(
        position, candidate.excerpt(min(candidate.usual, candidate.length))
    )


def _by_signature(answer: _Answer, position: int, candidate: ContextItem) -> bool:
    return answer.place(position, candidate.smallest)


def _place_owners(answer: _Answer, found: SelectedItems, positions: Iterable[int]) -> None:
    """Show the first lines of the types that contain the shown items at `positions`."""
    for position in positions:
        if position in found.owners and position in answer.chosen:
            answer.place(position - 0.5, found.owners[position].opening)


def _overlap(one: ContextEntry, other: ContextEntry) -> bool:
    return (
        one.file == other.file
        and one.start_byte < other.end_byte
        and other.start_byte < one.end_byte
    )


def _inside(one: ContextEntry, other: ContextEntry) -> bool:
    return other.start_byte <= one.start_byte and one.end_byte <= other.end_byte
