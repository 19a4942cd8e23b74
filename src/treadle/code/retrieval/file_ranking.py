"""Which files answer a query: by their best items, their whole text, and all items together."""

import os
import re
import sqlite3
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

from treadle.code.model import SearchResult
from treadle.code.retrieval.hits import DECLARATIONS, Alike, Found, file_worth, is_text
from treadle.code.retrieval.item_ranking import (
    TEXT,
    WHOLE_FILE,
    by_items,
    own_scores,
    share_of_best,
    test_worth,
)
from treadle.code.retrieval.query import Question

SIMILARITY = 0.6
"""The part of an item's score that is its similarity, which counts less than among items."""
_DEFINED = 2.0
"""What a file has more than any other if it defines what the query names."""
_TEXT_FILE, _SHOWING_FILE, _DECLARING_FILE = 0.6, 0.6, 0.8
"""What files are worth that only speak of code, show its use, or declare it."""
_SHOWING = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|playgrounds?|bench(?:es|marks?)?|docs?|sandbox(?:es)?"
    r"|tutorials?)/",
    re.IGNORECASE,
)
_DECLARING = re.compile(rf"{DECLARATIONS.pattern}|\.(?:h|hh|hpp|hxx|proto)$")


class RankedFile(NamedTuple):
    """A file that may answer, and what it is worth before a word of it is read.

    `worth` is for what its items say, which have a worth of their own; `whole` for all of it.
    """

    path: str
    size: int
    lines: int
    worth: float
    whole: float


def rank_files(
    connection: sqlite3.Connection, found: Found, alike: Alike, limit: int
) -> list[SearchResult]:
    """The best `limit` files by the rules of docs/context.md."""
    numbers = {file.id for file in found.files}.union(alike.files or ())
    numbers.update(hit.file_id for hit in (*found.hits, *found.defined))
    numbers.update(found.defining)
    files = _candidates(connection, found.question, numbers)
    scores = (
        _by_curves(found, alike) if found.question.is_task else _by_weights(found, alike, files)
    )
    for number in {hit.file_id for hit in found.defined}:
        scores[number] = scores.get(number, 0.0) + _DEFINED
    best = sorted(scores, key=lambda number: (-scores[number], files[number].path))[:limit]
    return [_result(rank, scores[one], files[one]) for rank, one in enumerate(best, start=1)]


def _by_curves(found: Found, alike: Alike) -> dict[int, float]:
    from treadle.code.retrieval.task_ranking import learnt_files  # other questions need none of it

    return learnt_files(found, alike)


def _by_weights(found: Found, alike: Alike, files: Mapping[int, RankedFile]) -> dict[int, float]:
    weights = found.question.files
    similar = alike.files or {}
    items = own_scores(found.hits, alike.own or {}, SIMILARITY)
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
        _, _, prior = file_worth(path, origin)
        worth = test_worth(path, question) * _kind_worth(path) * (_TEXT_FILE if text else 1.0)
        whole = worth * prior * (TEXT if text else 1.0)
        found[number] = RankedFile(path, size, lines, worth, whole)
    return found


@lru_cache(4_096)
def _kind_worth(path: str) -> float:
    """What a file is worth by what it is for, as far as its path shows."""
    worth = _SHOWING_FILE if _SHOWING.search(path) else 1.0
    return worth * _DECLARING_FILE if _DECLARING.search(path) else worth


def _result(rank: int, score: float, file: RankedFile) -> SearchResult:
    name = file.path.rpartition("/")[2]
    return SearchResult(
        rank, round(score, 6), file.path, name, file.path, "file", 1, max(1, file.lines), 0,
        file.size,
    )  # fmt: skip
