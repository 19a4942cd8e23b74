"""The results of the code index: items, files, search results, context entries and reports.

They are named tuples, since data classes take longer to load than a search takes to run.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, NamedTuple

from treadle.json_values import JsonField, json_property

EXTRA_GRAMMARS = "semble_grammars"
"""The package of the extra `grammars`."""


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
"""Kinds of parts of texts, in contrast to definitions in code."""


class Reading(StrEnum):
    """How a file was read."""

    PARSED = "parsed"
    ERRORS = "parsed with errors"
    LINES = "split by lines"
    SKIPPED = "skipped"


class Origin(StrEnum):
    """Who wrote a file (see `parse.file`). The column `files.origin` of the index stores it."""

    OWN = "own"
    GENERATED = "generated"
    VENDORED = "vendored"


TEXT_LANGUAGES = frozenset({"markdown", "toml", "yaml", "json", "go.mod", "notebook"})
"""Languages of documents and settings, as in the column `files.language`."""


class View(StrEnum):
    """What a search returns: items or files."""

    ITEMS = "items"
    FILES = "files"


class Item(NamedTuple):
    """A named part of a source file.

    Byte ranges exclude their end. Lines count from 1 and include the last line. The range contains
    the doc comment, attributes and decorators of the item. The signature is a range from the
    definition to its body. `parent` is the position of the enclosing item in the list of the file's
    items.
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
    """Whether an edge starts or ends at the item."""

    OUT = "out"
    IN = "in"


class FoundItem(NamedTuple):
    """An item of the index with its id, which is valid until the next refresh.

    The ranges are those of `Item`; `file` is relative to the root.
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
    """The items that a name may mean, best first. `total` counts all of them.

    If nothing matches, `nearest` has the items with the most similar names.
    """

    items: tuple[FoundItem, ...]
    total: int
    nearest: tuple[FoundItem, ...] = ()


class Edge(NamedTuple):
    """One edge. If `target` is None, the name cannot be resolved, and `unresolved` has the reason.

    `text` is the name as written at bytes `start` to `end` and at `line` of `file`. `text` is empty
    for edges without a position in the text (contains, overrides). `step` counts from 1.
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
    """Edges by step, resolved edges first. `cut` states that the search stopped at its limit."""

    edges: tuple[Edge, ...]
    cut: bool


class FileReading(NamedTuple):
    """How one file was read. `reason` is the reason why it was skipped."""

    path: str
    reading: Reading
    reason: str | None


def _rounded_score(score: float) -> float:
    return round(score, 4)


def _text_or_none(text: str) -> str | None:
    return text or None


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1_000, 1)


class SearchResult(NamedTuple):
    """One hit. For the files view `kind` is "file" and the range is the whole file.

    `reason` states a cause of the hit other than its words, such as "calls parse_header".
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
    reason: Annotated[str, JsonField(write=_text_or_none)] = ""


class SearchedIndex(NamedTuple):
    """The size of the index. A search refreshes the index first, so `fresh` is true."""

    items: int
    files: int
    fresh: bool = True


class SearchResults(NamedTuple):
    """Hits, best first, and the size of the searched index. `took` is in seconds.

    `parts` are the used signals: "lexical", "graph" and "dense". "dense: 230 of 5000" states that
    230 of 5000 items had a vector when the query ran. `notes` list words of the query that occur
    nowhere and files that could not be read.
    """

    query: str
    view: Annotated[View, JsonField(omit=True)]
    results: tuple[SearchResult, ...]
    files: Annotated[int, JsonField(omit=True)]
    items: Annotated[int, JsonField(omit=True)]
    took: Annotated[float, JsonField("took_ms", write=_milliseconds)]
    parts: tuple[str, ...] = ("lexical",)
    notes: tuple[str, ...] = ()

    @json_property
    def searched_index(self) -> Annotated[SearchedIndex, JsonField("index")]:
        """The size of the searched index."""
        return SearchedIndex(self.items, self.files)


class ContextEntry(NamedTuple):
    """An item of a context. `snippet` is in the code snippet format (see `snippets`).

    `whole` is false for an excerpt or a signature. The ranges are the ranges of the snippet.
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
    """A context. `omitted` counts the retrieved items that are not in `entries`.

    `notes` has the same meaning as in `SearchResults`.
    """

    query: str
    top_k: int
    entries: tuple[ContextEntry, ...]
    omitted: int
    notes: tuple[str, ...] = ()


class RefreshReport(NamedTuple):
    """The result of a refresh. `skipped` maps each path that is not indexed to the reason."""

    added: int
    changed: int
    removed: int
    files: int
    items: int
    seconds: float
    skipped: Mapping[str, str]


class IndexStatus(NamedTuple):
    """The state of the index.

    `fresh` states that no file was added, changed or removed since the refresh.
    """

    files: int
    items: int
    skipped: int
    fresh: bool
    size_bytes: int


class FileSummary(NamedTuple):
    """The index entry of a file. `content_hash` is BLAKE2b-256 of its bytes in hexadecimal.

    `language` is None for plain text. `skipped` is the reason why a file has no items.
    """

    path: str
    language: str | None
    items: int
    lines: int
    content_hash: str
    skipped: str | None
