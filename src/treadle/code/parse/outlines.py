"""Builds items from the outline of a document or a configuration."""

from treadle.code.languages.limits import limit_items
from treadle.code.languages.outline import SEPARATOR, Outline
from treadle.code.model import Item, Kind
from treadle.code.text import Lines

_MAX_KEY_BYTES = 16_000
"""The maximum number of bytes of a key with its value. Longer values are data, split by lines."""

_MAX_NAME = 200


def outlined(outline: Outline, source: bytes, path: str, lines: Lines) -> tuple[list[Item], bool]:
    """Return the parts of a text as items, and whether some parts were too large.

    Parts that are too large are left out of the items. Raises `TooManyItemsError`.
    """
    items: list[Item] = []
    open_parts: list[tuple[int, int]] = []  # levels and positions of the enclosing parts
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
