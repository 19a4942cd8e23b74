"""Measures of a ranking: NDCG@10, recall and mean reciprocal rank, with intervals."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2
from statistics import fmean

_RESAMPLES = 1_000
_SEED = 7

Rank = int | None
"""Rank of the one right answer, from 1; None if it is missing."""


def ndcg(rank: Rank) -> float:
    return 1 / log2(rank + 1) if rank is not None and rank <= 10 else 0.0


def recall_at(depth: int) -> Callable[[Rank], float]:
    return lambda rank: float(rank is not None and rank <= depth)


def reciprocal(rank: Rank) -> float:
    return 1 / rank if rank else 0.0


MEASURES: dict[str, Callable[[Rank], float]] = {
    "NDCG@10": ndcg,
    "recall@1": recall_at(1),
    "recall@10": recall_at(10),
    "MRR": reciprocal,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over queries and the middle 95 % of the means of resampled queries (bootstrap)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.2f}–{self.high:.2f})"  # noqa: RUF001  (a range)


def measured(values: Sequence[float]) -> Measured:
    """The mean with its interval; the same for the same values."""
    draw = random.Random(_SEED)
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    return Measured(fmean(values), means[_RESAMPLES // 40], means[-_RESAMPLES // 40])


def row(label: str, ranks: Sequence[Rank]) -> str:
    """A line of the table: the first measure with its interval, the others as means."""
    first, *others = MEASURES.values()
    cells = [str(measured([first(rank) for rank in ranks]))]
    cells += [f"{fmean(measure(rank) for rank in ranks):.3f}" for measure in others]
    return f"| {label} | {' | '.join(cells)} |"
