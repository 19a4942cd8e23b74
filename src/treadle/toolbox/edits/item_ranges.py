"""The bytes of an item that an edit names by its canonical path."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from treadle.code.model import FoundItem, Kind
from treadle.edits.model import EditError, content_hash
from treadle.edits.requests import RangeEdit
from treadle.edits.service import Edits
from treadle.events.types import ErrorKind
from treadle.toolbox.code.items import ItemName, none_of_that_name
from treadle.toolbox.code.workspace import sendable

if TYPE_CHECKING:  # it brings libraries that are slow to import
    from treadle.code import CodeIndex

_LISTED = 8
_ATTEMPTS = 3
"""An editor may save between the refresh of the index and the reading of the file."""


class EditPart(BaseModel):
    """Base of the parts of an edit's arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ItemCode(EditPart):
    """A whole item and what it becomes."""

    canonical_path: ItemName
    kind: Kind | None = Field(default=None, description="Its kind, where several share the path.")
    code: str = Field(
        description="The whole item anew, with its doc comment, attributes and decorators; empty "
        "removes it."
    )


@dataclass(frozen=True, slots=True)
class ItemRanges:
    """Finds items as the files are now; blocks."""

    edits: Edits
    index: "CodeIndex"

    def edit(self, number: int, file: str, item: ItemCode, expected_hash: str | None) -> RangeEdit:
        """The edit of the item's bytes, held to the content in which they were found.

        Raises EditError when there is no such item in the file, or more than one, and ToolError
        with the nearest.
        """
        path = self.edits.relative(file)
        for _ in range(_ATTEMPTS):
            self.index.refresh()
            found = self._found(number, path, item.canonical_path, item.kind)
            known = self.index.files_summary(path)
            data = self.edits.read(path)
            if data is not None and known is not None and content_hash(data) == known.content_hash:
                break
        else:
            raise EditError(
                ErrorKind.CONFLICT,
                f"{path} changes too fast to find {item.canonical_path} in it.",
                path=path,
                number=number,
                hint="Try again when nobody else writes it.",
            )
        expected = expected_hash or known.content_hash
        return RangeEdit(path, found.start_byte, found.end_byte, item.code, expected, reindent=True)

    def _found(self, number: int, path: str, name: str, kind: Kind | None) -> FoundItem:
        found = self.index.lookup(name, file=path, kind=kind, limit=_LISTED)
        items = [item for item in found.items if item.file == path]
        same_case = [item for item in items if item.canonical_path.endswith(name)] or items
        exact = [item for item in items if item.canonical_path == name]
        if not items:
            elsewhere = self.index.lookup(name, kind=kind, limit=1).items
            if not elsewhere:
                raise none_of_that_name(name, found)
            raise EditError(
                ErrorKind.NOT_FOUND,
                f"{path} has no item {name!r}.",
                path=path,
                number=number,
                hint=f"There is one in {sendable(elsewhere[0].file)}.",
            )
        chosen = exact or same_case
        if len(chosen) == 1:
            return chosen[0]
        listed = ", ".join(
            f"{sendable(item.canonical_path)} ({item.kind}, lines {item.start_line}-"
            f"{item.end_line})"
            for item in chosen
        )
        kinds = {item.kind for item in chosen}
        way = "Give its `kind`" if len(kinds) == len(chosen) else "Use `replace` or `lines`"
        raise EditError(
            ErrorKind.VALIDATION,
            f"{name!r} is the path of {len(chosen)} items in {PurePath(path).name}: {listed}.",
            path=path,
            number=number,
            hint=f"{way} to say which one.",
        )
