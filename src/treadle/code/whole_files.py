"""BM25 over whole files: words of a query that are spread over a file, one in each function."""

import os
import sqlite3
from collections.abc import Iterable, Mapping
from heapq import nlargest
from math import log
from typing import NamedTuple

from treadle.code.fields import SCALE
from treadle.code.postings import file_counts, groups

K1 = 1.2
_MAX_TERMS = 32
_BEST = 50
"""Files of an answer, before priors."""
TEXT_LANGUAGES = frozenset({"markdown", "toml", "yaml", "json", "go.mod", "notebook"})
"""Languages of documents and settings, as `files.language` has them."""


class WholeFile(NamedTuple):
    """A file that has words of the query, or an item that does."""

    id: int
    path: str
    score: float
    is_text: bool
    """Whether it is a document, a setting or another text that is not code."""
    origin: str
    lines: int
    items: int


def is_text(language: str | None) -> bool:
    """Whether a file is a document, a setting or another text that is not code."""
    return language is None or language in TEXT_LANGUAGES


def best_files(connection: sqlite3.Connection, terms: Mapping[str, float]) -> dict[int, float]:
    """The `_BEST` files with the highest scores, by id; of equal ones the first by path."""
    scores = _scores(connection, terms)
    least = min(nlargest(_BEST, scores.values()), default=0.0)
    best = {file_id: score for file_id, score in scores.items() if score > least}
    equal = [file_id for file_id, score in scores.items() if score == least]
    rows = connection.execute(
        "SELECT id FROM files WHERE id IN (SELECT value FROM json_each(?)) ORDER BY path LIMIT ?",
        (str(equal), _BEST - len(best)),
    )
    return best | {file_id: least for (file_id,) in rows}


def files_of(
    connection: sqlite3.Connection, scores: Mapping[int, float], also: Iterable[int] = ()
) -> list[WholeFile]:
    """The files with `scores`, and those `also`, by path."""
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


def _scores(connection: sqlite3.Connection, terms: Mapping[str, float]) -> dict[int, float]:
    (files,) = connection.execute("SELECT COUNT(*) FROM files WHERE items > 0").fetchone()
    rows = connection.execute(
        "SELECT id, term FROM terms WHERE documents > 0"
        " AND term IN (SELECT value FROM json_each(?)) ORDER BY documents, term",
        ('["' + '","'.join(terms) + '"]',),  # terms hold nothing that JSON escapes
    ).fetchall()
    rows = sorted(rows, key=lambda row: -terms[row[1]])[:_MAX_TERMS]
    k = K1 * SCALE
    file_groups = groups(connection)
    scores: dict[int, float] = {}
    for term_id, term in rows:
        found, counts = file_counts(connection, term_id, file_groups)
        frequency = len(found)
        weight = terms[term] * log(1 + (files - frequency + 0.5) / (frequency + 0.5)) * (K1 + 1)
        worth = {count: weight * count / (count + k) for count in set(counts)}
        known = scores.get
        for file_id, count in zip(found, counts, strict=True):
            scores[file_id] = known(file_id, 0.0) + worth[count]
    return scores
