"""Computes for one width of the view on which line each row of a diff is."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import accumulate
from typing import NamedTuple

from rich.cells import get_character_cell_size

from treadle.display.diffs import DiffRow, RowKind
from treadle.tui.diff.document import DiffDocument, DiffHunk

MIN_TEXT_COLUMNS = 8
WIDENS = "\ufe0f"
"""A character that makes the character before it an emoji, which takes two columns."""


class Part(Enum):
    """The kind of an entry."""

    FILE = auto()
    """The line that names a file."""
    HUNK = auto()
    """The line above a hunk."""
    BOTH = auto()
    """Both sides of a row. In a unified diff, only an unchanged row has such an entry."""
    OLD = auto()
    """The old side of a row, in a unified diff."""
    NEW = auto()
    """The new side of a row, in a unified diff."""


class Entry(NamedTuple):
    """A line of the diff before wrapping.

    `file` is the index of the file, and `row` is the index of the row in its hunk. `hunk` is the
    number of the hunk, or 0 for the line that names a file.
    """

    part: Part
    file: int
    hunk: int
    row: int


class Columns(NamedTuple):
    """The widths of a diff in columns.

    `number` is the width of a line number, and `text` is the width of the text of one side.
    `both_numbers` states whether a line of a unified diff shows the old and the new number.
    """

    number: int
    text: int
    both_numbers: bool


class Layout:
    """The entries of a document at one width, and the line at which each entry begins."""

    def __init__(self, document: DiffDocument, width: int, *, side_by_side: bool) -> None:
        self.document = document
        self.side_by_side = side_by_side
        self.columns = _columns(document, width, side_by_side=side_by_side)
        self.entries = list(_entries(document, side_by_side=side_by_side))
        self._first = [0, *accumulate(map(self._height, self.entries))]
        self._heads = {
            each.hunk: position
            for position, each in enumerate(self.entries)
            if each.part is Part.HUNK
        }

    @property
    def total(self) -> int:
        """The number of lines."""
        return self._first[-1]

    def find(self, line: int) -> tuple[int, int]:
        """Return the position of the entry at a line, and the index of the line in the entry."""
        position = bisect_right(self._first, line) - 1
        return position, line - self._first[position]

    def hunk_lines(self, number: int) -> tuple[int, int]:
        """Return the line of the head of a hunk, and the line after the end of the hunk."""
        head = self._heads[number]
        end = self._heads.get(number + 1, len(self.entries))
        if end < len(self.entries) and self.entries[end - 1].part is Part.FILE:
            end -= 1
        return self._first[head], self._first[end]

    def _height(self, entry: Entry) -> int:
        if entry.part in {Part.FILE, Part.HUNK}:
            return 1
        row = self.document.hunks[entry.hunk - 1].rows[entry.row]
        return max(len(fold(text, self.columns.text)) for text in sides(entry, row))


def sides(entry: Entry, row: DiffRow) -> Sequence[str]:
    """Return the texts of a row that an entry shows."""
    match entry.part:
        case Part.OLD:
            return (row.old or "",)
        case Part.NEW:
            return (row.new or "",)
    if row.kind is RowKind.CONTEXT:
        return (row.old or "",)
    return (row.old or "", row.new or "")


def fold(text: str, width: int) -> list[tuple[int, int]]:
    """Wrap a text, and return the range of characters of each line. An empty text has one line."""
    if text.isascii():
        starts = range(0, max(1, len(text)), width)
        return [(start, min(start + width, len(text))) for start in starts]
    cuts = [0]
    used = 0
    for position, character in enumerate(text):
        size = 2 if text[position + 1 : position + 2] == WIDENS else _columns_of(character)
        if used and used + size > width:
            cuts.append(position)
            used = 0
        used += size
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))


def _columns_of(character: str) -> int:
    return 0 if character == WIDENS else get_character_cell_size(character)


def _columns(document: DiffDocument, width: int, *, side_by_side: bool) -> Columns:
    number = max(3, len(str(document.last_line)))
    if side_by_side:  # each side has a number, a mark, two spaces and a text
        text = (width - 1) // 2 - number - 3
        return Columns(number, max(MIN_TEXT_COLUMNS, text), both_numbers=True)
    both = width >= 60
    text = width - (2 * number + 1 if both else number) - 3
    return Columns(number, max(MIN_TEXT_COLUMNS, text), both)


def _entries(document: DiffDocument, *, side_by_side: bool) -> Iterator[Entry]:
    for index, file in enumerate(document.files):
        yield Entry(Part.FILE, index, 0, 0)
        for hunk in file.hunks:
            yield Entry(Part.HUNK, index, hunk.number, 0)
            if side_by_side:
                for row in range(len(hunk.rows)):
                    yield Entry(Part.BOTH, index, hunk.number, row)
            else:
                yield from _unified(hunk)


def _unified(hunk: DiffHunk) -> Iterator[Entry]:
    """Yield the entries of a hunk in a unified diff.

    In each group of changed rows, the old lines come before the new lines.
    """
    changed: list[int] = []
    for number, row in enumerate([*hunk.rows, None]):
        if row is not None and row.kind is not RowKind.CONTEXT:
            changed.append(number)
            continue
        for part in (Part.OLD, Part.NEW):
            for each in changed:
                text = hunk.rows[each].old if part is Part.OLD else hunk.rows[each].new
                if text is not None:
                    yield Entry(part, hunk.file, hunk.number, each)
        changed = []
        if row is not None:
            yield Entry(Part.BOTH, hunk.file, hunk.number, number)
