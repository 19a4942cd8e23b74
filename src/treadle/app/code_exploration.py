"""Reads lines of files, and walks from an item to its callers, callees and implementations."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from treadle.charsets import is_utf8
from treadle.code import CodeIndex, Direction, EdgeKind
from treadle.code.model import FoundItem
from treadle.errors import NotFoundError, UsageError
from treadle.events.types import SourceRange
from treadle.toolbox.code.text import READABLE, decode, read_passage
from treadle.toolbox.code.workspace import Workspace
from treadle.tools.contract import ToolError
from treadle.visible import in_line

MAX_EXCERPT_BYTES = 200_000
"""The maximum size of an excerpt in bytes. A larger range of lines is cut."""
_CANDIDATES = 50


class Relation(StrEnum):
    """A relation of an item to other items."""

    CALLERS = "callers"
    CALLEES = "callees"
    IMPLEMENTATIONS = "implementations"


_WALKS = {
    Relation.CALLERS: ((EdgeKind.CALLS, EdgeKind.TESTS), Direction.IN),
    Relation.CALLEES: ((EdgeKind.CALLS,), Direction.OUT),
    Relation.IMPLEMENTATIONS: ((EdgeKind.INHERITS, EdgeKind.OVERRIDES), Direction.IN),
}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file.

    `first_line` counts from 1, and `total_lines` is the number of lines of the file.
    """

    file: str
    first_line: int
    lines: tuple[str, ...]
    total_lines: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The items that have a relation to a given item.

    `possible` are items whose code contains the name of the given item, but may mean another item
    of that name. `unresolved` is the number of names in the code of the given item for which the
    index finds no item.
    """

    items: tuple[FoundItem, ...]
    possible: tuple[FoundItem, ...] = ()
    unresolved: int = 0


def read_excerpt(root: Path, index: CodeIndex, source: SourceRange) -> Excerpt:
    """Read the lines of `source` as they are on disk now.

    Raises NotFoundError for an unknown file, PathRefusedError for a file outside of `root` or a
    private file, and UsageError for a file that is not text.
    """
    workspace = Workspace(root, index)
    try:
        path = workspace.file(source.file)
        passage = read_passage(
            workspace.opened(path), max(1, source.start_line), source.end_line, MAX_EXCERPT_BYTES
        )
    except ToolError as error:
        raise NotFoundError(error.message, hint=error.hint) from error
    except OSError as error:
        raise NotFoundError(f"{in_line(source.file)} cannot be read: {error.strerror}.") from error
    if passage.encoding not in READABLE:
        raise UsageError(f"{in_line(source.file)} is {passage.encoding}, not text.")
    charset = None if is_utf8(passage.data) else workspace.charset(path)
    if charset is not None and charset.codec is not None:
        text = passage.data.decode(charset.codec, "backslashreplace")
    else:
        text = decode(passage.data)
    lines = tuple(line.rstrip("\r") for line in text.removesuffix("\n").split("\n"))
    return Excerpt(
        source.file, max(1, source.start_line), lines if text else (), passage.total_lines
    )


def neighbours(index: CodeIndex, name: str, file: str, relation: Relation) -> Neighbours:
    """Return the items that have the relation to the item `name` of `file`, without duplicates.

    Raises NotFoundError if the index does not have the item.
    """
    found = index.lookup(name, file=file, limit=_CANDIDATES)
    items = [item for item in found.items if (item.canonical_path, item.file) == (name, file)]
    if not items:
        raise NotFoundError(
            f"The index has no item {in_line(name)} in {in_line(file)}.",
            hint="Search again: the file may have changed.",
        )
    kinds, direction = _WALKS[relation]
    ends: dict[tuple[str, str, int], FoundItem] = {}
    possible: dict[tuple[str, str, int], FoundItem] = {}
    unresolved = 0
    for item in items:  # the parts of one item, such as overloads
        for edge in index.edges(item.id, kinds=kinds, direction=direction).edges:
            if edge.target is None and direction is Direction.OUT:
                unresolved += 1
            elif edge.target is None:
                possible.setdefault(_identity(edge.source), edge.source)
            else:
                end = edge.source if direction is Direction.IN else edge.target
                ends.setdefault(_identity(end), end)
    others = (end for key, end in possible.items() if key not in ends)
    return Neighbours(tuple(ends.values()), tuple(others), unresolved)


def _identity(item: FoundItem) -> tuple[str, str, int]:
    return item.canonical_path, item.file, item.start_line
