"""BM25 over the fields of items and over whole files."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest, nsmallest
from math import log

from treadle.code.retrieval.hits import Hit, by_score, hit_from_row, rows_of
from treadle.code.retrieval.query import Question
from treadle.code.storage.postings import (
    POSITION_BITS,
    SCALE,
    counts_in_items,
    file_counts,
    groups,
    postings_of_term,
)
from treadle.code.terms import terms_of_word

K1 = 2.0

RARITY = 0.7
"""The exponent of a term's rarity. An exponent below 1 keeps one rare word from deciding alone."""

COVERAGE = 0.25
"""The exponent of `Hit.coverage`, which is a factor of an item's score.

Over 900 tuning queries in three languages, NDCG@10 rose by 0.018 for files and did not change for
items (Rust -0.006, Python +0.007, TypeScript +0.004). With 0.5, NDCG@10 rose by 0.030 for files and
fell by 0.011 for items.
"""

NAMED = 0.3
"""The bonus in the score of an item if all parts of its name are in the query.

If only some parts are in the query, the item gets a fraction of the bonus. NDCG@10 rose by 0.012
over 1,500 tuning queries, and it rose in each of five languages.
"""

_MAX_TERMS = 32

_CANDIDATES = 200

_OF_FILE = 20
"""The number of candidates from each of the best files.

The words of a query may be spread over several items of a file. Measured on the functions that 110
tasks of four tuning repositories changed: 81 % of the functions are candidates without this rule,
and 87 % with ten files. With 15 files and 30 candidates from each file, 90 % are candidates, but
the number of candidates grows by 80.
"""

_POSTINGS_BUDGET = 10_000
"""The maximum number of postings that are read to find candidates.

Terms beyond this limit only add to the scores of found candidates (MaxScore). Over 50,000 items,
twice as many postings took 1.5 times as long and gave no better results. With a quarter of the
postings, NDCG@10 fell by 0.009 (300 tuning queries).
"""


def rank_by_words(
    connection: sqlite3.Connection,
    question: Question,
    also: Sequence[int] = (),
    files: Collection[int] = (),
) -> list[Hit]:
    """Return the best items by BM25, the best items of `files`, and the items in `also`."""
    terms, worth = question.terms, question.worth
    scores = _bm25(connection, terms, also, files)
    if not scores:
        return []
    tests = 1.0 if question.wants_tests else worth.test
    hits: list[Hit] = []
    for row in rows_of(connection, scores):
        score, coverage = scores[row[0]]
        score *= coverage**COVERAGE * _name_boost(row[2], terms)
        hits.append(hit_from_row(row, score, tests, worth.text, coverage))
    return by_score(hits)


def _name_boost(name: str, terms: Mapping[str, float]) -> float:
    """Return a factor that grows with the share of the name's parts in the query."""
    parts = terms_of_word(name)
    parts = parts[:-1] or parts  # the last term is the whole name
    named_weights = [terms[part] for part in parts if part in terms]
    return 1.0 + NAMED * sum(named_weights) / len(parts) if named_weights else 1.0


def _bm25(
    connection: sqlite3.Connection,
    terms: Mapping[str, float],
    also: Sequence[int],
    files: Collection[int],
) -> dict[int, tuple[float, float]]:
    """Return the best items by id, each with a score and a coverage (see `Hit`).

    The result has at most `_CANDIDATES` items, plus the best items of `files` and the items in
    `also`. Items of `also` are returned even if they contain no term of the query.
    """
    (items,) = connection.execute("SELECT value FROM meta WHERE key = 'items'").fetchone()
    if not terms or not items:
        return dict.fromkeys(also, (0.0, 0.0))
    rows = connection.execute(
        "SELECT id, documents, term FROM terms WHERE documents > 0"
        " AND term IN (SELECT value FROM json_each(?))",
        ('["' + '","'.join(terms) + '"]',),  # terms contain no character that JSON escapes
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
    """Return the best items by rare terms, the best items of `files`, and the items in `also`.

    The result has their scores, and the weight of the terms that each item contains.
    """
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
    """Return the `_CANDIDATES` items with the highest scores. Ties are ordered by path and line.

    Ids do not decide ties, since they depend on the order of indexing.
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
    """Return the `_OF_FILE` items with the highest scores of each file.

    Ties are ordered by position in the file.
    """
    by_file: dict[int, list[tuple[float, int]]] = {file_id: [] for file_id in files}
    for item in [item for item in scores if item >> POSITION_BITS in by_file] if files else ():
        by_file[item >> POSITION_BITS].append((-scores[item], item))
    return [item for of_file in by_file.values() for _, item in nsmallest(_OF_FILE, of_file)]


FILE_K1 = 1.2

_BEST_FILES = 50
"""The number of best files for an answer, before their weights are applied."""


def best_files(connection: sqlite3.Connection, terms: Mapping[str, float]) -> dict[int, float]:
    """Return the `_BEST_FILES` files with the highest scores, by id. Ties are ordered by path."""
    scores = _file_scores(connection, terms)
    least = min(nlargest(_BEST_FILES, scores.values()), default=0.0)
    best = {file_id: score for file_id, score in scores.items() if score > least}
    equal = [file_id for file_id, score in scores.items() if score == least]
    rows = connection.execute(
        "SELECT id FROM files WHERE id IN (SELECT value FROM json_each(?)) ORDER BY path LIMIT ?",
        (str(equal), _BEST_FILES - len(best)),
    )
    return best | {file_id: least for (file_id,) in rows}


def _file_scores(connection: sqlite3.Connection, terms: Mapping[str, float]) -> dict[int, float]:
    (files,) = connection.execute("SELECT COUNT(*) FROM files WHERE items > 0").fetchone()
    rows = connection.execute(
        "SELECT id, term FROM terms WHERE documents > 0"
        " AND term IN (SELECT value FROM json_each(?)) ORDER BY documents, term",
        ('["' + '","'.join(terms) + '"]',),  # terms contain no character that JSON escapes
    ).fetchall()
    rows = sorted(rows, key=lambda row: -terms[row[1]])[:_MAX_TERMS]
    k = FILE_K1 * SCALE
    file_groups = groups(connection)
    scores: dict[int, float] = {}
    for term_id, term in rows:
        found, counts = file_counts(connection, term_id, file_groups)
        frequency = len(found)
        weight = (
            terms[term] * log(1 + (files - frequency + 0.5) / (frequency + 0.5)) * (FILE_K1 + 1)
        )
        worth = {count: weight * count / (count + k) for count in set(counts)}
        known = scores.get
        for file_id, count in zip(found, counts, strict=True):
            scores[file_id] = known(file_id, 0.0) + worth[count]
    return scores
