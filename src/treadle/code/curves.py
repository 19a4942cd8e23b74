"""A learnt ranking: each signal has a step function of its own, and a score is their sum.

`curves.json` holds the functions. `bench.tasks` fits them to the history of repositories
(docs/context.md). They are plain data: a signal can be read, drawn, or taken out alone.
"""

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

PLACE = Path(__file__).with_name("curves.json")

Columns = Mapping[str, Sequence[float]]
"""By the name of a signal, a figure for each candidate."""


class Curve(NamedTuple):
    """A step function: `values[n]` is its value where n of the rising `steps` are smaller."""

    steps: tuple[float, ...]
    values: tuple[float, ...]


class Curves(NamedTuple):
    """The curves of one kind of candidates, by the name of the signal."""

    by_signal: Mapping[str, Curve]

    @classmethod
    def read(cls, text: str) -> Mapping[str, Self]:
        """The curves of files and of items, by `files` and `items`."""
        return {
            kind: cls({name: Curve(*map(tuple, curve)) for name, curve in curves.items()})
            for kind, curves in json.loads(text).items()
        }

    def scores(self, columns: Columns, count: int) -> list[float]:
        """A score for each of `count` candidates, which only their order gives a meaning."""
        totals = [0.0] * count
        for name, (steps, values) in self.by_signal.items():
            totals = [
                total + values[bisect_left(steps, figure)]
                for total, figure in zip(totals, columns[name], strict=True)
            ]
        return totals


@cache
def shipped() -> Mapping[str, Curves]:
    """The curves that Treadle ships: of `files` and of `items`."""
    return Curves.read(PLACE.read_text("utf-8"))
