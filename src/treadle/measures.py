"""Counters and histograms of a running process.

Recording a value takes less than a microsecond, and needs no other library. The server converts the
values to the text format of Prometheus only when a client requests them.
"""

from bisect import bisect_left
from collections.abc import Iterable

SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""The upper bounds of the buckets of durations."""
MAX_NAMES = 100
"""The maximum number of names of one kind, such as models, that are counted separately."""
OTHER = "other"
"""The label under which all further names are counted together."""

Labels = tuple[str, ...]


class Histogram:
    """The number of values in each bucket, and the sum of all values."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value in its bucket."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def cumulated(self) -> list[tuple[str, float]]:
        """Return the upper bound of each bucket, and the number of values up to that bound."""
        total, cumulated = 0, []
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            cumulated.append((bound, float(total)))
        return cumulated


class Counter:
    """An amount for each combination of labels. Only one thread may add to a counter."""

    __slots__ = ("_amounts",)

    def __init__(self) -> None:
        self._amounts: dict[Labels, float] = {}

    def add(self, labels: Labels = (), amount: float = 1.0) -> None:
        """Increase the amount of a combination of labels."""
        self._amounts[labels] = self._amounts.get(labels, 0.0) + amount

    def items(self) -> Iterable[tuple[Labels, float]]:
        """Return a copy of the amounts."""
        return tuple(self._amounts.items())


class Histograms:
    """A histogram for each combination of labels. Only one thread may add values."""

    __slots__ = ("_histograms",)

    def __init__(self) -> None:
        self._histograms: dict[Labels, Histogram] = {}

    def observe(self, labels: Labels, value: float) -> None:
        """Count a value for a combination of labels."""
        histogram = self._histograms.get(labels)
        if histogram is None:
            histogram = self._histograms[labels] = Histogram()
        histogram.observe(value)

    def items(self) -> Iterable[tuple[Labels, Histogram]]:
        """Return a copy of the mapping."""
        return tuple(self._histograms.items())


class Names:
    """Limits the number of names that become labels.

    Clients choose some names. Without a limit, they could fill the memory with counters.
    """

    def __init__(self, most: int = MAX_NAMES) -> None:
        self._most = most
        self._known: set[str] = set()

    def label(self, name: str, *, add: bool = True) -> str:
        """Return `name` if it is one of the first `MAX_NAMES` names. Otherwise return `OTHER`.

        If `add` is false, a new name is not added to these names.
        """
        if name in self._known:
            return name
        if not add or len(self._known) >= self._most:
            return OTHER
        self._known.add(name)
        return name
