"""Formats diffs for a terminal: unified or side by side."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate, zip_longest
from typing import TextIO

from treadle.edits.diffs import unified
from treadle.edits.line_differences import differences
from treadle.edits.model import FileChange
from treadle.visible import in_line, printable

_RED, _GREEN, _CYAN, _BOLD, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
_COLOURS = {"+++": _BOLD, "---": _BOLD, "@@ ": _CYAN}
_MIN_WIDTH = 60

_HEAD = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")
_WORD = re.compile(r"\w+|\s+|.")
_MAX_WORDS_CHARACTERS = 2_000
_MIN_COMMON = 0.3


class RowKind(StrEnum):
    """The kind of a row. The value is its mark in the text form of the side-by-side diff."""

    CONTEXT = " "
    REMOVED = "-"
    ADDED = "+"
    CHANGED = "|"


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One row of a side-by-side diff: the old line on the left, the new line on the right.

    `old` or `new` is None if the row has no line on that side. If only the number of a side is
    None, its text is not a line of the file but a note of the diff. An example is the note that the
    file ends without a line break. A symbol such as ␛ replaces each hidden character in the texts.
    """

    kind: RowKind
    old_number: int | None
    old: str | None
    new_number: int | None
    new: str | None


def diff_rows(hunk_diffs: Sequence[str]) -> list[tuple[DiffRow, ...]]:
    """Return the rows of each hunk of a file. Each element of `hunk_diffs` is the diff of one hunk.

    The diffs have the format of `edits.diffs.unified`. The line numbers of each diff ignore the
    other hunks. Therefore this function corrects the new line numbers by the lines that the earlier
    hunks add or remove.
    """
    hunks = []
    shift = 0
    for diff in hunk_diffs:
        rows = tuple(_rows(diff, shift))
        shift += sum((each.new_number is not None) - (each.old_number is not None) for each in rows)
        hunks.append(rows)
    return hunks


Span = tuple[int, int]
"""A range of characters: the position of the first one, and the position after the last one."""


def changed_words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Return the ranges of removed words in an old line, and of added words in its new version.

    Both lists are empty if one of the lines is too long, or if the lines have little in common.
    """
    if max(len(old), len(new)) > _MAX_WORDS_CHARACTERS:
        return [], []
    words, new_words = _WORD.findall(old), _WORD.findall(new)
    starts, new_starts = _starts(words), _starts(new_words)
    found = differences([word.encode() for word in words], [word.encode() for word in new_words])
    removed = [(starts[a], starts[b]) for a, b, _, _ in found if a < b]
    added = [(new_starts[c], new_starts[d]) for _, _, c, d in found if c < d]
    common = len(old) - sum(end - start for start, end in removed)
    if common < _MIN_COMMON * max(len(old.strip()), len(new.strip())):
        return [], []
    return removed, added


def coloured(stream: TextIO) -> bool:
    """Whether output to `stream` should be coloured.

    It is coloured if `stream` is a terminal that can show colours and `NO_COLOR` is not set.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def unified_text(change: FileChange, *, colour: bool) -> str:
    """Format a change as a unified diff. Control characters are escaped."""
    lines = [printable(line) for line in unified(change).splitlines()]
    return "\n".join(map(_colour_line, lines) if colour else lines)


def side_by_side(change: FileChange, *, colour: bool, width: int | None = None) -> str:
    """Format a change with the old lines on the left and the new lines on the right.

    `width` is the number of columns. The default is the width of the terminal. Lines that are
    longer than half the width are cut.
    """
    width = max(_MIN_WIDTH, width or shutil.get_terminal_size().columns)
    half = (width - 3) // 2
    target = f" -> {change.target}" if change.target else ""
    out = [in_line(f"{change.kind.value} {change.path}{target}")]
    hunks = [unified(replace(change, hunks=(hunk,))) for hunk in change.hunks]
    for number, rows in enumerate(diff_rows(hunks)):
        if number:
            out.append("…".center(width).rstrip())
        out += [_line(row, half, colour=colour) for row in rows]
    return "\n".join(out)


def hunk_text(change: FileChange, number: int, *, colour: bool) -> str:
    """Format one hunk of a change as a unified diff."""
    part = replace(change, hunks=change.hunks[number : number + 1])
    return unified_text(part, colour=colour)


def _colour_line(line: str) -> str:
    colour = _COLOURS.get(line[:3]) or {"+": _GREEN, "-": _RED}.get(line[:1])
    return f"{colour}{line}{_PLAIN}" if colour else line


def _rows(diff: str, shift: int) -> Iterator[DiffRow]:
    """Yield the rows of the diff of one hunk.

    `shift` is the number of lines that earlier hunks add, minus the number that they remove.
    """
    old_number = new_number = 0
    removed: list[_Numbered] = []
    added: list[_Numbered] = []
    side: list[_Numbered] | None = None
    inside = False
    for line in diff.removesuffix("\n").split("\n"):
        if head := _HEAD.fullmatch(line):
            yield from _changed_rows(removed, added)
            removed, added, side = [], [], None
            if inside:
                yield DiffRow(RowKind.CONTEXT, None, "…", None, "…")
            inside = True
            old_number = int(head[1]) + (head[2] == "0")
            new_number = int(head[3]) + (head[4] == "0") + shift
        if head or not inside:
            continue
        mark, text = line[:1], line[1:]
        match mark:
            case "-":
                side = removed
                removed.append((old_number, text))
                old_number += 1
            case "+":
                side = added
                added.append((new_number, text))
                new_number += 1
            case "\\" if side is not None:
                side.append((None, line))
            case "\\":
                yield DiffRow(RowKind.CONTEXT, None, line, None, line)
            case _:
                yield from _changed_rows(removed, added)
                removed, added, side = [], [], None
                yield DiffRow(RowKind.CONTEXT, old_number, text, new_number, text)
                old_number, new_number = old_number + 1, new_number + 1
    yield from _changed_rows(removed, added)


_Numbered = tuple[int | None, str]


def _changed_rows(removed: list[_Numbered], added: list[_Numbered]) -> Iterator[DiffRow]:
    for left, right in zip_longest(removed, added):
        kind = (
            RowKind.ADDED if left is None else RowKind.REMOVED if right is None else RowKind.CHANGED
        )
        yield DiffRow(kind, *(left or (None, None)), *(right or (None, None)))


def _starts(words: Sequence[str]) -> list[int]:
    """Return the position of each word, followed by the length of all words together."""
    return [0, *accumulate(map(len, words))]


def _line(row: DiffRow, half: int, *, colour: bool) -> str:
    left, right = _cell(row.old_number, row.old, half), _cell(row.new_number, row.new, half)
    if colour and row.kind in {RowKind.REMOVED, RowKind.CHANGED}:
        left = f"{_RED}{left}{_PLAIN}"
    if colour and row.kind in {RowKind.ADDED, RowKind.CHANGED}:
        right = f"{_GREEN}{right}{_PLAIN}"
    return f"{left} {row.kind.value} {right}".rstrip()


def _cell(number: int | None, line: str | None, width: int) -> str:
    label = "     " if number is None else f"{number:>5}"
    text = (line or "").expandtabs(4)
    available = width - len(label) - 1
    shown = text if len(text) <= available else f"{text[: available - 1]}…"
    return f"{label} {shown:<{available}}"
