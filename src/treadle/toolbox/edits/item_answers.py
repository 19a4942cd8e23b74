"""How an item of a file can be edited. `item_answer` is for a process that may die of the file."""

from dataclasses import replace
from typing import NamedTuple

from treadle.code.editable import Editable, Entry, NotEditableError
from treadle.code.lost_parts import lost_parts
from treadle.code.model import Kind
from treadle.code.unchanged import changed_item
from treadle.edits.model import EditError, splice
from treadle.edits.planning import plan
from treadle.edits.requests import RangeEdit


class Exact(NamedTuple):
    """The range of the item and what it becomes, as in a `RangeEdit`."""

    start: int
    end: int
    code: str
    reindent: bool
    note: str


class Refused(NamedTuple):
    """Why the item cannot be edited without changing others."""

    message: str
    hint: str | None


class Candidate(NamedTuple):
    """One of several items that a name may mean."""

    canonical_path: str
    kind: Kind
    start_line: int
    end_line: int


class Several(NamedTuple):
    """The items that a name may mean."""

    items: tuple[Candidate, ...]


class Missing(NamedTuple):
    """No item has the name. `is_file`: the file has it. `other`: an item with other capitals."""

    is_file: bool
    other: str | None


Answer = Exact | Refused | Several | Missing


def item_answer(path: str, data: bytes, name: str, kind: Kind | None, code: str) -> Answer:
    """How the item `name` of the file with the content `data` becomes `code`."""
    source = Editable(path, data)
    try:
        chosen = source.meant(name, kind)
        if not chosen:
            others = source.meant(name, kind, any_case=True)
            return Missing(source.is_file(name), str(others[0]) if others else None)
        if len(chosen) > 1:
            return Several(tuple(map(_candidate, chosen)))
        found = exact_edit(source, chosen[0], code)
    except NotEditableError as error:
        return Refused(error.message, error.hint)
    return Exact(found.start, found.end, found.code, found.reindent, found.note)


def _candidate(entry: Entry) -> Candidate:
    item = entry.item
    return Candidate(item.canonical_path, item.kind, item.start_line, item.end_line)


def exact_edit(source: Editable, entry: Entry, code: str) -> RangeEdit:
    """The first way to make the item `code` that changes no other item.

    Raises NotEditableError where there is none.
    """
    changed = ""
    for each in source.edits(entry, code):
        request = RangeEdit(
            source.path, each.start, each.end, each.code, reindent=each.is_item, note=each.note
        )
        edited = _edited(source, request)
        if edited is None:
            return request  # planning all edits together reports why
        size = len(edited.data) - len(source.data) + each.end - each.start
        other = changed_item(source, entry, each, edited, size)
        if other is None:
            lost = lost_parts(source, entry, edited) if code.strip() else ""
            return replace(request, note=" ".join(filter(None, (each.note, lost))))
        changed = changed or other
    raise NotEditableError(
        f"{entry} was not changed, because the edit would also change {changed}.",
        hint="Check that `code` is complete and balanced. To change the other item too, use "
        "`replace`, `range` or `lines`.",
    )


def _edited(source: Editable, request: RangeEdit) -> Editable | None:
    """The file after the edit, once its code is indented as in the file."""
    try:
        planned = plan([request], lambda _path: source.data)
    except EditError:
        return None
    (change,) = planned.changes
    return Editable(source.path, splice(source.data, change.hunks))
