"""One score of what words and vectors say of a candidate."""

from collections.abc import Sequence
from typing import NamedTuple

from treadle.code.ranking import Alike, Hit, Similarities, by_score

OWN_LIKENESS = 0.7
"""The part of the score of an item that is its similarity by the own embedding.

From 0.7 to 0.8 the mean of 1,500 tuning queries in five languages is the same within 0.002, at 0.6
it is 0.004 lower (docs/decisions/0057). The least of these, since the sentences of doc comments,
which those queries are, suit the embedding better than what people type.
"""
LIKENESS_ON_TOP = 0.4
"""The part that is its similarity by an embedder on top (docs/decisions/0016)."""


class Features(NamedTuple):
    """What is known of candidates: in each field a number for each of them.

    `words` is the score by words, with what an item is worth before a word of it is read, which is
    `worth` alone; `similarity` is 0 where it is not known.
    """

    words: Sequence[float]
    similarity: Sequence[float]
    worth: Sequence[float]


def fused(features: Features, likeness: float) -> list[float]:
    """The scores of candidates: words and similarity, each as a share of its best.

    `likeness` is the part of the similarity. How far apart candidates are says more than their
    ranks, and weights that are learnt for more features gained nothing (docs/decisions/0016, 0057).
    """
    of_words = (1 - likeness) / (max(features.words, default=0.0) or 1.0)
    of_likeness = likeness / (max(features.similarity, default=0.0) or 1.0)
    return [
        of_words * words + of_likeness * worth * (similarity if similarity > 0 else 0.0)
        for words, similarity, worth in zip(*features, strict=True)
    ]


def fused_hits(hits: Sequence[Hit], alike: Alike, limit: int | None = None) -> list[Hit]:
    """What was found by words and by vectors, the best first, at most `limit`."""
    if alike.own:
        worth = [hit.worth for hit in hits]
        hits = _best(hits, alike.own, worth, OWN_LIKENESS, None if alike.best else limit)
    if alike.best:
        hits = _best(hits, alike.best, [1.0] * len(hits), LIKENESS_ON_TOP, limit)
    return list(hits)


def _best(
    hits: Sequence[Hit],
    similarities: Similarities,
    worth: Sequence[float],
    likeness: float,
    limit: int | None,
) -> list[Hit]:
    """The best with their new scores, ties by path and line."""
    similarity = [similarities.get(hit.item_id, 0.0) for hit in hits]
    scores = fused(Features([hit.score for hit in hits], similarity, worth), likeness)
    least = min(sorted(scores, reverse=True)[:limit], default=0.0)
    return by_score(
        hit._replace(score=score) for hit, score in zip(hits, scores, strict=True) if score >= least
    )[:limit]
