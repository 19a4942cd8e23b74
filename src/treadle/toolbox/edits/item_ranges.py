"""Finds the bytes of an item that an edit names by its canonical path."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from treadle.code.item_edits.editable import EditableFile, EditableItem, NotEditableError
from treadle.code.item_edits.effects import changed_item, lost_parts
from treadle.code.model import Kind
from treadle.edits.model import EditError, content_hash, splice
from treadle.edits.plan import plan
from treadle.edits.requests import RangeEdit
from treadle.edits.service import Edits
from treadle.events.types import ErrorKind
from treadle.toolbox.code.items import ItemName, none_of_that_name
from treadle.toolbox.code.workspace import shown_path

if TYPE_CHECKING:  # the index imports libraries that are slow to load
    from treadle.code import CodeIndex

_LISTED = 8


class EditPart(BaseModel):
    """Base class of the nested arguments of an edit."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ItemCode(EditPart):
    """A complete item, and its new code."""

    canonical_path: ItemName
    kind: Kind | None = Field(default=None, description="Kind, if several items share the path.")
    code: str = Field(
        description="The whole new item, with its doc comment, attributes and decorators; "
        "empty deletes it. A plain comment above the item stays unless `code` "
        "begins with one."
    )


@dataclass(frozen=True, slots=True)
class ItemRanges:
    """Finds the bytes of items in the current files.

    The methods block. Each file is parsed in a separate process, since a hostile file can crash the
    parser.
    """

    edits: Edits
    index: "CodeIndex"

    def edit(self, number: int, file: str, item: ItemCode, expected_hash: str | None) -> RangeEdit:
        """Return the edit that replaces an item with new code.

        `number` is the position of the edit in the call. If the call gives no `expected_hash`, the
        edit gets the hash of the content in which the item was found. Raises EditError if the file
        does not contain exactly one item of that name, or if the item cannot be edited without
        changing other items. Raises ToolError, with the nearest items, if no file contains such an
        item.
        """
        from treadle.toolbox.edits.item_ranges import Exact, Missing, Refused, Several

        path = self.edits.relative(file)
        data = self.edits.read(path)
        if data is None:
            # The error is raised later, when all edits of the call are planned.
            return RangeEdit(path, 0, 0, item.code, expected_hash)
        answer = self._answer(number, path, data, item)
        match answer:
            case Exact():
                return RangeEdit(
                    path, answer.start, answer.end, answer.code,
                    expected_hash or content_hash(data),
                    reindent=answer.reindent, note=answer.note,
                )  # fmt: skip
            case Refused():
                raise EditError(
                    ErrorKind.VALIDATION,
                    answer.message,
                    path=path,
                    number=number,
                    hint=answer.hint,
                )
            case Several():
                raise _several(number, path, item.canonical_path, answer.items)
            case Missing():
                raise self._missing(number, path, item, answer)

    def _answer(self, number: int, path: str, data: bytes, item: ItemCode) -> "Answer":
        from treadle.code.languages import language_of
        from treadle.code.languages.extra import unpacked_grammar
        from treadle.code.sandbox.workers import CallFailedError, call_apart
        from treadle.toolbox.edits.item_ranges import item_answer

        folders = frozenset(unpacked_grammar(language_of(path, data)))
        call = (path, data, item.canonical_path, item.kind, item.code)
        try:
            return call_apart(item_answer, *call, folders=folders)
        except CallFailedError as error:
            why = f"the file, or the new code in it, {error}"
        except OSError as error:
            why = f"no parser process could be started ({error})"
        raise EditError(
            ErrorKind.VALIDATION,
            f"The items of {path} cannot be edited: {why}.",
            path=path,
            number=number,
            hint="Use `replace` with the exact text, or `lines`.",
        )

    def _missing(self, number: int, path: str, item: ItemCode, answer: "Missing") -> Exception:
        name, kind = item.canonical_path, item.kind
        if answer.is_file:
            return EditError(
                ErrorKind.VALIDATION,
                f"{name!r} is the whole file {path}, and the file has no item with that "
                f"name{f' and the kind {kind.value}' if kind else ''}. An item edit never replaces "
                "a file.",
                path=path,
                number=number,
                hint="Use `replace` or `lines` for a part of it, or create_file with `on_exists` "
                "`overwrite` for the whole file.",
            )
        if answer.other is not None:
            return EditError(
                ErrorKind.NOT_FOUND,
                f"{path} has no item {name!r}.",
                path=path,
                number=number,
                hint=f"An item with different capitals exists: {shown_path(answer.other)}.",
            )
        self.index.refresh()
        found = self.index.lookup(name, kind=kind, limit=1)
        elsewhere = [each for each in found.items if each.file != path]
        if not elsewhere:
            return none_of_that_name(name, self.index.lookup(name, file=path, kind=kind))
        return EditError(
            ErrorKind.NOT_FOUND,
            f"{path} has no item {name!r}.",
            path=path,
            number=number,
            hint=f"{shown_path(elsewhere[0].file)} has one.",
        )


def _several(number: int, path: str, name: str, items: "Sequence[Candidate]") -> EditError:
    listed = ", ".join(
        f"{shown_path(each.canonical_path)} ({each.kind}, lines {each.start_line}-{each.end_line})"
        for each in items[:_LISTED]
    )
    more = ", …" if len(items) > _LISTED else ""
    if len({each.canonical_path for each in items}) == len(items):
        way = "Give the whole canonical path"
    elif len({each.kind for each in items}) == len(items):
        way = "Give its `kind`"
    else:
        way = "Use `replace` or `lines`"
    return EditError(
        ErrorKind.VALIDATION,
        f"{name!r} is the path of {len(items)} items in {PurePath(path).name}: {listed}{more}.",
        path=path,
        number=number,
        hint=f"{way} to select one.",
    )


class Exact(NamedTuple):
    """The byte range of the item and its new code, as in `RangeEdit`."""

    start: int
    end: int
    code: str
    reindent: bool
    note: str


class Refused(NamedTuple):
    """The reason why the item cannot be edited by its name."""

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
    """No item has the name.

    `is_file` states that the name is the canonical path of the whole file. `other` is an item whose
    name differs only in upper and lower case, or None if there is none.
    """

    is_file: bool
    other: str | None


Answer = Exact | Refused | Several | Missing


def item_answer(path: str, data: bytes, name: str, kind: Kind | None, code: str) -> Answer:
    """Find the edit that replaces the item `name` with `code` in a file with the content `data`."""
    source = EditableFile(path, data)
    try:
        chosen = source.meant(name, kind)
        if not chosen:
            similar = source.meant(name, kind, any_case=True)
            return Missing(source.is_file(name), str(similar[0]) if similar else None)
        if len(chosen) > 1:
            return Several(tuple(map(_candidate, chosen)))
        found = exact_edit(source, chosen[0], code)
    except NotEditableError as error:
        return Refused(error.message, error.hint)
    return Exact(found.start, found.end, found.code, found.reindent, found.note)


def _candidate(entry: EditableItem) -> Candidate:
    item = entry.item
    return Candidate(item.canonical_path, item.kind, item.start_line, item.end_line)


def exact_edit(source: EditableFile, entry: EditableItem, code: str) -> RangeEdit:
    """Return the first edit that replaces `entry` with `code` and changes no other item.

    Raises NotEditableError if every such edit would change another item.
    """
    changed = ""
    for each in source.edits(entry, code):
        request = RangeEdit(
            source.path, each.start, each.end, each.code, reindent=each.is_item, note=each.note
        )
        edited = _edited(source, request)
        if edited is None:
            return request  # the error is raised later, when all edits are planned
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


def _edited(source: EditableFile, request: RangeEdit) -> EditableFile | None:
    """Return the file after the edit, or None if the edit cannot be planned."""
    try:
        planned = plan([request], lambda _path: source.data)
    except EditError:
        return None
    (change,) = planned.changes
    return EditableFile(source.path, splice(source.data, change.hunks))
