"""Paired differences with bootstrap intervals, and the change in percent."""

from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 4_000
CONFIDENCE = 0.95
LEAST_PAIRS = 5
"""Pairs below which no interval is given: resampling fewer shows far too narrow ones."""

_SEED = 20_260_101
"""Always the same, so that the same runs give the same interval."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How a figure differs between two variants, `new` minus `base`, over `n` pairs.

    `base`, `new` and `mean` are means over the pairs. `low` and `high` bound the mean difference
    with 95 % confidence, None below `LEAST_PAIRS` pairs. `percent` is `mean` in percent of `base`,
    None where that is unknown or 0.
    """

    n: int
    base: float | None
    new: float | None
    mean: float | None
    low: float | None
    high: float | None
    percent: float | None


def difference(pairs: Sequence[tuple[float | None, float | None]]) -> Difference:
    """The difference over those pairs of which both figures are known."""
    known = [(base, new) for base, new in pairs if base is not None and new is not None]
    if not known:
        return Difference(0, None, None, None, None, None, None)
    base = _mean([pair[0] for pair in known])
    new = _mean([pair[1] for pair in known])
    low, high = interval([pair[1] - pair[0] for pair in known])
    return Difference(len(known), base, new, new - base, low, high, percent_change(base, new))


def percent_change(base: float | None, new: float | None) -> float | None:
    """From `base` to `new` in percent; None where either is unknown or the base is 0."""
    if base is None or new is None or base == 0:
        return None
    return (new - base) / base * 100


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The percentile bootstrap interval of the mean (Efron and Tibshirani 1993, chapter 13)."""
    if len(values) < LEAST_PAIRS:
        return None, None
    import numpy

    given = numpy.asarray(values, dtype=numpy.float64)
    draws = numpy.random.default_rng(_SEED).integers(0, given.size, (RESAMPLES, given.size))
    means = given[draws].mean(axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = numpy.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
