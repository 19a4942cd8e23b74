"""The diff of a proposal: its files, hunks and rows, and the decisions of a person about hunks."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from treadle.app.proposal_answers import ShownFile, ShownProposal
from treadle.display.diffs import DiffRow, RowKind, diff_rows
from treadle.tui.text import TAB_COLUMNS


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """A hunk, which a person can take or leave out. Hunks have numbers from 1 over all files.

    `file` is the index of its file. `denied` states that the hunk was denied earlier.
    The person cannot take such a hunk.
    """

    number: int
    file: int
    rows: tuple[DiffRow, ...]
    denied: bool = False

    @property
    def added(self) -> int:
        """The number of added lines."""
        return sum(each.new is not None and each.kind is not RowKind.CONTEXT for each in self.rows)

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum(each.old is not None and each.kind is not RowKind.CONTEXT for each in self.rows)

    @property
    def line(self) -> int | None:
        """The number of the first changed line, or None.

        It is the number in the new file. For a removed line, it is the number in the old file.
        """
        changed = next((each for each in self.rows if each.kind is not RowKind.CONTEXT), None)
        return None if changed is None else changed.new_number or changed.old_number


@dataclass(frozen=True, slots=True)
class DiffFile:
    """The diff of one file."""

    shown: ShownFile
    hunks: tuple[DiffHunk, ...]


class DiffDocument:
    """The diff of a proposal. Tabs are replaced by spaces.

    Create it in a thread, because parsing a large diff takes time.
    """

    def __init__(self, shown: ShownProposal) -> None:
        self.shown = shown
        self.files = tuple(_file(index, file) for index, file in enumerate(shown.files))
        self.hunks = tuple(hunk for file in self.files for hunk in file.hunks)

    @cached_property
    def last_line(self) -> int:
        """The largest line number in the diff."""
        return max(
            (
                number
                for hunk in self.hunks
                for row in hunk.rows[-2:]
                for number in (row.old_number, row.new_number)
                if number is not None
            ),
            default=0,
        )


class Review:
    """The decisions of a person about the hunks of a document.

    At first, every hunk is taken, except hunks that were denied earlier. A hunk that was denied
    earlier is never in `taken` or `left_out`.
    """

    def __init__(self, document: DiffDocument) -> None:
        self.document = document
        self._left: set[int] = set()

    def is_taken(self, number: int) -> bool:
        """Whether the person takes a hunk."""
        return number not in self._left and not self.document.hunks[number - 1].denied

    @property
    def taken(self) -> list[int]:
        """The numbers of the hunks that the person takes."""
        return [hunk.number for hunk in self.document.hunks if self.is_taken(hunk.number)]

    @property
    def left_out(self) -> list[int]:
        """The numbers of the hunks that the person leaves out."""
        return sorted(self._left)

    def toggle(self, number: int) -> None:
        """Leave out a hunk that is taken, or take a hunk that is left out."""
        self._set([number], take=number in self._left)

    def toggle_file(self, file: int) -> None:
        """Leave out all hunks of a file if any of them is taken. Otherwise take them all."""
        numbers = [hunk.number for hunk in self.document.files[file].hunks]
        self._set(numbers, take=not any(map(self.is_taken, numbers)))

    def _set(self, numbers: Iterable[int], *, take: bool) -> None:
        open_numbers = {each for each in numbers if not self.document.hunks[each - 1].denied}
        self._left = self._left - open_numbers if take else self._left | open_numbers

    def carry_over(self, document: DiffDocument) -> "Review":
        """Return the decisions for a newer version of the document.

        A hunk is left out there if a hunk with the same file and rows is left out here.
        """
        left = {self._identity(self.document, number) for number in self._left}
        carried = Review(document)
        carried._left = {
            hunk.number
            for hunk in document.hunks
            if not hunk.denied and self._identity(document, hunk.number) in left
        }
        return carried

    @staticmethod
    def _identity(document: DiffDocument, number: int) -> tuple[str, tuple[DiffRow, ...]]:
        hunk = document.hunks[number - 1]
        rows = tuple(replace(each, old_number=None, new_number=None) for each in hunk.rows)
        return document.files[hunk.file].shown.file.path, rows


def _file(index: int, shown: ShownFile) -> DiffFile:
    denied = set(shown.denied_hunks)
    hunks = (
        DiffHunk(
            number,
            index,
            tuple(map(_without_tabs, rows)),
            number in denied,
        )
        for number, rows in enumerate(diff_rows(shown.hunk_diffs), shown.first_hunk)
    )
    return DiffFile(shown, tuple(hunks))


def _without_tabs(row: DiffRow) -> DiffRow:
    if "\t" not in (row.old or "") and "\t" not in (row.new or ""):
        return row
    old, new = row.old, row.new
    return replace(
        row,
        old=None if old is None else old.expandtabs(TAB_COLUMNS),
        new=None if new is None else new.expandtabs(TAB_COLUMNS),
    )
