"""Prints text, tables and JSON. It escapes control characters in all printed text."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from treadle.visible import in_line, printable


def print_json(value: Mapping[str, Any]) -> None:
    """Print an object as one line of JSON on standard output."""
    import json

    print(json.dumps(value, ensure_ascii=True, default=str), flush=True)


def print_text(text: str = "") -> None:
    """Print text, which may have several lines, on standard output."""
    print(printable(text))


def print_line(text: str) -> None:
    """Print text as one line on standard output. Line ends within the text are escaped."""
    print(in_line(text))


def report(text: str) -> None:
    """Print a message on standard error, where it is separate from the result of the command."""
    print(printable(text), file=sys.stderr, flush=True)


def report_line(text: str) -> None:
    """Print a message as one line on standard error. Line ends within the message are escaped."""
    print(in_line(text), file=sys.stderr, flush=True)


def table(rows: Sequence[tuple[str, ...]], headers: tuple[str, ...]) -> str:
    """Format rows as aligned columns with headers. The last column is neither padded nor cut."""
    cells = [headers, *((*map(in_line, row),) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers) - 1)]
    lines = []
    for row in cells:
        fixed = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*fixed, row[-1]]).rstrip())
    return "\n".join(lines)
