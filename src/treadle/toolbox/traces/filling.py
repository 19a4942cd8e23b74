"""An answer of several lists within so many tokens: each gets a share, what weighs most first."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from treadle.tokens import estimate
from treadle.toolbox.answers import written
from treadle.toolbox.budget import most_that_fit
from treadle.toolbox.traces.results import TraceResult

R = TypeVar("R", bound=TraceResult)
Counts = Mapping[str, int]


def filled(lengths: Mapping[str, int], build: Callable[[Counts], R], most_tokens: int) -> R:
    """What `build` makes of the largest shares of lists, named in order of weight, that fit.

    All lists grow together, one entry at a time; one that has no room for its next is full.
    """
    full = dict(lengths)
    result = build(full)
    if _tokens(result) <= most_tokens:
        return result
    counts = _even(full, build, most_tokens)
    growing = [name for name in full if counts[name] < full[name]]
    while growing:
        for name in tuple(growing):
            more = {**counts, name: counts[name] + 1}
            if counts[name] < full[name] and _tokens(build(more)) <= most_tokens:
                counts = more
            else:
                growing.remove(name)
    return build(counts)


def _even(full: Counts, build: Callable[[Counts], R], most_tokens: int) -> dict[str, int]:
    """As many entries of each list as all of them have room for."""

    def shares(count: int) -> dict[str, int]:
        return {name: min(length, count) for name, length in full.items()}

    longest = max(full.values(), default=0)
    return shares(most_that_fit(longest, lambda count: _tokens(build(shares(count))), most_tokens))


def left_out(full: Counts, shown: Counts) -> dict[str, int] | None:
    """How many entries of which list are not shown; None where all are."""
    return {name: full[name] - shown[name] for name in full if shown[name] < full[name]} or None


def _tokens(result: TraceResult) -> int:
    return estimate(written(result))
