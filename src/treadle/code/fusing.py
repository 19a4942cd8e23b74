"""One score of what words, vectors and names say of a candidate."""

from collections.abc import Sequence
from typing import NamedTuple

from treadle.code.ranking import Alike, Found, Hit, by_score, test_prior, worth

LIKENESS = 0.4
"""The part of the score of an item that is its similarity, where vectors are known."""


class Features(NamedTuple):
    """What is known of a candidate.

    `words` is its score by words, with what it is worth by its kind and its place in it; `prior` is
    that worth alone; `similarity` is None where it is not known.
    """

    words: float
    similarity: float | None
    prior: float


def fused(candidates: Sequence[Features]) -> list[float]:
    """The scores of candidates: words and similarity, each as a share of its best.

    How far apart candidates are says more than their ranks: on tuning queries 0.633 NDCG@10,
    reciprocal rank fusion 0.596, words alone 0.623 (docs/decisions/0016).
    """
    words = max((candidate.words for candidate in candidates), default=0.0) or 1.0
    alike = max((candidate.similarity or 0.0 for candidate in candidates), default=0.0) or 1.0
    return [
        (1 - LIKENESS) * candidate.words / words
        + LIKENESS * candidate.prior * max(0.0, candidate.similarity or 0.0) / alike
        for candidate in candidates
    ]


def fused_hits(found: Found, alike: Alike) -> list[Hit]:
    """What was found by words and by vectors, the best first."""
    hits = found.hits
    if alike.own:
        tests = test_prior(found.query)
        like = alike.own.get
        hits = _scored(
            [(hit, Features(hit.score, like(hit.item_id), worth(hit, tests))) for hit in hits]
        )
    if alike.best:
        like = alike.best.get
        hits = _scored([(hit, Features(hit.score, like(hit.item_id), 1.0)) for hit in hits])
    return hits


def _scored(candidates: Sequence[tuple[Hit, Features]]) -> list[Hit]:
    scores = fused([features for _, features in candidates])
    return by_score(
        hit._replace(score=score) for (hit, _), score in zip(candidates, scores, strict=True)
    )
