"""From the outline of a document or configuration to items."""

import re

from treadle.code.extract import Lines
from treadle.code.languages.outline import SEPARATOR, Outline
from treadle.code.limits import limit_items
from treadle.code.model import Item, Kind

_MAX_KEY_BYTES = 16_000
"""A larger value of a key is data, and is split by lines."""
_MAX_NAME = 200


def outlined(outline: Outline, source: bytes, path: str, lines: Lines) -> tuple[list[Item], bool]:
    """The parts of a text as items, and whether some were too large to be one.

    Raises `TooManyItemsError`.
    """
    items: list[Item] = []
    open_parts: list[tuple[int, int]] = []  # levels and places of the parts around
    large = False
    for part in outline.parts(source):
        while open_parts and open_parts[-1][0] >= part.level:
            open_parts.pop()
        end = part.start + len(source[part.start : part.end].rstrip())
        if not 0 < len(part.name) <= _MAX_NAME or end <= part.start:
            continue
        if outline.kind is Kind.KEY and end - part.start > _MAX_KEY_BYTES:
            large = True
            continue
        limit_items(len(items))
        first = part.start if part.comments is None else part.comments
        parent = open_parts[-1][1] if open_parts else None
        above = items[parent].canonical_path if parent is not None else path
        items.append(
            Item(
                name=part.name,
                canonical_path=f"{above}{SEPARATOR}{part.name}",
                kind=outline.kind,
                parent=parent,
                start_byte=first,
                end_byte=end,
                start_line=lines.of(first),
                end_line=lines.of(end - 1),
                signature_start=part.start,
                signature_end=min(
                    end, part.start + len(source[part.start : part.head_end].rstrip())
                ),
            )
        )
        open_parts.append((part.level, len(items) - 1))
    return items, large


_SPACE = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)


def json_cut(source: bytes, start: int, end: int) -> tuple[int, int, bytes]:
    """The range of a key of JSON with one comma, and what of it stays."""
    behind = _match_end(source, end)
    if source[behind : behind + 1] == b",":
        rest = source[behind + 1 :]
        blanks = len(rest) - len(rest.lstrip(b" \t"))
        more = rest[blanks : blanks + 1] not in {b"", b"\r", b"\n", b"/"}
        return start, behind + 1 + (blanks if more else 0), source[end:behind]
    comma = source.rfind(b",", 0, start)
    if comma >= 0 and _match_end(source, comma + 1) >= start:
        between = source[comma + 1 : start]
        return comma, end, between if between.strip() else b""
    return start, end, b""


def _match_end(source: bytes, position: int) -> int:
    found = _SPACE.match(source, position)
    return found.end() if found else position
