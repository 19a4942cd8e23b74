"""Helpers for tool results: optional fields, JSON output, and lists that fit a token budget."""

import json
from bisect import bisect_right
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, Field

from treadle.tools.contract import TokenBudget
from treadle.visible import in_json


def if_any(alias: str | None = None) -> Any:
    """Declare a result field that is left out of the JSON if its value is None or an empty tuple.

    `alias` is the name of the field in the JSON, if the JSON uses another name.
    """
    return Field(default=None, serialization_alias=alias, exclude_if=_nothing)


def _nothing(value: object) -> bool:
    return value is None or value == ()


def written(result: BaseModel, *, without_none: bool = False) -> str:
    """Return a result as JSON, including fields that are null unless `without_none`.

    Ids and labels stay exact, since callers pass them back to tools. Hidden characters, such as
    direction marks, are written as JSON escapes.
    """
    values = result.model_dump(mode="json", by_alias=True, exclude_none=without_none)
    return in_json(json.dumps(values, ensure_ascii=False, separators=(",", ":")))


DEFAULT_TOKENS = 4_000
"""The default token budget of a tool message."""
BRIEF_TOKENS = 1_500
"""The default token budget of a result with recorded data.

This budget is smaller than `DEFAULT_TOKENS`, since a conversation has several such results.
"""


MaxTokens = Annotated[
    int,
    Field(ge=200, le=100_000, description="Maximum tokens of the answer."),
    TokenBudget(),
]
"""The type of the argument that sets the token budget of a result."""


def most_that_fit(count: int, tokens: Callable[[int], int], budget: int) -> int:
    """Return the largest number up to `count` for which `tokens(number)` is at most `budget`.

    The search assumes that `tokens` grows with the number. If the number that the search finds does
    not fit, the next smaller numbers are tried. The result may be 0 even if `tokens(0)` exceeds the
    budget.
    """
    most = bisect_right(range(1, count + 1), budget, key=tokens)
    while most > 0 and tokens(most) > budget:
        most -= 1
    return most
