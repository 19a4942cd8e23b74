"""Converts foreign text into text that Textual can show safely.

Foreign text comes from models, tools, files, paths and titles. Textual parses markup in plain
strings, and a terminal obeys control characters. Therefore every widget shows foreign text as the
`Content` that these functions return. It has no markup, and no control
characters except line breaks.
"""

import time

from textual.content import Content

from treadle.visible import in_line, printable

TAB_COLUMNS = 4
TIME_COLUMNS = 10
"""The maximum width of the text that `short_when` returns."""


def foreign(text: str, style: str = "") -> Content:
    """Return `text` with visible replacements for control characters.

    Line breaks remain, and tabs become spaces.
    """
    return Content.styled(printable(text).expandtabs(TAB_COLUMNS), style)


def foreign_line(text: str, style: str = "", *, columns: int | None = None) -> Content:
    """Return `text` as one line. A line break becomes a visible escape.

    `columns` is the maximum number of characters. A longer text is cut and ends with an ellipsis.
    """
    line = in_line(text if columns is None else text[: 4 * columns])
    if columns is not None and (len(line) > columns or len(text) > 4 * columns):
        line = f"{line[: max(0, columns - 1)]}…"
    return Content.styled(line, style)


def short_when(microseconds: int) -> str:
    """Format Unix microseconds for a list, in local time.

    If the time is today, the result is the hour and minute. Otherwise it is the date.
    """
    at, today = time.localtime(microseconds / 1e6), time.localtime()
    same_day = at[:3] == today[:3]
    return time.strftime("%H:%M" if same_day else "%Y-%m-%d", at)
