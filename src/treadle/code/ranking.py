"""Which items answer a query: exact definitions first, then fielded BM25."""

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nsmallest
from math import log
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.code.fields import SCALE
from treadle.code.model import TEXT_KINDS, TYPE_KINDS, Kind, Origin, SearchResult
from treadle.code.postings import PLACE_BITS, counts_in_items, groups, postings_of_term
from treadle.code.questions import Question
from treadle.code.terms import terms_of_word
from treadle.code.whole_files import WholeFile

if TYPE_CHECKING:
    from treadle.code.history.past import Past

K1 = 2.0
RARITY = 0.7
"""The power of a term's weight by its rarity: below 1, so that one rare word does not win alone."""
COVERAGE = 0.25
"""The power of the share of the query's weight that an item has at all.

Over 900 tuning queries in three languages NDCG@10 of files rose by 0.018 and that of items stayed
(Rust -0.006, Python +0.007, TypeScript +0.004); 0.5 gave files 0.030 and took 0.011 from items.
"""
NAMED = 0.3
"""How much more a name counts that the query says all of; by the share of it that it says.

NDCG@10 rose by 0.012 over 1,500 tuning queries, and in each of five languages.
"""
_MAX_TERMS = 32
_CANDIDATES = 200
_OF_FILE = 20
"""Candidates of each of the best files, over which words may be spread.

Of the functions that 110 tasks of four tuning repositories changed, 0.81 are candidates without
them and 0.87 with those of ten files; 15 files with 30 of each are 0.90, and 80 candidates more.
"""
_POSTINGS_BUDGET = 10_000
"""Postings read to find candidates; more frequent terms only score those (as MaxScore does).

Twice as many took half as long again over 50,000 items and found nothing better; with a quarter
NDCG@10 fell by 0.009 (300 tuning queries).
"""

_KIND_PRIORS: dict[str, float] = {
    Kind.CHUNK: 0.6, Kind.MODULE: 0.6, Kind.SECTION: 0.8, Kind.CONSTANT: 0.8, Kind.KEY: 0.8,
}  # fmt: skip
"""What has a better answer in it, is no code, or is so short that one word makes it win.

Sections, long constants and declarations: 30 questions on foreign repositories rose from an MRR of
0.60 to 0.63, tuning queries stayed.
"""
_LONG = 8
"""Lines from which on a constant is code like any other."""
DECLARATIONS = re.compile(r"\.d\.[cm]?ts$|\.pyi$")
"""Files that only declare what another defines."""
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
"""Forms that people fill in, which share the words of every issue."""
_ASIDE_PRIOR = 0.5
_OUTSIDE = TEXT_KINDS | {Kind.MODULE}
"""Items that are no definition."""
_DEFINITION_ORDER = {
    kind: place
    for place, kind in enumerate(
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
    """An item with its score, and what reading its bytes needs.

    `worth` is what it is worth before a word of it is read, which is in its score. `coverage` is
    the share of the query's weight that it has. `reason` says how it relates to another hit, where
    that raised its score.
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
    """Whether code is test code, by the names that languages and their tools give it."""
    return bool(_TEST_PATH.search(path)) or "::tests::" in canonical_path


class Framed(NamedTuple):
    """How likely items and files of the index are right, by the places that a report names.

    By their ids.
    """

    items: dict[int, float]
    files: dict[int, float]


NOTHING_FRAMED = Framed({}, {})


class Found(NamedTuple):
    """What the words of a query found: items by score, those that it names exactly, and files."""

    question: Question
    hits: list[Hit]
    defined: list[Hit]
    files: Sequence[WholeFile] = ()
    framed: Framed = NOTHING_FRAMED
    defining: Mapping[int, float] = {}
    """Files by id that define a name which the query mentions (`treadle.code.mentions`)."""
    past: "Mapping[int, Past] | None" = None
    """What the git history says of files, by id, if a task is asked for."""


Similarities = Mapping[int, float]
"""How like the query items are, by item id, as far as it is known."""


class Alike(NamedTuple):
    """The similarities of items to the query, and of files.

    `files` are the similarities of whole files, by file id, where files are asked for.
    """

    own: Similarities | None = None
    files: Similarities | None = None


def rank_items(found: Found, alike: Alike, limit: int) -> list[Hit]:
    """The best `limit` items: exact definitions first, then all orders fused."""
    from treadle.code.fusing import fused_hits  # not needed for files alone
    from treadle.code.nested_copies import copies_last

    hits = fused_hits(found, alike, limit)
    hits = copies_last(hits)
    if found.defined:
        top = max((hit.score for hit in hits), default=1.0)
        first = {(hit.file, hit.start_byte, hit.name) for hit in found.defined}
        scored = [hit._replace(score=top + 1 - at / 1000) for at, hit in enumerate(found.defined)]
        hits = [
            *copies_last(scored),
            *(hit for hit in hits if (hit.file, hit.start_byte, hit.name) not in first),
        ]
    return hits[:limit]


_POSITION = attrgetter("file", "start_line", "start_byte", "name")
_SCORE = attrgetter("score")


def by_words(
    connection: sqlite3.Connection,
    question: Question,
    also: Sequence[int] = (),
    files: Collection[int] = (),
) -> list[Hit]:
    """What the words of a query find (BM25): the best items, and the best ones of `files`.

    The items `also` are scored in the same way.
    """
    terms, worth = question.terms, question.worth
    scores = _bm25(connection, terms, also, files)
    if not scores:
        return []
    tests = 1.0 if question.wants_tests else worth.test
    hits: list[Hit] = []
    for row in _rows(connection, scores):
        score, coverage = scores[row[0]]
        score *= coverage**COVERAGE * _name_boost(row[2], terms)
        hits.append(_hit(row, score, tests, worth.text, coverage))
    return by_score(hits)


def _name_boost(name: str, terms: Mapping[str, float]) -> float:
    """More for a name the more of its parts the query says."""
    parts = terms_of_word(name)
    parts = parts[:-1] or parts  # the last is the name whole
    said = [terms[part] for part in parts if part in terms]
    return 1.0 + NAMED * sum(said) / len(parts) if said else 1.0


def by_score(hits: Iterable[Hit]) -> list[Hit]:
    """The best first, ties by path and line."""
    return sorted(sorted(hits, key=_POSITION), key=_SCORE, reverse=True)


def items_of(connection: sqlite3.Connection, item_ids: Iterable[int]) -> list[Hit]:
    """The items of these ids, with no score."""
    return [_hit(row, 0.0) for row in _rows(connection, item_ids)]


def owners_of(connection: sqlite3.Connection, item_ids: Sequence[int]) -> dict[int, Hit]:
    """The types that hold items, by the ids of the items."""
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


def _rows(connection: sqlite3.Connection, item_ids: Iterable[int]) -> list[tuple[Any, ...]]:
    return connection.execute(
        f"SELECT {_ITEM_COLUMNS} FROM items AS i JOIN files AS f ON f.id = i.file_id"  # noqa: S608
        " WHERE i.id IN (SELECT value FROM json_each(?))",
        (str(list(item_ids)),),
    ).fetchall()


def _hit(
    row: tuple[Any, ...],
    score: float,
    tests: float = 1.0,
    texts: float = 1.0,
    coverage: float = 0.0,
) -> Hit:
    path, kind = os.fsdecode(row[1]), row[4]
    in_tests, is_aside, prior = file_worth(path, row[-1])
    test = in_tests or "::tests::" in row[3]
    if kind != Kind.CONSTANT or row[8] - row[7] < _LONG:
        prior *= _KIND_PRIORS.get(kind, 1.0)
    if test:
        prior *= tests
    if kind in _OUTSIDE:
        prior *= texts
    return Hit(score * prior, prior, test, is_aside, coverage, path, *row[2:-1])


@lru_cache(4_096)
def file_worth(path: str, origin: str) -> tuple[bool, bool, float]:
    """Whether a file is test code, whether it is aside, and what that is worth.

    Vendored and generated code is aside, and forms that people fill in.
    """
    is_aside = origin != Origin.OWN or bool(_FORM.search(path))
    prior = _DECLARATION_PRIOR if DECLARATIONS.search(path) else 1.0
    return is_test(path), is_aside, prior * _ASIDE_PRIOR if is_aside else prior


def _bm25(
    connection: sqlite3.Connection,
    terms: Mapping[str, float],
    also: Sequence[int],
    files: Collection[int],
) -> dict[int, tuple[float, float]]:
    """Item ids with their scores and the share of the query's weight that they have.

    At most `_CANDIDATES`, and `also`, which may have no word. Terms have the weight that they
    bring.
    """
    (items,) = connection.execute("SELECT value FROM meta WHERE key = 'items'").fetchone()
    if not terms or not items:
        return dict.fromkeys(also, (0.0, 0.0))
    rows = connection.execute(
        "SELECT id, documents, term FROM terms WHERE documents > 0"
        " AND term IN (SELECT value FROM json_each(?))",
        ('["' + '","'.join(terms) + '"]',),  # terms hold nothing that JSON escapes
    ).fetchall()
    rows.sort(key=lambda row: (-terms[row[2]], row[1], row[0]))
    rare: list[tuple[int, float]] = []
    frequent: list[tuple[int, float]] = []
    read = 0
    for term_id, documents, term in rows[:_MAX_TERMS]:
        rarity = log(1 + (items - documents + 0.5) / (documents + 0.5))
        weighted = (term_id, terms[term] * rarity**RARITY * (K1 + 1))
        if rare and read + documents > _POSTINGS_BUDGET:
            frequent.append(weighted)
        else:
            rare.append(weighted)
            read += documents
    everything = sum(weight for _, weight in (*rare, *frequent)) or 1.0
    scores = _matches(connection, rare, frequent, also, files)
    return {item: (score, covered / everything) for item, (score, covered) in scores.items()}


def _matches(
    connection: sqlite3.Connection,
    rare: list[tuple[int, float]],
    frequent: list[tuple[int, float]],
    also: Sequence[int],
    files: Collection[int],
) -> dict[int, tuple[float, float]]:
    """The best items by their rare terms, and `also`: scores, and the weight of what they have."""
    k = K1 * SCALE
    file_groups = groups(connection)
    scores: dict[int, float] = {}
    having: list[tuple[float, set[int]]] = []
    for term_id, weight in rare:
        items, counts = postings_of_term(connection, term_id, file_groups)
        having.append((weight, set(items)))
        worth = {count: weight * count / (count + k) for count in set(counts)}
        values = map(worth.__getitem__, counts)
        if not scores:
            scores = dict(zip(items, values, strict=True))
            continue
        known = scores.get
        for item, value in zip(items, values, strict=True):
            scores[item] = known(item, 0.0) + value
    chosen = (*_best(connection, scores), *_best_of_files(scores, files), *also)
    candidates = list(dict.fromkeys(chosen))
    in_candidates = counts_in_items(connection, [term_id for term_id, _ in frequent], candidates)
    more = [(weight, in_candidates.get(term_id, {})) for term_id, weight in frequent]
    found: dict[int, tuple[float, float]] = {}
    for item in candidates:
        score = scores.get(item, 0.0)
        covered = sum(weight for weight, members in having if item in members)
        for weight, counted in more:
            if (count := counted.get(item, 0)) > 0:
                score += weight * count / (count + k)
                covered += weight
        found[item] = (score, covered)
    return found


def _best(connection: sqlite3.Connection, scores: Mapping[int, float]) -> list[int]:
    """The `_CANDIDATES` items with the highest scores; of equal ones the first by path and line.

    Ids follow the order in which files came into the index, so they must not decide.
    """
    ordered = sorted(scores.values(), reverse=True)[:_CANDIDATES]
    least = ordered[-1] if ordered else 0.0
    above = [item for item, score in scores.items() if score > least]
    equal = [item for item, score in scores.items() if score == least]
    room = _CANDIDATES - len(above)
    if len(equal) > room:
        rows = connection.execute(
            "SELECT i.id FROM items AS i JOIN files AS f ON f.id = i.file_id"
            " WHERE i.id IN (SELECT value FROM json_each(?))"
            " ORDER BY f.path, i.start_byte, i.id LIMIT ?",
            (str(equal), room),
        )
        equal = [item for (item,) in rows]
    return above + equal


def _best_of_files(scores: Mapping[int, float], files: Collection[int]) -> list[int]:
    """The items of each file with the highest scores; of equal ones the first in the file."""
    by_file: dict[int, list[tuple[float, int]]] = {file_id: [] for file_id in files}
    for item in [item for item in scores if item >> PLACE_BITS in by_file] if files else ():
        by_file[item >> PLACE_BITS].append((-scores[item], item))
    return [item for of_file in by_file.values() for _, item in nsmallest(_OF_FILE, of_file)]


def definitions(connection: sqlite3.Connection, query: str) -> list[Hit]:
    """Items that a symbol-like query names exactly: `name`, `Type.method`, `a::b`, `pkg.mod.f`."""
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
    hits = [_hit(row, 0.0) for row in rows]
    found = [(tier, hit) for hit in hits if (tier := _tier(hit, parts)) is not None]
    best = min((tier for tier, _ in found), default=0)
    close = [entry for entry in found if entry[0] < _NEAR or best == _NEAR]
    close.sort(key=lambda entry: entry[1].start_byte - entry[1].end_byte)
    seen: Counter[str] = Counter()

    def order(entry: tuple[int, Hit]) -> tuple[object, ...]:
        """Of several with one name (overloads) the longest comes first, the others after all."""
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
    """How well a canonical path ends in `parts`: 0 exactly, 1 but for the case, None not at all.

    Who asks in small letters does not speak of the case. `_NEAR` if only the owner's name goes
    on: `Agent.run` finds `AbstractAgent.run`.
    """
    path = [part for part in _SEPARATORS.split(hit.canonical_path) if part]
    tail = path[-len(parts) :] if len(parts) > 1 else [hit.name]
    lowered, wanted = [part.lower() for part in tail], [part.lower() for part in parts]
    if parts in (tail, lowered):
        return 0
    if lowered == wanted:
        return 1
    owner_goes_on = len(tail) == 2 and wanted[0] in lowered[0]
    return _NEAR if owner_goes_on and lowered[1] == wanted[1] else None
