"""Which items and files answer a query: exact definitions first, then fielded BM25 in SQL."""

import json
import os
import re
import sqlite3
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
_CANDIDATES = 400
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
WITH rare AS MATERIALIZED (
    SELECT p.item_id, SUM(q.value ->> 1 * p.frequency / (p.frequency + :k + :s * p.length)) AS score
    FROM json_each(:rare) AS q JOIN postings AS p ON p.term_id = q.value ->> 0
    GROUP BY p.item_id ORDER BY score DESC, p.item_id LIMIT :candidates
)
SELECT rare.item_id, rare.score + COALESCE((
    SELECT SUM(q.value ->> 1 * p.frequency / (p.frequency + :k + :s * p.length))
    FROM json_each(:frequent) AS q
    JOIN postings AS p ON p.term_id = q.value ->> 0 AND p.item_id = rare.item_id), 0) AS score
FROM rare
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
            *(_with_score(hit, top + 1.0 - place / 1000) for place, hit in enumerate(defined)),
            *(hit for hit in hits if (hit.file, hit.start_byte, hit.name) not in first),
        ]
    return hits[:limit]


def _with_score(hit: Hit, score: float) -> Hit:
    return replace(hit, score=score)


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
    hits = []
    for row in rows:
        hit = _hit(row, scores[row[0]])
        factor = (prior if hit.is_test else 1.0) * (_CHUNK_PRIOR if hit.kind == Kind.CHUNK else 1.0)
        hits.append(_with_score(hit, hit.score * factor))
    hits.sort(key=lambda hit: (-hit.score, hit.file, hit.start_line, hit.start_byte, hit.name))
    return hits


def _hit(row: tuple[Any, ...], score: float) -> Hit:
    path = os.fsdecode(row[1])
    return Hit(score, is_test(path, row[3]), path, *row[2:])


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
        "candidates": _CANDIDATES,
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
    hits = [hit for row in rows if _matches(hit := _hit(row, 0.0), parts)]

    def order(hit: Hit) -> tuple[object, ...]:
        exact = _components(hit)[-len(parts) :] == parts
        kind = _DEFINITION_ORDER[Kind(hit.kind)]
        return (not exact, hit.is_test, kind, hit.file, hit.start_line, hit.start_byte)

    return sorted(hits, key=order)


def _components(hit: Hit) -> list[str]:
    return [part for part in _SEPARATORS.split(hit.canonical_path) if part]


def _matches(hit: Hit, parts: list[str]) -> bool:
    """Whether the canonical path ends in `parts`, whatever the case."""
    tail = [part.lower() for part in _components(hit)][-len(parts) :]
    return len(parts) == 1 or tail == [part.lower() for part in parts]


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
