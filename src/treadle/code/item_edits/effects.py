"""Side effects of an edit of an item: other items that change, and lost parts of the item."""

import re

from treadle.code.item_edits.declarations import DeclarationList, find_declaration_list
from treadle.code.item_edits.editable import EditableFile, EditableItem, ItemEdit, NotEditableError

_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*|^[ \t]*#(?!\[)[^\n]*", re.DOTALL | re.MULTILINE)

_PART = re.compile(
    rb"@[\w.]+|#!?\[[ \t]*[\w:]+|^[ \t]*\[[ \t]*(?:\w+[ \t]*:[ \t]*)?[\w.]+"
    rb"|\b(?:export|pub|public)\b",
    re.MULTILINE,
)
"""Decorators, annotations, attributes of Rust and C#, and export modifiers."""


def lost_parts(before: EditableFile, entry: EditableItem, after: EditableFile) -> str:
    """Return a sentence about modifiers and decorators of `entry` that the new item lacks.

    The sentence may also state that the new code does not declare the item. The result is empty if
    nothing is lost.
    """
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
    kept = {part for each in same for part in _header_parts(after, each)}
    lost = [
        part.decode("utf-8", "replace") for part in _header_parts(before, entry) if part not in kept
    ]
    if not lost:
        return ""
    shown = ", ".join(f"`{part}{']' if '[' in part else ''}`" for part in lost)
    return f"{before.path}: {name} had {shown}, which the new code leaves out."


def _header_parts(file: EditableFile, entry: EditableItem) -> list[bytes]:
    """Return the modifiers and decorators before the name of an item, without comments."""
    if entry.definition is None:
        return []
    header = _COMMENT.sub(b"", file.data[entry.start : entry.definition.name.start_byte])
    return [part.strip() for part in _PART.findall(header)]


_BLANKS = b" \t\r\n,;"


def changed_item(
    file: EditableFile, entry: EditableItem, edit: ItemEdit, edited: EditableFile, size: int
) -> str | None:
    """Return what else the edit of `entry` would change, as part of a sentence, or None.

    `size` is the size of the new code in bytes. `edited` is the file after the edit. Every other
    item must be in this file, at its expected position.
    """
    if edited.data == file.data:
        return None
    new = edited.data[edit.start : edit.start + size]
    outside = (file.data[edit.start : entry.item.start_byte], file.data[entry.end : edit.end])
    if any(part.replace(new, b"", 1).strip(_BLANKS) for part in outside):
        return "the text next to it"
    try:
        after = _After(edited, edit, size)
        for each in file.entries:
            inside = entry.start <= each.start and each.end <= entry.end
            replaced = edit.start <= each.start and each.end <= edit.end
            if each is not entry and not (inside and replaced) and not after.has(each):
                return str(each)
    except NotEditableError as error:
        return f"how the file is read: {error.message}"
    if edit.siblings is not None and not after.has_siblings(file, edit.siblings):
        return "another name of the same declaration"
    return None


class _After:
    """A file after an edit. The code of the edit has `size` bytes."""

    def __init__(self, file: EditableFile, edit: ItemEdit, size: int) -> None:
        self._file = file
        self._edit = edit
        self._end = edit.start + size
        self._shift = self._end - edit.end
        self._named: dict[tuple[str, str], list[EditableItem]] = {}
        for each in file.entries:
            self._named.setdefault(_key(each), []).append(each)

    def has(self, former: EditableItem) -> bool:
        """Whether the file still has the item `former`, with the same bytes and position."""
        candidates = self._named.get(_key(former), ())
        if former.end <= self._edit.start:
            return any(self._is_same(each, former, 0) for each in candidates)
        if former.start >= self._edit.end:
            return any(self._is_same(each, former, self._shift) for each in candidates)
        text = self._file.data[former.start : former.end + self._shift].rstrip()
        return any(
            each.start == former.start and self._file.data[each.start : each.end].rstrip() == text
            for each in candidates
        )

    def _is_same(self, entry: EditableItem, former: EditableItem, moved: int) -> bool:
        """Whether `entry` is the item `former`, moved by `moved` bytes.

        `entry` may include a comment or brackets that existed before the edit, but not any of the
        new code.
        """
        start, end = former.start + moved, former.end + moved
        if (entry.start, entry.end) == (start, end):
            return True
        has_new = self._edit.start < self._end
        touches = has_new and entry.start < self._end and self._edit.start < entry.end
        if entry.start > start or entry.end < end or touches:
            return False
        if entry.definition is not None and former.definition is not None:
            node, before = entry.definition.node, former.definition.node
            return (node.start_byte - moved, node.end_byte - moved) == (
                before.start_byte,
                before.end_byte,
            )
        data = self._file.data
        rest = data[entry.start : start] + data[end : entry.end]
        return all(line.lstrip()[:1] in {b"", b"#"} for line in rest.split(b"\n"))

    def has_siblings(self, before: EditableFile, former: DeclarationList) -> bool:
        """Whether the declaration still has all its other names, and they are unchanged."""
        remaining = [
            before.data[each.start : each.end]
            for position, each in enumerate(former.elements)
            if position != former.position
        ]
        data = self._file.data
        for each in self._file.entries:
            found = (
                find_declaration_list(each.definition, data)
                if each.definition is not None
                else None
            )
            if found is None or found.sound < former.sound:
                continue
            if not self._edit.start <= found.own.start <= self._end:
                continue
            texts = [data[one.start : one.end] for one in found.elements]
            if texts[: former.position] + texts[former.position + 1 :] == remaining:
                return True
        return False


def _key(entry: EditableItem) -> tuple[str, str]:
    return (entry.item.kind, entry.item.canonical_path)
