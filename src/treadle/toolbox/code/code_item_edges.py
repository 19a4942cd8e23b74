"""code_item_edges: lists the items that an item uses, and the items that use it."""

import asyncio
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from treadle.code.model import Direction, Edge, EdgeKind, EdgeList, FoundItem
from treadle.events.types import ErrorKind, ToolView
from treadle.tokens import estimate
from treadle.toolbox.answers import DEFAULT_TOKENS, MaxTokens, most_that_fit
from treadle.toolbox.code.items import InFile, ItemName, ItemShown, OfKind, none_of_that_name, shown
from treadle.toolbox.code.workspace import Workspace, shown_path
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments, Result, Tool, ToolContext, ToolError

_CANDIDATES = 5
_PLACES = 12


class EdgesArguments(Arguments):
    """The item, and the edges to list."""

    name: ItemName
    file: InFile = None
    kind: OfKind = None
    direction: Literal["out", "in", "both"] = Field(
        default="both",
        description="`out`: what the item uses. `in`: what uses it.",
    )
    edges: list[EdgeKind] = Field(
        default_factory=lambda: list(EdgeKind),
        min_length=1,
        description="Only these kinds; `tests`: uses by test code. Default: all.",
    )
    depth: int = Field(default=1, ge=1, le=5, description="Steps to follow.")
    offset: int = Field(default=0, ge=0, description="Edges to skip.")
    max_tokens: MaxTokens = DEFAULT_TOKENS


class End(BaseModel):
    """The item at one end of an edge."""

    model_config = ConfigDict(frozen=True)

    canonical_path: str
    kind: str
    file: str
    lines: str


class EdgeShown(BaseModel):
    """One edge: a relation between two items, such as a call.

    `source` or `target` is left out if it is the requested item. `step` is the distance of the edge
    from the requested item. It is left out for the edges of that item, whose distance is 1. If the
    target is unknown, `unresolved` states the reason. `text` is the name of the target as the code
    writes it. `at` is the file and the line of that name.
    """

    model_config = ConfigDict(frozen=True)

    kind: EdgeKind
    direction: Direction
    step: int | None = None
    source: End | None = None
    target: End | None = None
    text: str | None = None
    at: str
    unresolved: str | None = None


class EdgesResult(Result):
    """The edges of an item, sorted by step, with resolved edges first.

    `total` is the number of all edges, including edges that are not shown. `unresolved` is the
    number of edges without a target. Some of these edges are in `possible`: uses of the item's name
    that may mean another item. `note` states whether the search stopped early.
    """

    type: str = "edges"
    item: ItemShown
    edges: list[EdgeShown]
    total: int
    unresolved: int
    possible: str | None = None
    more: str | None = None
    note: str | None = None


class CodeItemEdges(Tool[EdgesArguments, EdgesResult]):
    """Lists edges of an item from the code graph of the index."""

    name = "code_item_edges"
    description = (
        "List what an item contains, imports, calls, uses as a type, inherits from, overrides or "
        "tests; or its callers, subclasses, tests and other users. Edges that cannot be resolved "
        "are listed with the reason. Check `possible` before you say that nothing uses an item."
    )
    arguments = EdgesArguments
    result = EdgesResult

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def is_portable(self, arguments: EdgesArguments) -> bool:  # noqa: ARG002
        return True

    async def run(self, arguments: EdgesArguments, context: ToolContext) -> EdgesResult:  # noqa: ARG002
        return await asyncio.to_thread(self._walk, arguments)

    def view(self, arguments: EdgesArguments, result: EdgesResult) -> ToolView:  # noqa: ARG002
        total = counted(result.total, "edge")
        unresolved = f", {result.unresolved:,} unresolved" if result.unresolved else ""
        return ToolView(f"{result.item.canonical_path}: {total}{unresolved}")

    def _walk(self, arguments: EdgesArguments) -> EdgesResult:
        index = self._workspace.index
        index.refresh()
        item = self._item(arguments)
        direction = None if arguments.direction == "both" else Direction(arguments.direction)
        found = index.edges(
            item.id, kinds=arguments.edges, direction=direction, depth=arguments.depth
        )
        rows = [_shown(edge, item) for edge in found.edges if not _is_possible(edge)]
        rows = rows[arguments.offset :]

        def built(count: int) -> EdgesResult:
            return _result(item, found, rows[:count], arguments.offset)

        def tokens(count: int) -> int:
            return estimate(self.content(built(count)))

        return built(most_that_fit(len(rows), tokens, arguments.max_tokens))

    def _item(self, arguments: EdgesArguments) -> FoundItem:
        """Return the item with the requested name.

        Raises ToolError if no item or several items have this name. Parts with the same canonical
        path in one file, such as overloads and Rust `impl` blocks, count as one item.
        """
        found = self._workspace.index.lookup(
            arguments.name, file=arguments.file, kind=arguments.kind, limit=_CANDIDATES
        )
        if not found.items:
            raise none_of_that_name(arguments.name, found)
        paths = {(item.canonical_path, item.file) for item in found.items}
        exact = [item for item in found.items if item.canonical_path == arguments.name]
        if len(paths) > 1 and len({item.file for item in exact}) != 1:
            choices = ", ".join(
                f"{shown_path(path)} ({shown_path(file)})" for path, file in sorted(paths)
            )
            raise ToolError(
                ErrorKind.VALIDATION,
                f"{arguments.name!r} names {found.total} items.",
                field="name",
                expected="one item",
                received=arguments.name,
                hint=f"Give a longer path, a file or a kind: {choices}.",
            )
        return (exact or list(found.items))[0]


def _is_possible(edge: Edge) -> bool:
    """Whether the edge is an unresolved use of the item's name, which may mean another item."""
    return edge.target is None and edge.direction is Direction.IN


def _possible(edges: list[Edge]) -> str | None:
    """Return a sentence with the positions of possible uses, or None if `edges` is empty."""
    if not edges:
        return None
    positions = [
        f"{shown_path(edge.file)}:{edge.line} ({edge.text}: {edge.unresolved})"
        for edge in edges[:_PLACES]
    ]
    more = f" and {len(edges) - _PLACES} more; grep finds them" if len(edges) > _PLACES else ""
    one = len(edges) == 1
    verbs = "place names it" if one else "places name it"
    return f"{len(edges)} more {verbs} and could not be resolved: {', '.join(positions)}{more}."


def _result(item: FoundItem, found: EdgeList, edges: list[EdgeShown], offset: int) -> EdgesResult:
    following = offset + len(edges)
    possible = [edge for edge in found.edges if _is_possible(edge)]
    rest = len(found.edges) - len(possible) - following
    return EdgesResult(
        item=shown(item),
        edges=edges,
        total=len(found.edges),
        unresolved=sum(edge.target is None for edge in found.edges),
        possible=_possible(possible),
        more=f"{rest} more; call again with offset {following}." if rest > 0 else None,
        note="The search stopped early: more files mention this name." if found.cut else None,
    )


def _shown(edge: Edge, item: FoundItem) -> EdgeShown:
    target = edge.target
    return EdgeShown(
        kind=edge.kind,
        direction=edge.direction,
        step=edge.step if edge.step > 1 else None,
        source=_end(edge.source) if edge.source.id != item.id else None,
        target=_end(target) if target is not None and target.id != item.id else None,
        text=edge.text or None,
        at=f"{shown_path(edge.file)}:{edge.line}",
        unresolved=edge.unresolved,
    )


def _end(item: FoundItem) -> End:
    return End(
        canonical_path=shown_path(item.canonical_path),
        kind=item.kind,
        file=shown_path(item.file),
        lines=f"{item.start_line}-{item.end_line}",
    )
