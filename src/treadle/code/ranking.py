"""Which items and files answer a query: exact definitions first, then fielded BM25 in SQL."""

import json
import os
import re
import sqlite3
from collections import Counter
from dataclasses import dataclass, replace
from math import log
from typing import Any

from treadle.code.model import Kind, SearchResult, View
from treadle.code.terms import query_terms, terms_of_word

MAX_QUERY_CHARACTERS = 10_000
"""Of a longer query only the head counts."""

K1 = 2.0
B = 0.75
_MAX_TERMS = 32
_CANDIDATES = 200
_POSTINGS_BUDGET = 20_000
"""Postings read to find candidates; more frequent terms only score those (as MaxScore does)."""

_TEST_PRIOR = 0.3
_ITEM_TEST_PRIOR = 0.7
_CHUNK_PRIOR = 0.6
_NEXT_ITEMS = 3
_NEXT_SHARE = 0.2

_SYMBOL = re.compile(r"[\w.:#/$<>~!?=+*&|^%\[\]-]{1,300}(?:\(\))?")
_SEPARATORS = re.compile(r"::|[.#/]|->")
_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?|e2e|testdata|fixtures)/"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.py$"
    r"|_test\.(?:py|go|cc|cpp|c|rs)$|[._-](?:test|spec)\.[^/]*$|Tests?\.java$",
)
_ASKS_FOR_TESTS = frozenset({"test", "spec", "fixtur"})
_DEFINITION_ORDER = {
    kind: place
    for place, kind in enumerate(
        (
            Kind.CLASS, Kind.STRUCT, Kind.TRAIT, Kind.INTERFACE, Kind.ENUM, Kind.FUNCTION,
            Kind.MACRO, Kind.TYPE, Kind.METHOD, Kind.CONSTANT, Kind.MODULE, Kind.IMPL, Kind.CHUNK,
        )
    )
}  # fmt: skip

_CANDIDATE_SQL = """
WITH rare (term_id, weight) AS MATERIALIZED (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:rare)
), frequent (term_id, weight) AS MATERIALIZED (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:frequent)
), candidates (item_id, score) AS MATERIALIZED (
    SELECT p.item_id, SUM(t.weight * p.frequency / (p.frequency + :k + :s * p.length)) AS score
    FROM rare AS t CROSS JOIN postings AS p ON p.term_id = t.term_id
    GROUP BY p.item_id ORDER BY score DESC, p.item_id LIMIT :limit
)
SELECT c.item_id, c.score + COALESCE((
    SELECT SUM(t.weight * p.frequency / (p.frequency + :k + :s * p.length))
    FROM frequent AS t CROSS JOIN postings AS p
    ON p.term_id = t.term_id AND p.item_id = c.item_id), 0)
FROM candidates AS c
"""
_ITEM_COLUMNS = (
    "i.id, f.path, i.name, i.canonical_path, i.kind, i.start_byte, i.end_byte, i.start_line,"
    " i.end_line, i.signature_start, i.signature_end, f.hash, f.id"
)


@dataclass(frozen=True, slots=True)
class Hit:
    """An item with its score, and what reading its bytes needs."""

    score: float
    is_test: bool
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

    def result(self, rank: int) -> SearchResult:
        return SearchResult(
            rank, round(self.score, 6), self.file, self.name, self.canonical_path, self.kind,
            self.start_line, self.end_line, self.start_byte, self.end_byte,
        )  # fmt: skip


def asks_for_tests(query: str) -> bool:
    """Whether the query itself speaks of tests, so that they are not put last."""
    return not _ASKS_FOR_TESTS.isdisjoint(query_terms(query))


def is_test(path: str, canonical_path: str = "") -> bool:
    """Whether code is test code, by the names that languages and their tools give it."""
    return bool(_TEST_PATH.search(path)) or "::tests::" in canonical_path


def rank_items(connection: sqlite3.Connection, query: str, limit: int) -> list[Hit]:
    """The best `limit` items: exact definitions of a symbol, then BM25; ties by path and line."""
    query = query[:MAX_QUERY_CHARACTERS].strip()
    defined = _definitions(connection, query)[:limit]
    hits = _scored(connection, query)
    if defined:
        top = max((hit.score for hit in hits), default=1.0)
        first = {(hit.file, hit.start_byte, hit.name) for hit in defined}
        hits = [
            *(replace(hit, score=top + 1.0 - place / 1000) for place, hit in enumerate(defined)),
            *(hit for hit in hits if (hit.file, hit.start_byte, hit.name) not in first),
        ]
    return hits[:limit]


def _scored(connection: sqlite3.Connection, query: str) -> list[Hit]:
    scores = _bm25(connection, query_terms(query))
    if not scores:
        return []
    prior = 1.0 if asks_for_tests(query) else _ITEM_TEST_PRIOR
    rows = connection.execute(
        f"SELECT {_ITEM_COLUMNS} FROM items AS i JOIN files AS f ON f.id = i.file_id"  # noqa: S608
        " WHERE i.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(scores)),),
    )
    hits = [_hit(row, scores[row[0]], prior) for row in rows]
    hits.sort(key=lambda hit: (-hit.score, hit.file, hit.start_line, hit.start_byte, hit.name))
    return hits


def _hit(row: tuple[Any, ...], score: float, test_prior: float = 1.0) -> Hit:
    path = os.fsdecode(row[1])
    test = is_test(path, row[3])
    if test:
        score *= test_prior
    if row[4] == Kind.CHUNK:
        score *= _CHUNK_PRIOR
    return Hit(score, test, path, *row[2:])


def _bm25(connection: sqlite3.Connection, terms: list[str]) -> dict[int, float]:
    """Item ids with their BM25 scores, at most `_CANDIDATES`."""
    totals = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    if not terms or not totals["items"]:
        return {}
    rows = connection.execute(
        "SELECT id, documents FROM terms WHERE documents > 0"
        " AND term IN (SELECT value FROM json_each(?))",
        (json.dumps(terms),),
    ).fetchall()
    rows.sort(key=lambda row: (row[1], row[0]))
    rare: list[tuple[int, float]] = []
    frequent: list[tuple[int, float]] = []
    read = 0
    for term_id, documents in rows[:_MAX_TERMS]:
        idf = log(1 + (totals["items"] - documents + 0.5) / (documents + 0.5))
        weighted = (term_id, idf * (K1 + 1))
        if rare and read + documents > _POSTINGS_BUDGET:
            frequent.append(weighted)
        else:
            rare.append(weighted)
            read += documents
    mean = totals["length"] / totals["items"]
    parameters = {
        "rare": json.dumps(rare),
        "frequent": json.dumps(frequent),
        "k": K1 * (1 - B),
        "s": K1 * B / mean,
        "limit": _CANDIDATES,
    }
    return dict(connection.execute(_CANDIDATE_SQL, parameters).fetchall())


def _definitions(connection: sqlite3.Connection, query: str) -> list[Hit]:
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
        return (tier, hit.is_test, kind, repeated, hit.file, hit.start_line, hit.start_byte)

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


def rank_files(connection: sqlite3.Connection, query: str, limit: int) -> list[SearchResult]:
    """The best `limit` files: the best item and a share of the next three, with priors.

    The rules are those of docs/context.md: a test prior, boosts for a query term in the file's
    stem or folder, and for an exact definition.
    """
    query = query[:MAX_QUERY_CHARACTERS].strip()
    hits = _scored(connection, query)
    defined = {hit.file_id for hit in _definitions(connection, query)}
    prior = 1.0 if asks_for_tests(query) else _TEST_PRIOR
    wanted = set(query_terms(query))
    by_file: dict[int, list[Hit]] = {}
    for hit in [*hits, *_definitions(connection, query)]:
        by_file.setdefault(hit.file_id, []).append(hit)
    scored: list[tuple[float, str, int]] = []
    for file_id, found in by_file.items():
        path = found[0].file
        score = found[0].score + _NEXT_SHARE * sum(hit.score for hit in found[1 : 1 + _NEXT_ITEMS])
        if file_id in defined:
            score = (score + 1.0) * 2.0
        score *= _name_boost(path, wanted) * (prior if is_test(path) else 1.0)
        scored.append((score, path, file_id))
    scored.sort(key=lambda entry: (-entry[0], entry[1]))
    return [
        _file_result(connection, rank, *entry) for rank, entry in enumerate(scored[:limit], start=1)
    ]


def _name_boost(path: str, wanted: set[str]) -> float:
    """Up to 1.5 for the stem and 1.2 for the folder, by the share of their terms in the query."""
    folder, _, name = path.rpartition("/")
    boost = 1.0
    for text, weight in ((name.partition(".")[0], 0.5), (folder.rpartition("/")[2], 0.2)):
        terms = terms_of_word(text)
        if terms:
            boost *= 1.0 + weight * len(wanted.intersection(terms)) / len(terms)
    return boost


def _file_result(
    connection: sqlite3.Connection, rank: int, score: float, path: str, file_id: int
) -> SearchResult:
    size, lines = connection.execute(
        "SELECT size, lines FROM files WHERE id = ?", (file_id,)
    ).fetchone()
    name = path.rpartition("/")[2]
    return SearchResult(rank, round(score, 6), path, name, path, "file", 1, max(1, lines), 0, size)


def ranked(
    connection: sqlite3.Connection, query: str, limit: int, view: View
) -> list[SearchResult]:
    """The search results of one view."""
    if view is View.FILES:
        return rank_files(connection, query, limit)
    hits = rank_items(connection, query, limit)
    return [hit.result(rank) for rank, hit in enumerate(hits, start=1)]
