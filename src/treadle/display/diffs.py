"""Formats diffs for a terminal: unified or side by side."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import TextIO

from treadle.edits.diffs import all_crlf, unified
from treadle.edits.model import FileChange, Hunk
from treadle.visible import in_line, printable, with_control_pictures

_RED, _GREEN, _CYAN, _BOLD, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
_COLOURS = {"+++": _BOLD, "---": _BOLD, "@@ ": _CYAN}
_MIN_WIDTH = 60

_Row = tuple[str, int | None, str, int | None, str]
"""A row of the side-by-side view.

It contains a mark (" ", "-", "+" or "|"), number and text of the old line, and number and text of
the new line. A number is None if the row has no line on that side.
"""


def coloured(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that shows colours, and `NO_COLOR` is not set."""
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
    for number, hunk in enumerate(change.hunks):
        if number:
            out.append("…".center(width).rstrip())
        out += [_line(row, half, colour=colour) for row in _rows(hunk, change, number)]
    return "\n".join(out)


def hunk_text(change: FileChange, number: int, *, colour: bool) -> str:
    """Format one hunk of a change as a unified diff."""
    part = replace(change, hunks=change.hunks[number : number + 1])
    return unified_text(part, colour=colour)


def _colour_line(line: str) -> str:
    colour = _COLOURS.get(line[:3]) or {"+": _GREEN, "-": _RED}.get(line[:1])
    return f"{colour}{line}{_PLAIN}" if colour else line


def _rows(hunk: Hunk, change: FileChange, number: int) -> Iterator[_Row]:
    earlier = change.hunks[:number]
    shift = sum(each.new.count(b"\n") - each.old.count(b"\n") for each in earlier)
    encoding = change.encoding or "utf-8"
    start = hunk.line - hunk.before.count(b"\n")
    hide_cr = all_crlf(change.hunks)
    before, after, old, new = (
        _texts(data, encoding, hide_cr=hide_cr)
        for data in (hunk.before, hunk.after, hunk.old, hunk.new)
    )
    for index, text in enumerate(before):
        yield " ", start + index, text, start + index + shift, text
    for index, (left, right) in enumerate(zip_longest(old, new)):
        mark = "|" if None not in (left, right) else "-" if right is None else "+"
        yield (
            mark,
            None if left is None else hunk.line + index,
            left or "",
            None if right is None else hunk.line + shift + index,
            right or "",
        )
    after_old, after_new = hunk.line + len(old), hunk.line + shift + len(new)
    for index, text in enumerate(after):
        yield " ", after_old + index, text, after_new + index, text


def _texts(data: bytes, encoding: str, *, hide_cr: bool) -> list[str]:
    """Decode lines and remove their line ends. Control characters become visible characters."""
    if not data:
        return []
    lines = data.decode(encoding, "backslashreplace").removesuffix("\n").split("\n")
    return [with_control_pictures(line.removesuffix("\r") if hide_cr else line) for line in lines]


def _line(row: _Row, half: int, *, colour: bool) -> str:
    mark, old_number, old, new_number, new = row
    left, right = _cell(old_number, old, half), _cell(new_number, new, half)
    if colour and mark in "-|":
        left = f"{_RED}{left}{_PLAIN}"
    if colour and mark in "+|":
        right = f"{_GREEN}{right}{_PLAIN}"
    return f"{left} {mark} {right}".rstrip()


def _cell(number: int | None, text: str, width: int) -> str:
    label = "     " if number is None else f"{number:>5}"
    text = text.expandtabs(4)
    available = width - len(label) - 1
    shown = text if len(text) <= available else f"{text[: available - 1]}…"
    return f"{label} {shown:<{available}}"
