"""Which files answer a query, by the items that were found in them."""

import sqlite3
from collections.abc import Mapping

from treadle.code.model import SearchResult
from treadle.code.ranking import Alike, Found, Hit, asks_for_tests, is_test
from treadle.code.terms import query_terms, terms_of_word

FUSION = 60
"""The usual constant of reciprocal rank fusion, by which files are put in order."""
_TEST_PRIOR = 0.3
_NEXT_ITEMS = 3
_NEXT_SHARE = 0.2


def rank_files(
    connection: sqlite3.Connection, found: Found, alike: Alike, limit: int
) -> list[SearchResult]:
    """The best `limit` files: the best item and a share of the next three, with priors.

    The rules are those of docs/context.md: a test prior, boosts for a query term in the file's
    stem or folder, and for an exact definition. Where vectors say something, files are put in
    order by their most similar item as well, and all orders fused.
    """
    defined = {hit.file_id for hit in found.defined}
    prior = 1.0 if asks_for_tests(found.query) else _TEST_PRIOR
    wanted = set(query_terms(found.query))
    by_file: dict[int, list[Hit]] = {}
    for hit in [*found.hits, *found.defined]:
        by_file.setdefault(hit.file_id, []).append(hit)
    scores: dict[int, float] = {}
    for file_id, hits in by_file.items():
        path = hits[0].file
        score = hits[0].score + _NEXT_SHARE * sum(hit.score for hit in hits[1 : 1 + _NEXT_ITEMS])
        if file_id in defined:
            score = (score + 1.0) * 2.0
        scores[file_id] = score * _path_boost(path, wanted) * (prior if is_test(path) else 1.0)
    orders = [_best_first(scores, by_file)]
    for similarities in filter(None, alike):
        likeness: dict[int, float] = {}
        for hit in found.hits:
            if (similarity := similarities.get(hit.item_id)) is not None:
                weighted = similarity * (prior if hit.is_test else 1.0)
                likeness[hit.file_id] = max(weighted, likeness.get(hit.file_id, -1.0))
        orders.append(_best_first(likeness, by_file))
    if len(orders) > 1:
        scores = dict.fromkeys(scores, 0.0)
        for order in orders:
            for rank, file_id in enumerate(order, start=1):
                scores[file_id] += 1 / (FUSION + rank)
    return [
        _file_result(connection, rank, scores[file_id], by_file[file_id][0].file, file_id)
        for rank, file_id in enumerate(_best_first(scores, by_file)[:limit], start=1)
    ]


def _best_first(scores: Mapping[int, float], by_file: Mapping[int, list[Hit]]) -> list[int]:
    """File ids by score, ties by path."""
    return sorted(scores, key=lambda file_id: (-scores[file_id], by_file[file_id][0].file))


def _path_boost(path: str, wanted: set[str]) -> float:
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
