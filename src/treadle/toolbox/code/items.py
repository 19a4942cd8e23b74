"""Arguments that select an item of code, and the form of an item in results."""

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from treadle.code.model import FoundItem, Kind
from treadle.events.types import ErrorKind
from treadle.toolbox.code.workspace import shown_path
from treadle.tools.contract import ToolError

if TYPE_CHECKING:
    from treadle.code.model import Lookup

ItemName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=500,
        description="Name of the item, or its canonical path or the end of it: `refresh`, "
        "`Store::open`.",
    ),
]
InFile = Annotated[
    str | None,
    Field(description="Only items in files with this path or path ending."),
]
OfKind = Annotated[Kind | None, Field(description="Only items of this kind.")]


class ItemShown(BaseModel):
    """An item and its location.

    `lines` is a range such as "12-40", counted from 1. `end_byte` is exclusive.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    canonical_path: str
    kind: str
    file: str
    lines: str
    start_byte: int
    end_byte: int


def shown(item: FoundItem) -> ItemShown:
    """Convert an item of the index to the form of results."""
    return ItemShown(
        name=item.name,
        canonical_path=shown_path(item.canonical_path),
        kind=item.kind,
        file=shown_path(item.file),
        lines=f"{item.start_line}-{item.end_line}",
        start_byte=item.start_byte,
        end_byte=item.end_byte,
    )


def none_of_that_name(name: str, found: "Lookup") -> ToolError:
    """Create the error for a name that no item has. Its hint lists the nearest items."""
    nearest = ", ".join(
        f"{shown_path(item.canonical_path)} ({shown_path(item.file)}:{item.start_line})"
        for item in found.nearest
    )
    return ToolError(
        ErrorKind.NOT_FOUND,
        f"There is no item {name!r}.",
        field="name",
        received=name,
        hint=f"The nearest: {nearest}."
        if nearest
        else "Search by meaning with request_code_context, or by text with grep.",
    )
