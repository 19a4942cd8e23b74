"""What took far longer, or cost far more, than its likes: by medians, which outliers do not move.

A value is compared with those of its group on a logarithmic scale, since times and costs are skew:
how far it is from the median, in units of the median absolute deviation times 1.4826 (which is the
standard deviation where they are normal; Iglewicz and Hoaglin 1993 name 3.5 as the bound).
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, TypeVar

LEAST = 5
"""Values that a group needs before anything in it can be called an outlier."""
FAR = 3.5
"""Deviations from the median from which on a value is one."""
LEAST_RATIO = 2.0
"""Times the median that it must be besides: what always takes the same is soon "far"."""
LEAST_SCALE = 0.2
"""The least deviation, of the logarithm: likes that hardly differ are no measure."""
_CONSISTENT = 1.4826

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Usual:
    """What is usual among `n` values: their median, and the deviation of their logarithms."""

    n: int
    median: float
    scale: float

    def distance(self, value: float) -> float:
        """How many deviations `value` is above the median; negative below."""
        return (math.log(value) - math.log(self.median)) / self.scale

    def is_far(self, value: float) -> bool:
        """Whether `value` is an outlier upwards."""
        ratio = value / self.median
        return self.n >= LEAST and ratio >= LEAST_RATIO and self.distance(value) >= FAR


@dataclass(frozen=True, slots=True)
class Outlier(Generic[T]):
    """Something whose value is far above what is usual among its likes."""

    item: T
    value: float
    usual: Usual

    @property
    def times(self) -> float:
        """How many times the median it is."""
        return self.value / self.usual.median

    @property
    def excess(self) -> float:
        """How much it is above the median."""
        return self.value - self.usual.median


def usual(values: Sequence[float]) -> Usual | None:
    """What is usual among the positive ones of `values`; None where there is none."""
    logarithms = [math.log(value) for value in values if value > 0]
    if not logarithms:
        return None
    middle = median(logarithms)
    deviation = _CONSISTENT * median(abs(each - middle) for each in logarithms)
    return Usual(len(logarithms), math.exp(middle), max(deviation, LEAST_SCALE))


def outliers(
    items: Iterable[tuple[Key, T, float]], others: Iterable[tuple[Key, float]] = ()
) -> tuple[Outlier[T], ...]:
    """The items of (group, item, value) that are far above their group, the farthest first.

    `others` are values of the same groups that only say what is usual.
    """
    kept = [each for each in items if each[2] > 0]
    values: dict[Key, list[float]] = defaultdict(list)
    for key, _, value in kept:
        values[key].append(value)
    for key, value in others:
        if key in values:
            values[key].append(value)
    groups = {key: usual(each) for key, each in values.items()}
    found: list[Outlier[T]] = []
    for key, item, value in kept:
        group = groups[key]
        if group is not None and group.is_far(value):
            found.append(Outlier(item, value, group))
    return tuple(sorted(found, key=lambda each: -each.usual.distance(each.value)))
