"""Ranks items: exact definitions first, then other items by words, similarity and file score."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from treadle.code.retrieval.hits import (
    Candidates,
    Hit,
    Similarities,
    VectorScores,
    WholeFile,
    by_score,
    is_test,
    path_weights,
)
from treadle.code.retrieval.query import Question

SIMILARITY = 0.7
"""The weight of similarity in an item's score."""

_FILE = 0.2
"""The maximum amount that the score of a file adds to the scores of its items."""

WHOLE_FILE = 0.3
"""The maximum amount that BM25 over the whole text of a file adds to the score of the file."""

_TEST_FILE = 0.3
"""The weight of a test file if the query does not ask for tests."""

_NEXT_ITEMS = 3

_NEXT_SHARE = 0.2

TEXT = 0.4
"""The weight of the whole text of a document or a setting, which is usually longer than code."""


def fused_hits(
    found: Candidates, vector_scores: VectorScores, limit: int | None = None
) -> list[Hit]:
    """Return items by lexical score and similarity, best first.

    Ties are ordered by path and line.
    """
    hits = found.hits
    scores = _item_scores(found, vector_scores)
    least = min(sorted(scores, reverse=True)[:limit], default=0.0)
    return by_score(
        hit._replace(score=score) for hit, score in zip(hits, scores, strict=True) if score >= least
    )[:limit]


def _item_scores(found: Candidates, vector_scores: VectorScores) -> list[float]:
    if found.question.is_task:
        from treadle.code.retrieval.task_ranking import (
            score_items,  # imported late, since only tasks need it
        )

        return score_items(found, vector_scores)
    scores = own_scores(found.hits, vector_scores.own or {})
    files = _file_scores(found, scores)
    part = _FILE / (max(files.values(), default=0.0) or 1.0)
    return [
        score + part * files[hit.file_id] * hit.worth
        for hit, score in zip(found.hits, scores, strict=True)
    ]


def own_scores(
    hits: Sequence[Hit], own: Similarities, similarity: float = SIMILARITY
) -> list[float]:
    """Return the score of each hit by its words and its vector. The best score is 1."""
    words = [hit.score for hit in hits]
    similar = [hit.worth * max(own.get(hit.item_id, 0.0), 0.0) for hit in hits]
    scores = _share_of_both(words, similar, similarity if own else 0.0)
    most = max(scores, default=0.0) or 1.0
    return [score / most for score in scores]


def _share_of_both(
    words: Sequence[float], similar: Sequence[float], similarity: float
) -> list[float]:
    """Combine two scores, each as a fraction of its best value.

    `similarity` is the weight of the second score. Scores are combined instead of ranks, since the
    differences between scores contain more information than ranks (docs/decisions/0057).
    """
    of_words = (1 - similarity) / (max(words, default=0.0) or 1.0)
    of_similar = similarity / (max(similar, default=0.0) or 1.0)
    return [of_words * one + of_similar * other for one, other in zip(words, similar, strict=True)]


def _file_scores(found: Candidates, scores: Sequence[float]) -> dict[int, float]:
    """Return the scores of files by id, from their best items and from their whole text.

    `scores` are the scores of the hits. The result has all files with hits.
    """
    question = found.question
    paths = {hit.file_id: hit.file for hit in found.hits}
    paths.update((file.id, file.path) for file in found.files)
    boosts = {number: test_weight(path, question) for number, path in paths.items()}
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
    """Return scores divided by the best score."""
    most = max(scores.values(), default=0.0) or 1.0
    return {key: score / most for key, score in scores.items()}


def by_items(hits: Sequence[Hit], scores: Sequence[float], next_items: int) -> dict[int, float]:
    """Return the score of each file by id.

    It is the score of the best item in the file, plus a fraction of the scores of the `next_items`
    items after it.
    """
    by_file: dict[int, list[float]] = {}
    for hit, score in zip(hits, scores, strict=True):
        by_file.setdefault(hit.file_id, []).append(score)
    found: dict[int, float] = {}
    for number, of_file in by_file.items():
        best, *remaining = sorted(of_file, reverse=True)[: 1 + next_items]
        found[number] = best + _NEXT_SHARE * sum(remaining)
    return found


def _by_text(files: Iterable[WholeFile]) -> dict[int, float]:
    """Return the BM25 score of each file by id, times the weight of the file."""
    found: dict[int, float] = {}
    for file in files:
        _, _, worth = path_weights(file.path, file.origin)
        found[file.id] = file.score * worth * (TEXT if file.is_text else 1.0)
    return found


def test_weight(path: str, question: Question) -> float:
    """Return the weight of the file at `path`.

    Tests have a smaller weight if the query does not ask for tests.
    """
    return 1.0 if question.wants_tests or not is_test(path) else _TEST_FILE


def rank_items(found: Candidates, vector_scores: VectorScores, limit: int) -> list[Hit]:
    """Return the best `limit` items: exact definitions first, then all others by score."""
    hits = fused_hits(found, vector_scores, limit)
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
    """Return `hits` in a new order, with half of the score for copies of another hit.

    A copy has the name and kind of its original, and a path that ends in the whole path of the
    original. If the path of the original has only one part, both items must also have the same
    length.
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
