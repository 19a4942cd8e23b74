"""What the index speaks of: items and files, search results, context entries and reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What an item is. `CHUNK` is a run of lines of a text that has no grammar here."""

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
    CHUNK = "chunk"


class View(StrEnum):
    """What a search answers with: "where is the code" or "which file"."""

    ITEMS = "items"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Item:
    """A named piece of code.

    Byte ranges are half open, lines count from 1 and include the last. The range holds the doc
    comment, attributes and decorators that belong to the item. The signature is a range of the
    same file, from the definition to its body. `parent` is the place of the enclosing item in
    the same file's list.
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


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One hit. For the files view `kind` is "file" and the range is the whole file."""

    rank: int
    score: float
    file: str
    name: str
    canonical_path: str
    kind: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Hits, best first, and the size of the index that they are from. `took` is in seconds.

    `parts` are the ways of finding that took part: "lexical", "dense".
    """

    query: str
    view: View
    results: tuple[SearchResult, ...]
    files: int
    items: int
    took: float
    parts: tuple[str, ...] = ("lexical",)


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """An item of the answer. `snippet` is in the code snippet format (see `snippets`).

    `whole` is false where only the signature fitted; the ranges are those of the snippet.
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


@dataclass(frozen=True, slots=True)
class ContextResult:
    """Context for a query; `omitted` counts the retrieved items that are not in `entries`."""

    query: str
    top_k: int
    entries: tuple[ContextEntry, ...]
    omitted: int


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh did. `skipped` maps each path that is not indexed to the reason."""

    added: int
    changed: int
    removed: int
    files: int
    items: int
    seconds: float
    skipped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The index as it is. `fresh`: no file was added, changed or removed since the refresh."""

    files: int
    items: int
    skipped: int
    fresh: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What the index knows of one file. `content_hash` is BLAKE2b-256 of its bytes, hexadecimal.

    `language` is None for plain text; `skipped` says why a file holds no items.
    """

    path: str
    language: str | None
    items: int
    lines: int
    content_hash: str
    skipped: str | None
