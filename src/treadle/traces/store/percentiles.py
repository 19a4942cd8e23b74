"""Percentiles of durations by the method of the nearest rank."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from treadle.json_values import JsonField


def milliseconds(microseconds: int | None) -> float | None:
    """Return milliseconds with the microseconds as decimals. None stays None."""
    return None if microseconds is None else microseconds / 1_000


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles of `n` durations, by the method of the nearest rank.

    All percentiles are None if `n` is 0. The JSON has them in milliseconds.
    """

    n: int
    p50_us: Annotated[int | None, JsonField("p50", write=milliseconds)]
    p95_us: Annotated[int | None, JsonField("p95", write=milliseconds)]
    p99_us: Annotated[int | None, JsonField("p99", write=milliseconds)]
    max_us: Annotated[int | None, JsonField("max", write=milliseconds)]


RANKS = (50, 95, 99, 100)
"""The percentiles of `Percentiles`, in percent."""


_MANY_VALUES = 10_000
"""For at least this many durations, numpy finds the percentiles in less time than sorting."""


def percentiles(values: Iterable[int]) -> Percentiles:
    """Return the percentiles of durations in microseconds."""
    every = values if isinstance(values, array) else array("q", values)
    n = len(every)
    if n == 0:
        return Percentiles(0, None, None, None, None)
    ranks = [-(-n * percent // 100) - 1 for percent in RANKS]
    if n < _MANY_VALUES:
        ordered = sorted(every)
        return Percentiles(n, *(ordered[rank] for rank in ranks))
    import numpy

    parts = numpy.partition(numpy.frombuffer(every, numpy.int64), sorted(set(ranks)))
    return Percentiles(n, *(int(parts[rank]) for rank in ranks))
