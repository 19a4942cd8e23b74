"""Items and files that a search finds, their weights by path and kind, and exact definitions."""

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.code.model import TEXT_KINDS, TEXT_LANGUAGES, TYPE_KINDS, Kind, Origin, SearchResult
from treadle.code.retrieval.query import Question

if TYPE_CHECKING:
    from treadle.code.history.file_history import FilePast


class WholeFile(NamedTuple):
    """A file with the score of its whole text."""

    id: int
    path: str
    score: float
    is_text: bool
    """Whether the file is a document, a setting or another text without code."""
    origin: str
    lines: int
    items: int


def is_text(language: str | None) -> bool:
    """Whether a file of a language is a document, a setting or another text without code."""
    return language is None or language in TEXT_LANGUAGES


def files_of(
    connection: sqlite3.Connection, scores: Mapping[int, float], also: Iterable[int] = ()
) -> list[WholeFile]:
    """Return the files in `scores` and the files in `also`, ordered by path."""
    rows = connection.execute(
        "SELECT id, path, language, origin, lines, items FROM files"
        " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY path",
        (str([*{*scores, *also}]),),
    )
    return [
        WholeFile(
            file_id, os.fsdecode(path), scores.get(file_id, 0.0),
            is_text(language), origin, lines or 0, items or 0,
        )
        for file_id, path, language, origin, lines, items in rows
    ]  # fmt: skip


_KIND_PRIORS: dict[str, float] = {
    Kind.CHUNK: 0.6, Kind.MODULE: 0.6, Kind.SECTION: 0.8, Kind.CONSTANT: 0.8, Kind.KEY: 0.8,
}  # fmt: skip
"""Weights below 1 for some kinds of items.

Such an item encloses an item that answers better, or it is not code, or it is very short. In a
short item, one matching word gives a high score. With weights for sections, long constants and
declarations, the MRR of 30 questions about other repositories rose from 0.60 to 0.63. The score of
the tuning queries did not change.
"""

_LONG = 8
"""A constant with more lines than this has full weight."""

DECLARATIONS = re.compile(r"\.d\.[cm]?ts$|\.pyi$")
"""Files that only declare names. Other files define these names."""

_DECLARATION_PRIOR = 0.8

_SYMBOL = re.compile(r"[\w.:#/$<>~!?=+*&|^%\[\]-]{1,300}(?:\(\))?")

_SEPARATORS = re.compile(r"::|[.#/]|->")

_TEST_PATH = re.compile(
    r"(?:^|/)(?:[Tt]ests?|testing|testsuite|__tests__|specs?|e2e|testdata|fixtures)/"
    r"|(?:^|/)[\w.-]+(?:[._-](?:[tT]ests|Specs)|[a-z\d](?:Tests?|Specs))/"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.py$"
    r"|_tests?\.(?:py|go|cc|cpp|c|rs)$|[._-](?:test|spec)\.[^/]*$"
    r"|[a-z0-9](?:Tests?|Specs?)\.(?:java|kt|cs|swift|php)$",
)

_FORM = re.compile(
    r"(?:^|/)(?:issue|pull[_-]request|merge[_-]request|discussion)[_-]templates?(?:[/.]|$)"
    r"|(?:^|/)template(?:\.(?:md|rst|txt))?$",
    re.IGNORECASE,
)
"""Forms that people fill in, such as issue templates, which contain words of every issue."""

_ASIDE_PRIOR = 0.5

_OUTSIDE = TEXT_KINDS | {Kind.MODULE}
"""Kinds of items that are not definitions."""

_DEFINITION_ORDER = {
    kind: position
    for position, kind in enumerate(
        (
            Kind.CLASS, Kind.STRUCT, Kind.TRAIT, Kind.INTERFACE, Kind.ENUM, Kind.FUNCTION,
            Kind.MACRO, Kind.TYPE, Kind.METHOD, Kind.CONSTANT, Kind.MODULE, Kind.IMPL, Kind.SECTION,
            Kind.KEY, Kind.CHUNK,
        )
    )
}  # fmt: skip

_ITEM_COLUMNS = (
    "i.id, f.path, i.name, i.canonical_path, i.kind, i.start_byte, i.end_byte, i.start_line,"
    " i.end_line, i.signature_start, i.signature_end, f.hash, f.id, i.id, f.origin"
)


class Hit(NamedTuple):
    """An item with its score, and the columns that are needed to read its bytes.

    `worth` is the weight of the item by path and kind, which is part of the score. `is_aside` marks
    vendored code, generated code and forms. `coverage` is the weight of the query terms in the
    item, as a fraction of the weight of all query terms. If a relation to another hit raised the
    score, `reason` states the relation.
    """

    score: float
    worth: float
    is_test: bool
    is_aside: bool
    coverage: float
    file: str
    name: str
    canonical_path: str
    kind: str
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    signature_start: int
    signature_end: int
    file_hash: bytes
    file_id: int
    item_id: int
    reason: str = ""

    def result(self, rank: int) -> SearchResult:
        return SearchResult(
            rank, round(self.score, 6), self.file, self.name, self.canonical_path, self.kind,
            self.start_line, self.end_line, self.start_byte, self.end_byte, self.reason,
        )  # fmt: skip


def is_test(path: str, canonical_path: str = "") -> bool:
    """Whether code is test code, by the naming conventions of languages and tools."""
    return bool(_TEST_PATH.search(path)) or "::tests::" in canonical_path


class NamedPositions(NamedTuple):
    """Probabilities that items and files are the answer, from the positions that an issue names.

    The keys are the ids of the items and files.
    """

    items: dict[int, float]
    files: dict[int, float]


NO_POSITIONS = NamedPositions({}, {})


class Candidates(NamedTuple):
    """The candidates for an answer: items by score, exactly named items, and files."""

    question: Question
    hits: list[Hit]
    defined: list[Hit]
    files: Sequence[WholeFile] = ()
    positions: NamedPositions = NO_POSITIONS
    defining: Mapping[int, float] = {}
    """The files that define a name in the query, as `files_that_define` returns them."""
    past: "Mapping[int, FilePast] | None" = None
    """The git history of files, by file id, or None if the query is not a task."""


Similarities = Mapping[int, float]
"""Similarities to the query, by the id of the item or file."""


class VectorScores(NamedTuple):
    """The similarities of items and of whole files to the query.

    `own` has the similarities by item id, and `files` has them by file id. `files` is None if the
    search does not need files.
    """

    own: Similarities | None = None
    files: Similarities | None = None


_POSITION = attrgetter("file", "start_line", "start_byte", "name")

_SCORE = attrgetter("score")


def by_score(hits: Iterable[Hit]) -> list[Hit]:
    """Order hits by score, highest first, then by path and line."""
    return sorted(sorted(hits, key=_POSITION), key=_SCORE, reverse=True)


def items_of(connection: sqlite3.Connection, item_ids: Iterable[int]) -> list[Hit]:
    """Return the items with these ids. Each item has a score of 0."""
    return [hit_from_row(row, 0.0) for row in rows_of(connection, item_ids)]


def owners_of(connection: sqlite3.Connection, item_ids: Sequence[int]) -> dict[int, Hit]:
    """Return the types that contain items, by the ids of the items."""
    pairs = connection.execute(
        "SELECT id, parent_id FROM items"
        " WHERE parent_id IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
        (str(list(item_ids)),),
    ).fetchall()
    types = {
        hit.item_id: hit
        for hit in items_of(connection, {parent for _, parent in pairs})
        if hit.kind in TYPE_KINDS
    }
    return {item: types[parent] for item, parent in pairs if parent in types}


def rows_of(connection: sqlite3.Connection, item_ids: Iterable[int]) -> list[tuple[Any, ...]]:
    """Return the rows of items for `hit_from_row`."""
    return connection.execute(
        f"SELECT {_ITEM_COLUMNS} FROM items AS i JOIN files AS f ON f.id = i.file_id"  # noqa: S608
        " WHERE i.id IN (SELECT value FROM json_each(?))",
        (str(list(item_ids)),),
    ).fetchall()


def hit_from_row(
    row: tuple[Any, ...],
    score: float,
    tests: float = 1.0,
    texts: float = 1.0,
    coverage: float = 0.0,
) -> Hit:
    """Return the hit of a row. Its score is `score` times the weight of the item.

    `tests` and `texts` are additional weights for test code and for items that are not definitions.
    """
    path, kind = os.fsdecode(row[1]), row[4]
    in_tests, is_aside, prior = path_weights(path, row[-1])
    test = in_tests or "::tests::" in row[3]
    if kind != Kind.CONSTANT or row[8] - row[7] < _LONG:
        prior *= _KIND_PRIORS.get(kind, 1.0)
    if test:
        prior *= tests
    if kind in _OUTSIDE:
        prior *= texts
    return Hit(score * prior, prior, test, is_aside, coverage, path, *row[2:-1])


@lru_cache(4_096)
def path_weights(path: str, origin: str) -> tuple[bool, bool, float]:
    """Return whether a file is test code, whether it is secondary, and its weight.

    Vendored code, generated code and forms are secondary.
    """
    is_aside = origin != Origin.OWN or bool(_FORM.search(path))
    prior = _DECLARATION_PRIOR if DECLARATIONS.search(path) else 1.0
    return is_test(path), is_aside, prior * _ASIDE_PRIOR if is_aside else prior


def definitions(connection: sqlite3.Connection, query: str) -> list[Hit]:
    """Return the items that the query names exactly: `name`, `Type.method`, `a::b`, `pkg.mod.f`."""
    symbol = query.strip("`'\" ").removesuffix("()")
    if not _SYMBOL.fullmatch(symbol):
        return []
    parts = [part for part in _SEPARATORS.split(symbol) if part]
    if not parts:
        return []
    rows = connection.execute(
        f"SELECT {_ITEM_COLUMNS} FROM items AS i JOIN files AS f ON f.id = i.file_id"  # noqa: S608
        " WHERE i.name = ? LIMIT 2000",
        (parts[-1],),
    ).fetchall()
    hits = [hit_from_row(row, 0.0) for row in rows]
    found = [(tier, hit) for hit in hits if (tier := _tier(hit, parts)) is not None]
    best = min((tier for tier, _ in found), default=0)
    close = [entry for entry in found if entry[0] < _NEAR or best == _NEAR]
    close.sort(key=lambda entry: entry[1].start_byte - entry[1].end_byte)
    seen: Counter[str] = Counter()

    def order(entry: tuple[int, Hit]) -> tuple[object, ...]:
        """Return the sort key of an item. Shorter items with the same canonical path come later."""
        tier, hit = entry
        seen[hit.canonical_path] += 1
        kind = _DEFINITION_ORDER[Kind(hit.kind)]
        repeated = seen[hit.canonical_path]
        return (
            tier,
            hit.is_test or hit.is_aside,
            kind,
            repeated,
            hit.file,
            hit.start_line,
            hit.start_byte,
        )

    return [hit for _, hit in sorted(close, key=order)]


_NEAR = 2


def _tier(hit: Hit, parts: list[str]) -> int | None:
    """Return how well a canonical path ends in `parts`.

    The result is 0 for an exact match, and 1 for a match in another letter case. The result is None
    if the path does not match. A query in lower case is an exact match for a path in any letter
    case. The result is `_NEAR` if the name of the owner in the path contains the name in the query.
    For example, `Agent.run` finds `AbstractAgent.run`.
    """
    path = [part for part in _SEPARATORS.split(hit.canonical_path) if part]
    tail = path[-len(parts) :] if len(parts) > 1 else [hit.name]
    lowered, requested = [part.lower() for part in tail], [part.lower() for part in parts]
    if parts in (tail, lowered):
        return 0
    if lowered == requested:
        return 1
    owner_goes_on = len(tail) == 2 and requested[0] in lowered[0]
    return _NEAR if owner_goes_on and lowered[1] == requested[1] else None
