"""The results of the code index: items, files, search results, context entries and reports.

The results are named tuples, since loading data classes takes longer than a search.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, NamedTuple

from treadle.json_values import JsonField, json_property

EXTRA_GRAMMARS = "semble_grammars"
"""The Python package of the optional dependency `grammars` (see `languages.extra`)."""


class Kind(StrEnum):
    """The kind of an item.

    `SECTION` is a heading of a document with its text. `KEY` is a top-level key of a configuration
    file. `CHUNK` is a range of lines in a text without a grammar.
    """

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    STRUCT = "struct"
    ENUM = "enum"
    TRAIT = "trait"
    INTERFACE = "interface"
    IMPL = "impl"
    MODULE = "module"
    CONSTANT = "constant"
    TYPE = "type"
    MACRO = "macro"
    SECTION = "section"
    KEY = "key"
    CHUNK = "chunk"


FUNCTION_KINDS = frozenset({Kind.FUNCTION, Kind.METHOD})
TYPE_KINDS = frozenset(
    {Kind.CLASS, Kind.STRUCT, Kind.ENUM, Kind.TRAIT, Kind.INTERFACE, Kind.IMPL, Kind.TYPE}
)
TEXT_KINDS = frozenset({Kind.SECTION, Kind.KEY, Kind.CHUNK})
"""The kinds of items that are parts of a text, as opposed to definitions in code."""


class Reading(StrEnum):
    """How the index read a file: parsed by a grammar, split by lines, or skipped."""

    PARSED = "parsed"
    ERRORS = "parsed with errors"
    LINES = "split by lines"
    SKIPPED = "skipped"


class Origin(StrEnum):
    """The source of a file: the project itself, a code generator, or another project.

    `treadle.code.parse.file` determines the origin. The column `files.origin` of the index stores
    it.
    """

    OWN = "own"
    GENERATED = "generated"
    VENDORED = "vendored"


TEXT_LANGUAGES = frozenset({"markdown", "toml", "yaml", "json", "go.mod", "notebook"})
"""The languages of documents and settings, by their names in the column `files.language`."""


class View(StrEnum):
    """What a search returns: items or files."""

    ITEMS = "items"
    FILES = "files"


class Item(NamedTuple):
    """A named part of a source file.

    Byte ranges exclude their end. Line numbers count from 1, and `end_line` is the last line of the
    item. The range of an item contains its doc comment, attributes and decorators. The signature is
    the byte range of the definition without its doc comment, attributes, decorators and body.
    `parent` is the position of the enclosing item in the list of the file's items. `parent` is None
    for an item at the top level.
    """

    name: str
    canonical_path: str
    kind: Kind
    parent: int | None
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    signature_start: int
    signature_end: int
    doc: str = ""


class EdgeKind(StrEnum):
    """How one item relates to another. `TESTS` is any use of code by test code."""

    CONTAINS = "contains"
    IMPORTS = "imports"
    CALLS = "calls"
    USES_TYPE = "uses_type"
    INHERITS = "inherits"
    OVERRIDES = "overrides"
    TESTS = "tests"


class Direction(StrEnum):
    """Whether an edge starts (`OUT`) or ends (`IN`) at the item of the query."""

    OUT = "out"
    IN = "in"


class FoundItem(NamedTuple):
    """An item of the index with its id, which is valid until the next refresh.

    The ranges have the same meaning as in `Item`. `file` is a path relative to the root.
    """

    id: int
    name: str
    canonical_path: str
    kind: str
    file: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    signature_start: int
    signature_end: int


class Lookup(NamedTuple):
    """The items that a name may refer to, best first.

    `total` is the number of all such items, of which `items` may have only the first ones. If
    nothing matches, `nearest` has the items with the most similar names.
    """

    items: tuple[FoundItem, ...]
    total: int
    nearest: tuple[FoundItem, ...] = ()


class Edge(NamedTuple):
    """A relation between two items.

    If `target` is None, the name cannot be resolved, and `unresolved` has the reason. `text` is the
    name as written at bytes `start` to `end` and at `line` of `file`. `text` is empty for edges
    without a position in the text (contains, overrides). `step` is 1 for an edge of the item of the
    query, 2 for an edge of its neighbours, and so on.
    """

    kind: EdgeKind
    direction: Direction
    source: FoundItem
    target: FoundItem | None
    text: str
    file: str
    line: int
    start: int
    end: int
    unresolved: str | None
    step: int


class EdgeList(NamedTuple):
    """Edges in order of their steps. Within a step, resolved edges come first.

    `cut` states that the search stopped at a limit.
    """

    edges: tuple[Edge, ...]
    cut: bool


class FileReading(NamedTuple):
    """How one file was read. `reason` states why the file was skipped, or is None."""

    path: str
    reading: Reading
    reason: str | None


def _rounded_score(score: float) -> float:
    return round(score, 4)


def _text_or_none(text: str) -> str | None:
    return text or None


def _text(text: str | None) -> str:
    return text or ""


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1_000, 1)


def _seconds(milliseconds: float) -> float:
    return milliseconds / 1_000


class SearchResult(NamedTuple):
    """One item or file that a search found.

    For the view `FILES`, `kind` is "file" and the range is the whole file. `reason` states the
    relation to another result, such as "calls parse_header", if that relation raised the score.
    Otherwise `reason` is empty.
    """

    rank: int
    score: Annotated[float, JsonField(write=_rounded_score)]
    file: str
    name: str
    canonical_path: str
    kind: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    reason: Annotated[str, JsonField(write=_text_or_none, read=_text)] = ""


class SearchedIndex(NamedTuple):
    """The size of the index. The server refreshes the index before a search, so `fresh` is true."""

    items: int
    files: int
    fresh: bool = True


class SearchResults(NamedTuple):
    """The results of a search, best first, and the size of the searched index.

    `took` is in seconds. `parts` lists the kinds of ranking that the search used: "lexical",
    "graph" and "dense". "dense: 230 of 5000" states that 230 of 5000 items had a vector when the
    query ran. `notes` are messages about words of the query that occur nowhere, and about files
    that could not be read.
    """

    query: str
    view: Annotated[View, JsonField(omit=True)]
    results: tuple[SearchResult, ...]
    files: Annotated[int, JsonField(omit=True)]
    items: Annotated[int, JsonField(omit=True)]
    took: Annotated[float, JsonField("took_ms", write=_milliseconds, read=_seconds)]
    parts: tuple[str, ...] = ("lexical",)
    notes: tuple[str, ...] = ()

    @json_property
    def searched_index(self) -> Annotated[SearchedIndex, JsonField("index")]:
        """The size of the searched index."""
        return SearchedIndex(self.items, self.files)


class ContextEntry(NamedTuple):
    """One item of a context, which is code that was selected for a prompt.

    `snippet` is in the code snippet format (see `treadle.code.snippets`). `whole` is false if the
    snippet is an excerpt or a signature. The ranges are those of the snippet.
    """

    name: str
    canonical_path: str
    kind: str
    file: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    snippet: str
    whole: bool


class ContextResult(NamedTuple):
    """A context: code that was selected for a prompt within a token budget.

    `omitted` counts the retrieved items that are not in `entries`. `notes` has the same meaning as
    in `SearchResults`.
    """

    query: str
    top_k: int
    entries: tuple[ContextEntry, ...]
    omitted: int
    notes: tuple[str, ...] = ()


class RefreshReport(NamedTuple):
    """The result of a refresh. `skipped` has the reason for each path that is not indexed."""

    added: int
    changed: int
    removed: int
    files: int
    items: int
    seconds: float
    skipped: Mapping[str, str]


class IndexStatus(NamedTuple):
    """The state of the index.

    `fresh` states that no file was added, changed or removed since the last refresh.
    """

    files: int
    items: int
    skipped: int
    fresh: bool
    size_bytes: int


class FileSummary(NamedTuple):
    """The index entry of a file. `content_hash` is BLAKE2b-256 of its bytes in hexadecimal.

    `language` is None for plain text. `skipped` is the reason why the file has no items. `skipped`
    is None if the file was indexed.
    """

    path: str
    language: str | None
    items: int
    lines: int
    content_hash: str
    skipped: str | None
