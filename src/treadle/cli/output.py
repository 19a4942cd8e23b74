"""How text reaches a terminal: foreign text is shown literally, JSON goes out whole."""

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


def say(text: str = "") -> None:
    """Print for a person, on standard output."""
    print(printable(text))


def say_line(text: str) -> None:
    """Print a line with foreign names in it for a person, on standard output."""
    print(in_line(text))


def tell(text: str) -> None:
    """Print a message for a person on standard error, separate from the result."""
    print(printable(text), file=sys.stderr, flush=True)


def tell_line(text: str) -> None:
    """Print a line with foreign names in it for a person, on standard error."""
    print(in_line(text), file=sys.stderr, flush=True)


def table(rows: Sequence[tuple[str, ...]], headers: tuple[str, ...]) -> str:
    """Rows as aligned columns under their headers; the last column is left as long as it is."""
    cells = [headers, *((*map(in_line, row),) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers) - 1)]
    lines = []
    for row in cells:
        fixed = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*fixed, row[-1]]).rstrip())
    return "\n".join(lines)


DETAIL_CHARACTERS = 120
"""Characters of a recorded text in a line of a list or a tree."""


def one_line(text: str, length: int = DETAIL_CHARACTERS) -> str:
    """The beginning of `text` as one printable line of at most `length` characters."""
    line = in_line(" ".join(text[: 4 * length].split()))
    whole = len(line) <= length and len(text) <= 4 * length
    return line if whole else f"{line[: length - 1].rstrip()}…"


_LONG_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}", re.IGNORECASE)


def short_id(identity: str) -> str:
    """An id as lists show it, which every command takes.

    Of a UUID it is so much as is unique in practice: a UUIDv7 begins with 12 digits of the time.
    Any other id stays whole, since its hyphens are part of it.
    """
    return identity.replace("-", "")[:18] if _LONG_ID.fullmatch(identity) else in_line(identity)


def when(microseconds: int) -> str:
    """A moment in the person's own time zone, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(microseconds / 1e6))
