"""How much of a list goes into a tool message of so many tokens."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from treadle.tools.contract import TokenBudget

DEFAULT_TOKENS = 4_000
"""Tokens of a tool message unless the call says otherwise."""
BRIEF_TOKENS = 1_500
"""The same for answers about what is recorded, several of which go into one conversation."""


MaxTokens = Annotated[
    int,
    Field(ge=200, le=100_000, description="Maximum tokens of the answer."),
    TokenBudget(),
]
"""The argument of a tool whose output is cut at a number of tokens."""


def most_that_fit(count: int, tokens: Callable[[int], int], budget: int) -> int:
    """The largest number up to `count` for which `tokens(number)` is at most `budget`.

    `tokens` should grow with the number; a few steps back are taken where it does not quite.
    May be 0, also when `tokens(0)` is above the budget.
    """
    most = bisect_right(range(1, count + 1), budget, key=tokens)
    while most > 0 and tokens(most) > budget:
        most -= 1
    return most
