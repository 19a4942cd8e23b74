"""Prints text, tables and JSON. Foreign text is escaped. JSON is one line."""

import sys
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
