"""Computes paired differences with bootstrap intervals, and changes in percent."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

RESAMPLES = 10_000
CONFIDENCE = 0.95
MIN_PAIRS = 5
"""The minimum number of pairs for an interval. Resampling fewer pairs is meaningless."""

_SEED = 20_260_101
"""The seed of the resampling. It is fixed, so that the same runs always have the same interval."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a figure between two variants, `new` minus `base`, over `n` pairs.

    `base` and `new` are the means of the figure over the pairs, and `mean` is the mean difference.
    Without pairs, `base` and `new` are the means of all known values of the base and of the
    variant, and `mean` and `percent` are None. `low` and `high` are the ends of the 95 % confidence
    interval of the mean difference. They are None for fewer than `MIN_PAIRS` pairs. `percent` is
    `mean` in percent of `base`. It is None if `base` is unknown or 0.
    """

    n: int
    base: float | None
    new: float | None
    mean: float | None
    low: float | None
    high: float | None
    percent: float | None


def difference(
    pairs: Sequence[tuple[float | None, float | None]],
    *,
    base_alone: Sequence[float] = (),
    new_alone: Sequence[float] = (),
) -> Difference:
    """The difference over the pairs in which both figures are known.

    If there is no such pair, the result has the means of `base_alone` and `new_alone`. These are
    all known values of the base and of the variant.
    """
    known = [(base, new) for base, new in pairs if base is not None and new is not None]
    if not known:
        base_mean = _mean(base_alone) if base_alone else None
        new_mean = _mean(new_alone) if new_alone else None
        return Difference(0, base_mean, new_mean, None, None, None, None)
    base = _mean([pair[0] for pair in known])
    new = _mean([pair[1] for pair in known])
    low, high = interval([pair[1] - pair[0] for pair in known])
    return Difference(len(known), base, new, new - base, low, high, percent_change(base, new))


def percent_change(base: float | None, new: float | None) -> float | None:
    """The change from `base` to `new` in percent.

    It is None if a value is unknown or the base is 0.
    """
    if base is None or new is None or base == 0:
        return None
    return (new - base) / base * 100


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The bootstrap interval of the mean. Its ends are None for fewer than `MIN_PAIRS` values.

    It is the expanded percentile interval (Hesterberg 2015, "What Teachers Should Know About the
    Bootstrap", section 5.2). The plain percentile interval is too narrow for few values.
    """
    if len(values) < MIN_PAIRS:
        return None, None
    import numpy

    given = numpy.asarray(values, dtype=numpy.float64)
    draws = numpy.random.default_rng(_SEED).integers(0, given.size, (RESAMPLES, given.size))
    means = given[draws].mean(axis=1)
    tail = expanded_tail(given.size)
    low, high = numpy.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def expanded_tail(count: int) -> float:
    """The share of the resampled means that are below the interval of `count` values.

    The same share is above it.
    """
    spread = (count / (count - 1)) ** 0.5
    return NormalDist().cdf(-spread * _student(count - 1))


def _student(degrees: int) -> float:
    """The quantile of Student's distribution for a two-sided interval with the share `CONFIDENCE`.

    The approximation is formula 26.7.5 of Abramowitz and Stegun.
    """
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum((term / float(degrees**power) for power, term in enumerate(terms)), 0.0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
