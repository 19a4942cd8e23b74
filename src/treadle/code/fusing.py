"""One score of what words and vectors say of a candidate."""

from collections.abc import Sequence
from typing import NamedTuple

from treadle.code.ranking import Alike, Hit, Similarities, by_score

LIKENESS = 0.4
"""The part of the score of an item that is its similarity, where vectors are known."""


class Features(NamedTuple):
    """What is known of candidates: in each field a number for each of them.

    `words` is the score by words, with what an item is worth before a word of it is read, which is
    `worth` alone; `similarity` is 0 where it is not known.
    """

    words: Sequence[float]
    similarity: Sequence[float]
    worth: Sequence[float]


def fused(features: Features) -> list[float]:
    """The scores of candidates: words and similarity, each as a share of its best.

    How far apart candidates are says more than their ranks: on tuning queries 0.633 NDCG@10,
    reciprocal rank fusion 0.596, words alone 0.623 (docs/decisions/0016).
    """
    of_words = (1 - LIKENESS) / (max(features.words, default=0.0) or 1.0)
    of_likeness = LIKENESS / (max(features.similarity, default=0.0) or 1.0)
    return [
        of_words * words + of_likeness * worth * (similarity if similarity > 0 else 0.0)
        for words, similarity, worth in zip(*features, strict=True)
    ]


def fused_hits(hits: Sequence[Hit], alike: Alike, limit: int | None = None) -> list[Hit]:
    """What was found by words and by vectors, the best first, at most `limit`."""
    if alike.own:
        worth = [hit.worth for hit in hits]
        hits = _best(hits, alike.own, worth, None if alike.best else limit)
    if alike.best:
        hits = _best(hits, alike.best, [1.0] * len(hits), limit)
    return list(hits)


def _best(
    hits: Sequence[Hit], similarities: Similarities, worth: Sequence[float], limit: int | None
) -> list[Hit]:
    """The best with their new scores, ties by path and line."""
    similarity = [similarities.get(hit.item_id, 0.0) for hit in hits]
    scores = fused(Features([hit.score for hit in hits], similarity, worth))
    least = min(sorted(scores, reverse=True)[:limit], default=0.0)
    return by_score(
        hit._replace(score=score) for hit, score in zip(hits, scores, strict=True) if score >= least
    )[:limit]
