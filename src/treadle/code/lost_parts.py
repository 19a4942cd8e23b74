"""Parts of an item that new code for it leaves out, though it may well have meant to keep them."""

import re

from treadle.code.editable import Editable, Entry, NotEditableError

_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*|^[ \t]*#(?!\[)[^\n]*", re.DOTALL | re.MULTILINE)
_PART = re.compile(
    rb"@[\w.]+|#!?\[[ \t]*[\w:]+|^[ \t]*\[[ \t]*(?:\w+[ \t]*:[ \t]*)?[\w.]+"
    rb"|\b(?:export|pub|public)\b",
    re.MULTILINE,
)
"""Decorators and annotations, attributes of Rust and of C#, and what lets others use the item."""


def lost_parts(before: Editable, entry: Entry, after: Editable) -> str:
    """A sentence on what `entry` had and the item of its path has not any more; "" if nothing."""
    if entry.definition is None:
        return ""
    name = entry.item.name
    try:
        same = [
            each for each in after.entries if each.item.canonical_path == entry.item.canonical_path
        ]
    except NotEditableError:
        return ""
    if not same:
        return f"{before.path} no longer defines {name}: the new code does not declare it."
    kept = {part for each in same for part in _parts(after, each)}
    lost = [part.decode("utf-8", "replace") for part in _parts(before, entry) if part not in kept]
    if not lost:
        return ""
    shown = ", ".join(f"`{part}{']' if '[' in part else ''}`" for part in lost)
    return f"{before.path}: {name} had {shown}, which the new code leaves out."


def _parts(file: Editable, entry: Entry) -> list[bytes]:
    """What stands before the name of an item, apart from its comments, in order."""
    if entry.definition is None:
        return []
    header = _COMMENT.sub(b"", file.data[entry.start : entry.definition.name.start_byte])
    return [part.strip() for part in _PART.findall(header)]
