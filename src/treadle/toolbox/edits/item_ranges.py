"""The bytes of an item that an edit names by its canonical path."""

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from treadle.code.model import Kind
from treadle.edits.model import EditError, content_hash, splice
from treadle.edits.planning import plan
from treadle.edits.requests import RangeEdit
from treadle.edits.service import Edits
from treadle.events.types import ErrorKind
from treadle.toolbox.code.items import ItemName, none_of_that_name
from treadle.toolbox.code.workspace import sendable

if TYPE_CHECKING:  # they bring libraries that are slow to import
    from treadle.code import CodeIndex
    from treadle.code.editable import Editable, Entry

_LISTED = 8


class EditPart(BaseModel):
    """Base of the parts of an edit's arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ItemCode(EditPart):
    """A whole item and what it becomes."""

    canonical_path: ItemName
    kind: Kind | None = Field(default=None, description="Its kind, where several share the path.")
    code: str = Field(
        description="The whole new item, with its doc comment, attributes and decorators; empty "
        "removes it. A plain comment above the item stays unless `code` begins with one."
    )


@dataclass(frozen=True, slots=True)
class ItemRanges:
    """Finds items in the files as they are now; blocks."""

    edits: Edits
    index: "CodeIndex"

    def edit(self, number: int, file: str, item: ItemCode, expected_hash: str | None) -> RangeEdit:
        """The edit of the item's bytes, for the content in which they were found.

        Raises EditError when there is no such item in the file, more than one, or one that cannot
        be edited without changing others, and ToolError with the nearest.
        """
        from treadle.code.editable import Editable, NotEditableError

        path = self.edits.relative(file)
        data = self.edits.read(path)
        if data is None:
            return RangeEdit(path, 0, 0, item.code, expected_hash)  # planning reports it
        try:
            source = Editable(path, data)
            entry = self._found(number, source, item.canonical_path, item.kind)
            return exact_edit(source, entry, item.code, expected_hash or content_hash(data))
        except NotEditableError as error:
            raise EditError(
                ErrorKind.VALIDATION, error.message, path=path, number=number, hint=error.hint
            ) from error

    def _found(self, number: int, source: "Editable", name: str, kind: Kind | None) -> "Entry":
        chosen = source.meant(name, kind)
        if not chosen:
            raise self._not_found(number, source, name, kind)
        if len(chosen) == 1:
            return chosen[0]
        listed = ", ".join(
            f"{sendable(entry.item.canonical_path)} ({entry.item.kind}, lines "
            f"{entry.item.start_line}-{entry.item.end_line})"
            for entry in chosen[:_LISTED]
        )
        more = ", …" if len(chosen) > _LISTED else ""
        if len({entry.item.canonical_path for entry in chosen}) == len(chosen):
            way = "Give the whole canonical path"
        elif len({entry.item.kind for entry in chosen}) == len(chosen):
            way = "Give its `kind`"
        else:
            way = "Use `replace` or `lines`"
        raise EditError(
            ErrorKind.VALIDATION,
            f"{name!r} is the path of {len(chosen)} items in {PurePath(source.path).name}: "
            f"{listed}{more}.",
            path=source.path,
            number=number,
            hint=f"{way} to say which one.",
        )

    def _not_found(
        self, number: int, source: "Editable", name: str, kind: Kind | None
    ) -> Exception:
        if source.is_file(name):
            return EditError(
                ErrorKind.VALIDATION,
                f"{name!r} is the whole file {source.path}, and no item in it has that name"
                f"{f' and the kind {kind.value}' if kind else ''}. An edit of an item never "
                "replaces a file.",
                path=source.path,
                number=number,
                hint="Use `replace` or `lines` for a part of it, or create_file with `on_exists` "
                "`overwrite` for all of it.",
            )
        if others := source.meant(name, kind, any_case=True):
            return EditError(
                ErrorKind.NOT_FOUND,
                f"{source.path} has no item {name!r}.",
                path=source.path,
                number=number,
                hint=f"With other capitals there is the {sendable(str(others[0]))}.",
            )
        self.index.refresh()
        found = self.index.lookup(name, kind=kind, limit=1)
        elsewhere = [item for item in found.items if item.file != source.path]
        if not elsewhere:
            return none_of_that_name(name, self.index.lookup(name, file=source.path, kind=kind))
        return EditError(
            ErrorKind.NOT_FOUND,
            f"{source.path} has no item {name!r}.",
            path=source.path,
            number=number,
            hint=f"There is one in {sendable(elsewhere[0].file)}.",
        )


def exact_edit(
    source: "Editable", entry: "Entry", code: str, expected_hash: str | None = None
) -> RangeEdit:
    """The first way to make the item `code` that changes no other item.

    Raises NotEditableError where there is none.
    """
    from treadle.code.editable import NotEditableError
    from treadle.code.lost_parts import lost_parts
    from treadle.code.unchanged import changed_item

    changed = ""
    for each in source.edits(entry, code):
        request = RangeEdit(
            source.path, each.start, each.end, each.code, expected_hash,
            reindent=each.is_item, note=each.note,
        )  # fmt: skip
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
        f"{entry} was not changed, since the edit would also change {changed}.",
        hint="Check that `code` is complete and balanced. If the other item is to change too, "
        "use `replace`, `range` or `lines`.",
    )


def _edited(source: "Editable", request: RangeEdit) -> "Editable | None":
    """The file after the edit, once its code is indented as in the file."""
    from treadle.code.editable import Editable

    try:
        planned = plan([request], lambda _path: source.data)
    except EditError:
        return None
    (change,) = planned.changes
    return Editable(source.path, splice(source.data, change.hunks))
