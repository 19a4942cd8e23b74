"""Which files answer a query: by their best items, and by their whole text."""

import sqlite3

from treadle.code.fusing import file_scores, own_scores, with_best
from treadle.code.model import SearchResult
from treadle.code.ranking import Alike, Found

_DEFINED = 2.0
"""What a file has more than any other if it defines what the query names."""


def rank_files(
    connection: sqlite3.Connection, found: Found, alike: Alike, limit: int
) -> list[SearchResult]:
    """The best `limit` files by the rules of docs/context.md."""
    items = own_scores(found.hits, alike.own or {}, found.question.weights)
    scores = file_scores(found, with_best(found.hits, items, alike.best))
    paths = {file.id: file.path for file in found.files}
    paths.update((hit.file_id, hit.file) for hit in [*found.hits, *found.defined])
    for file_id in {hit.file_id for hit in found.defined}:
        scores[file_id] = scores.get(file_id, 0.0) + _DEFINED
    best = sorted(scores, key=lambda file_id: (-scores[file_id], paths[file_id]))[:limit]
    return [
        _file_result(connection, rank, scores[file_id], paths[file_id], file_id)
        for rank, file_id in enumerate(best, start=1)
    ]


def _file_result(
    connection: sqlite3.Connection, rank: int, score: float, path: str, file_id: int
) -> SearchResult:
    size, lines = connection.execute(
        "SELECT size, lines FROM files WHERE id = ?", (file_id,)
    ).fetchone()
    name = path.rpartition("/")[2]
    return SearchResult(rank, round(score, 6), path, name, path, "file", 1, max(1, lines), 0, size)
