"""Prints text, tables and JSON. Foreign text is escaped. JSON is one line."""

import re
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from treadle.visible import in_line, printable


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object as one line on standard output."""
    import json

    print(json.dumps(value, ensure_ascii=True, default=str), flush=True)


def print_text(text: str = "") -> None:
    """Print text on standard output."""
    print(printable(text))


def print_line(text: str) -> None:
    """Print one line on standard output, with line ends in foreign text escaped."""
    print(in_line(text))


def report(text: str) -> None:
    """Print a message on standard error, separate from the result."""
    print(printable(text), file=sys.stderr, flush=True)


def report_line(text: str) -> None:
    """Print one line on standard error, with line ends in foreign text escaped."""
    print(in_line(text), file=sys.stderr, flush=True)


def table(rows: Sequence[tuple[str, ...]], headers: tuple[str, ...]) -> str:
    """Aligned columns under their headers. The last column keeps its length."""
    cells = [headers, *((*map(in_line, row),) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers) - 1)]
    lines = []
    for row in cells:
        fixed = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*fixed, row[-1]]).rstrip())
    return "\n".join(lines)


DETAIL_CHARACTERS = 120
"""The maximum characters of recorded text in a line of a list or a tree."""


def one_line(text: str, length: int = DETAIL_CHARACTERS) -> str:
    """The beginning of `text` as one printable line of at most `length` characters."""
    line = in_line(" ".join(text[: 4 * length].split()))
    whole = len(line) <= length and len(text) <= 4 * length
    return line if whole else f"{line[: length - 1].rstrip()}…"


_LONG_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}", re.IGNORECASE)


def short_id(identity: str) -> str:
    """The displayed form of an id, which every command accepts.

    A UUID is shortened to 18 digits, which are unique in practice, since a UUIDv7 begins with 12
    digits of the time. Other ids stay whole, because their hyphens are part of them.
    """
    return identity.replace("-", "")[:18] if _LONG_ID.fullmatch(identity) else in_line(identity)


def when(microseconds: int) -> str:
    """A time in the local time zone, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(microseconds / 1e6))
