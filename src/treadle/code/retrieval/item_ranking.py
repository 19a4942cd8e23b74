"""Ranks items: exact definitions first, then lexical score, similarity and score of the file."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from treadle.code.retrieval.hits import (
    Alike,
    Found,
    Hit,
    Similarities,
    WholeFile,
    by_score,
    file_worth,
    is_test,
)
from treadle.code.retrieval.query import Question

SIMILARITY = 0.7
"""The part of an item's score that is its similarity by the own embedding."""

_FILE = 0.2
"""What the score of its file adds to the score of an item, at most."""

WHOLE_FILE = 0.3
"""What BM25 over its whole text adds to the score of a file's best items, at most."""

_TEST_FILE = 0.3
"""What a file of tests is worth where the query does not ask for tests."""

_NEXT_ITEMS = 3

_NEXT_SHARE = 0.2

TEXT = 0.4
"""What a document or a setting is worth by its whole text, which is longer than that of code."""


def fused_hits(found: Found, alike: Alike, limit: int | None = None) -> list[Hit]:
    """What was found by words and by vectors, the best first, ties by path and line."""
    hits = found.hits
    scores = _item_scores(found, alike)
    least = min(sorted(scores, reverse=True)[:limit], default=0.0)
    return by_score(
        hit._replace(score=score) for hit, score in zip(hits, scores, strict=True) if score >= least
    )[:limit]


def _item_scores(found: Found, alike: Alike) -> list[float]:
    if found.question.is_task:
        from treadle.code.retrieval.task_ranking import (
            learnt_items,  # other questions need none of it
        )

        return learnt_items(found, alike)
    scores = own_scores(found.hits, alike.own or {})
    files = _file_scores(found, scores)
    part = _FILE / (max(files.values(), default=0.0) or 1.0)
    return [
        score + part * files[hit.file_id] * hit.worth
        for hit, score in zip(found.hits, scores, strict=True)
    ]


def own_scores(
    hits: Sequence[Hit], own: Similarities, similarity: float = SIMILARITY
) -> list[float]:
    """A score of each hit by its words and its own vector; the best has 1."""
    words = [hit.score for hit in hits]
    similar = [hit.worth * max(own.get(hit.item_id, 0.0), 0.0) for hit in hits]
    scores = _share_of_both(words, similar, similarity if own else 0.0)
    most = max(scores, default=0.0) or 1.0
    return [score / most for score in scores]


def _share_of_both(
    words: Sequence[float], similar: Sequence[float], similarity: float
) -> list[float]:
    """Two scores in one, each as a share of its best; `similarity` is the part of the second.

    How far apart candidates are says more than their ranks (docs/decisions/0016, 0057).
    """
    of_words = (1 - similarity) / (max(words, default=0.0) or 1.0)
    of_similar = similarity / (max(similar, default=0.0) or 1.0)
    return [of_words * one + of_similar * other for one, other in zip(words, similar, strict=True)]


def _file_scores(found: Found, scores: Sequence[float]) -> dict[int, float]:
    """The scores of files by id: of their best items, whose `scores` are given, and by whole text.

    The files of all hits are among them.
    """
    question = found.question
    paths = {hit.file_id: hit.file for hit in found.hits}
    paths.update((file.id, file.path) for file in found.files)
    boosts = {number: test_worth(path, question) for number, path in paths.items()}
    totals: dict[int, float] = dict.fromkeys(paths, 0.0)
    for part, scored in (
        (1.0, by_items(found.hits, scores, _NEXT_ITEMS)),
        (WHOLE_FILE, _by_text(found.files)),
    ):
        worth = {number: score * boosts[number] for number, score in scored.items()}
        for number, share in share_of_best(worth).items():
            totals[number] += part * share
    return totals


def share_of_best(scores: Mapping[int, float]) -> dict[int, float]:
    """Scores as shares of the best one."""
    most = max(scores.values(), default=0.0) or 1.0
    return {key: score / most for key, score in scores.items()}


def by_items(hits: Sequence[Hit], scores: Sequence[float], next_items: int) -> dict[int, float]:
    """By file id the score of its best item, and a share of those of the next ones."""
    by_file: dict[int, list[float]] = {}
    for hit, score in zip(hits, scores, strict=True):
        by_file.setdefault(hit.file_id, []).append(score)
    found: dict[int, float] = {}
    for number, of_file in by_file.items():
        best, *others = sorted(of_file, reverse=True)[: 1 + next_items]
        found[number] = best + _NEXT_SHARE * sum(others)
    return found


def _by_text(files: Iterable[WholeFile]) -> dict[int, float]:
    """BM25 of each file by id, times what a file of its kind is worth."""
    found: dict[int, float] = {}
    for file in files:
        _, _, worth = file_worth(file.path, file.origin)
        found[file.id] = file.score * worth * (TEXT if file.is_text else 1.0)
    return found


def test_worth(path: str, question: Question) -> float:
    """What the path of a file is worth: less for tests that the query does not ask for."""
    return 1.0 if question.wants_tests or not is_test(path) else _TEST_FILE


def rank_items(found: Found, alike: Alike, limit: int) -> list[Hit]:
    """The best `limit` items: exact definitions first, then all orders fused."""
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


_WORTH = 0.5


def copies_last(hits: Sequence[Hit]) -> list[Hit]:
    """`hits` in their order, those that another hit is the original of with half of their score.

    A copy has the name and kind of its original, and a path that ends in the whole path of it. A
    path of one part says little, so there the items must also be of one length.
    """
    files: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for hit in hits:
        files[hit.name, hit.kind].setdefault(hit.file, hit.end_byte - hit.start_byte)
    marked = [(hit, _is_copy(hit, files[hit.name, hit.kind])) for hit in hits]
    if not any(copy for _, copy in marked):
        return list(hits)
    worth = [hit._replace(score=hit.score * _WORTH) if copy else hit for hit, copy in marked]
    return sorted(worth, key=lambda hit: -hit.score)


def _is_copy(hit: Hit, files: dict[str, int]) -> bool:
    if len(files) < 2:
        return False
    rest = hit.file.partition("/")[2]
    while rest:
        length = files.get(rest)
        if length is not None and ("/" in rest or length == hit.end_byte - hit.start_byte):
            return True
        rest = rest.partition("/")[2]
    return False
