"""code_item_lookup: finds the definitions of an item by its name or canonical path."""

import asyncio
from collections.abc import Callable

from pydantic import Field

from treadle.code.model import FoundItem
from treadle.events.types import ToolView
from treadle.inside import read_inside
from treadle.tokens import estimate
from treadle.toolbox.answers import DEFAULT_TOKENS, MaxTokens, most_that_fit
from treadle.toolbox.code.items import InFile, ItemName, ItemShown, OfKind, none_of_that_name, shown
from treadle.toolbox.code.workspace import Workspace
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments, Result, Tool, ToolContext

_SIGNATURE_CHARACTERS = 600
_MOST = 200


class LookupArguments(Arguments):
    """The name of the item, and filters for the matches."""

    name: ItemName
    file: InFile = None
    kind: OfKind = None
    offset: int = Field(default=0, ge=0, description="Matches to skip.")
    max_tokens: MaxTokens = DEFAULT_TOKENS


class ItemFound(ItemShown):
    """An item with its signature. A very long signature is cut."""

    signature: str


class LookupResult(Result):
    """The matches, best first.

    `total` is the number of all matches, including matches not shown.
    """

    type: str = "items"
    items: list[ItemFound]
    total: int
    more: str | None = None


class CodeItemLookup(Tool[LookupArguments, LookupResult]):
    """Finds items by name or canonical path."""

    name = "code_item_lookup"
    description = (
        "Find functions, classes, methods, types, constants, document headings and configuration "
        "keys by name or canonical path, with file, lines and signature. Use it when you know the "
        "name. If nothing matches, the error names the nearest items."
    )
    arguments = LookupArguments
    result = LookupResult

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def is_portable(self, arguments: LookupArguments) -> bool:  # noqa: ARG002
        return True

    async def run(self, arguments: LookupArguments, context: ToolContext) -> LookupResult:
        return await asyncio.to_thread(self._find, arguments, context.open_to)

    def view(self, arguments: LookupArguments, result: LookupResult) -> ToolView:
        found = counted(result.total, "item")
        first = result.items[0] if result.items else None
        where = f", first {first.file}:{first.lines}" if first else ""
        return ToolView(f"{arguments.name}: {found}{where}")

    def _find(self, arguments: LookupArguments, open_to: Callable[[str], bool]) -> LookupResult:
        index = self._workspace.index
        index.refresh()
        most = arguments.offset + _MOST
        found = index.lookup(arguments.name, file=arguments.file, kind=arguments.kind, limit=most)
        if not found.total:
            raise none_of_that_name(arguments.name, found)
        rows = [self._described(item, open_to) for item in found.items[arguments.offset :]]

        def built(count: int) -> LookupResult:
            following = arguments.offset + count
            rest = found.total - following
            return LookupResult(
                items=rows[:count],
                total=found.total,
                more=f"{rest} more; call again with offset {following}." if rest > 0 else None,
            )

        def tokens(count: int) -> int:
            return estimate(self.content(built(count)))

        return built(most_that_fit(len(rows), tokens, arguments.max_tokens))

    def _described(self, item: FoundItem, open_to: Callable[[str], bool]) -> ItemFound:
        """Return the item with its current signature.

        The signature is empty if a rule denies reading the file.
        """
        if not open_to(item.file):
            return ItemFound(**shown(item).model_dump(), signature="")
        try:
            with read_inside(self._workspace.root, item.file) as file:
                file.seek(item.signature_start)
                raw = file.read(item.signature_end - item.signature_start)
        except OSError:  # the file was deleted after the refresh
            raw = b""
        text = raw.decode("utf-8", "replace")
        cut = len(text) > _SIGNATURE_CHARACTERS
        signature = f"{text[:_SIGNATURE_CHARACTERS]} …" if cut else text
        return ItemFound(**shown(item).model_dump(), signature=signature)
