"""Ranks files by their best items, their whole text, and the similarity of all their items."""

import os
import re
import sqlite3
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

from treadle.code.model import SearchResult
from treadle.code.retrieval.hits import (
    DECLARATIONS,
    Candidates,
    VectorScores,
    is_text,
    path_weights,
)
from treadle.code.retrieval.item_ranking import (
    TEXT,
    WHOLE_FILE,
    by_items,
    own_scores,
    share_of_best,
    test_weight,
)
from treadle.code.retrieval.query import Question

SIMILARITY = 0.6
"""The weight of similarity in an item's score. The ranking of items uses a larger weight."""
_DEFINED = 2.0
"""The amount that is added to the score of a file that defines the name in the query."""
_TEXT_FILE, _SHOWING_FILE, _DECLARING_FILE = 0.6, 0.6, 0.8
"""The weights of documents, of examples and demos, and of files that only declare names."""
_SHOWING = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|playgrounds?|bench(?:es|marks?)?|docs?|sandbox(?:es)?"
    r"|tutorials?)/",
    re.IGNORECASE,
)
_DECLARING = re.compile(rf"{DECLARATIONS.pattern}|\.(?:h|hh|hpp|hxx|proto)$")


class RankedFile(NamedTuple):
    """A file that may answer the query, with its weights.

    `worth` is the weight for the scores of its items, which have weights of their own. `whole` is
    the weight for its whole text.
    """

    path: str
    size: int
    lines: int
    worth: float
    whole: float


def rank_files(
    connection: sqlite3.Connection, found: Candidates, vector_scores: VectorScores, limit: int
) -> list[SearchResult]:
    """Return the best `limit` files. The rules are listed in docs/context.md."""
    numbers = {file.id for file in found.files}.union(vector_scores.files or ())
    numbers.update(hit.file_id for hit in (*found.hits, *found.defined))
    numbers.update(found.defining)
    files = _candidates(connection, found.question, numbers)
    scores = (
        _by_curves(found, vector_scores)
        if found.question.is_task
        else _by_weights(found, vector_scores, files)
    )
    for number in {hit.file_id for hit in found.defined}:
        scores[number] = scores.get(number, 0.0) + _DEFINED
    best = sorted(scores, key=lambda number: (-scores[number], files[number].path))[:limit]
    return [_result(rank, scores[one], files[one]) for rank, one in enumerate(best, start=1)]


def _by_curves(found: Candidates, vector_scores: VectorScores) -> dict[int, float]:
    # imported late, since only tasks need it
    from treadle.code.retrieval.task_ranking import score_files

    return score_files(found, vector_scores)


def _by_weights(
    found: Candidates, vector_scores: VectorScores, files: Mapping[int, RankedFile]
) -> dict[int, float]:
    weights = found.question.files
    similar = vector_scores.files or {}
    items = own_scores(found.hits, vector_scores.own or {}, SIMILARITY)
    by_hits = by_items(found.hits, items, weights.next_items)
    parts = (
        (1.0, {number: score * files[number].worth for number, score in by_hits.items()}),
        (WHOLE_FILE, {one.id: one.score * files[one.id].whole for one in found.files}),
        (
            weights.similarity,
            {number: max(score, 0.0) * files[number].whole for number, score in similar.items()},
        ),
    )
    scores = dict.fromkeys(files, 0.0)
    for part, of_files in parts:
        for number, share in share_of_best(of_files).items():
            scores[number] += part * share
    for number, share in found.defining.items():
        scores[number] += weights.mentioned * share * files[number].worth
    return scores


def _candidates(
    connection: sqlite3.Connection, question: Question, numbers: Collection[int]
) -> dict[int, RankedFile]:
    rows = connection.execute(
        "SELECT id, path, size, lines, language, origin FROM files"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (str(list(numbers)),),
    ).fetchall()
    found: dict[int, RankedFile] = {}
    for number, raw, size, lines, language, origin in rows:
        path, text = os.fsdecode(raw), is_text(language)
        _, _, prior = path_weights(path, origin)
        worth = test_weight(path, question) * _kind_worth(path) * (_TEXT_FILE if text else 1.0)
        whole = worth * prior * (TEXT if text else 1.0)
        found[number] = RankedFile(path, size, lines, worth, whole)
    return found


@lru_cache(4_096)
def _kind_worth(path: str) -> float:
    """Return the weight of a file by its purpose, which its path shows."""
    worth = _SHOWING_FILE if _SHOWING.search(path) else 1.0
    return worth * _DECLARING_FILE if _DECLARING.search(path) else worth


def _result(rank: int, score: float, file: RankedFile) -> SearchResult:
    name = file.path.rpartition("/")[2]
    return SearchResult(
        rank, round(score, 6), file.path, name, file.path, "file", 1, max(1, file.lines), 0,
        file.size,
    )  # fmt: skip
