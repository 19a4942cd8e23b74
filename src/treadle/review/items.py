"""Compares the items of a file before and after a change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from treadle.code.model import TEXT_KINDS, Item, Kind


class ItemChange(StrEnum):
    """How a change affects an item."""

    ADDED = "added"
    REMOVED = "removed"
    SIGNATURE = "signature changed"
    BODY = "body changed"


@dataclass(frozen=True, slots=True)
class ChangedItem:
    """An item that a change affects.

    The lines count from 1. Those of a removed item are lines of the file before the change, and
    those of any other item are lines after the change.
    """

    file: str
    name: str
    canonical_path: str
    kind: Kind
    change: ItemChange
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Version:
    """The content of a file, and its items."""

    data: bytes
    items: Sequence[Item]


_Key = tuple[str, Kind]


def compare_items(file: str, before: Version, after: Version) -> list[ChangedItem]:
    """Return the items of code that differ between two versions of a file, in order of their lines.

    A type or a module counts as changed only if its own text changes, without its members.
    """
    old, new = _by_key(before.items), _by_key(after.items)
    changed = [
        _changed(file, item, ItemChange.REMOVED)
        for key, items in old.items()
        if key not in new
        for item in items[:1]
    ]
    for key, items in new.items():
        if key not in old:
            changed += [_changed(file, item, ItemChange.ADDED) for item in items]
            continue
        if _texts(before, old[key], signature=True) != _texts(after, items, signature=True):
            kind = ItemChange.SIGNATURE
        elif _texts(before, old[key]) != _texts(after, items):
            kind = ItemChange.BODY
        else:
            continue
        changed += [_changed(file, item, kind) for item in items[:1]]
    return sorted(changed, key=lambda each: (each.start_line, each.canonical_path))


def _by_key(items: Iterable[Item]) -> Mapping[_Key, list[Item]]:
    """Group items by canonical path and kind. Overloads of a function have the same."""
    found: dict[_Key, list[Item]] = {}
    for item in items:
        if item.kind not in TEXT_KINDS and item.kind is not Kind.MODULE:
            found.setdefault((item.canonical_path, item.kind), []).append(item)
    return found


def _changed(file: str, item: Item, change: ItemChange) -> ChangedItem:
    return ChangedItem(
        file, item.name, item.canonical_path, item.kind, change, item.start_line, item.end_line
    )


def _texts(version: Version, items: Sequence[Item], *, signature: bool = False) -> list[bytes]:
    """Return the signatures of items, or their texts without the texts of their members."""
    if signature:
        return [_words(version.data[each.signature_start : each.signature_end]) for each in items]
    return [_own_text(version, item) for item in items]


def _own_text(version: Version, item: Item) -> bytes:
    parts, position = [], item.start_byte
    for member in version.items:
        inside = item.start_byte <= member.start_byte and member.end_byte <= item.end_byte
        if member is item or not inside or member.start_byte < position:
            continue
        if member.kind is Kind.MODULE or member.kind in TEXT_KINDS:
            continue
        parts.append(version.data[position : member.start_byte])
        position = member.end_byte
    parts.append(version.data[position : item.end_byte])
    return _words(b" ".join(parts))


def _words(text: bytes) -> bytes:
    """Return `text` without differences in white space."""
    return b" ".join(text.split())
