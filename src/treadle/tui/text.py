"""Turns foreign text into text that Textual may show.

Foreign text comes from models, tools, files, paths and titles. Textual parses markup in plain
strings, and a terminal obeys control characters. Every widget therefore shows foreign text as the
`Content` that these functions return, in which each character stands for itself.
"""

import time

from textual.content import Content

from treadle.visible import in_line, printable

TAB_COLUMNS = 4
TIME_COLUMNS = 10
"""The columns of the text that `short_when` returns."""


def foreign(text: str, style: str = "") -> Content:
    """Return `text` with visible control characters. Line breaks remain, and tabs become spaces."""
    return Content.styled(printable(text).expandtabs(TAB_COLUMNS), style)


def foreign_line(text: str, style: str = "", *, columns: int | None = None) -> Content:
    """Return `text` as one line. A line break becomes a visible escape.

    `columns` is the maximum number of characters. A longer text ends with an ellipsis.
    """
    line = in_line(text if columns is None else text[: 4 * columns])
    if columns is not None and (len(line) > columns or len(text) > 4 * columns):
        line = f"{line[: max(0, columns - 1)]}…"
    return Content.styled(line, style)


def short_when(microseconds: int) -> str:
    """Format Unix microseconds for a list: the local time of today, or the date of another day."""
    at, today = time.localtime(microseconds / 1e6), time.localtime()
    same_day = at[:3] == today[:3]
    return time.strftime("%H:%M" if same_day else "%Y-%m-%d", at)
