"""How tools answer: unknown figures are null, ids stay exact, and lists fit a token budget."""

import json
from bisect import bisect_right
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, Field

from treadle.tools.contract import TokenBudget
from treadle.visible import in_json


def if_any(alias: str | None = None) -> Any:
    """A field that is omitted if it is empty."""
    return Field(default=None, serialization_alias=alias, exclude_if=_nothing)


def _nothing(value: object) -> bool:
    return value is None or value == ()


def written(result: BaseModel) -> str:
    """A result as JSON, with its nulls.

    Ids and labels are exact, since callers pass them back. Hidden characters in them are escaped.
    """
    values = result.model_dump(mode="json", by_alias=True)
    return in_json(json.dumps(values, ensure_ascii=False, separators=(",", ":")))


DEFAULT_TOKENS = 4_000
"""The default token budget of a tool message."""
BRIEF_TOKENS = 1_500
"""The default for results with recorded data. A conversation contains several of them."""


MaxTokens = Annotated[
    int,
    Field(ge=200, le=100_000, description="Maximum tokens of the answer."),
    TokenBudget(),
]
"""The token budget as an argument of a tool."""


def most_that_fit(count: int, tokens: Callable[[int], int], budget: int) -> int:
    """The largest number up to `count` for which `tokens(number)` is at most `budget`.

    `tokens` should grow with the number. If it does not grow everywhere, a few smaller numbers are
    tried. The result may be 0 even if `tokens(0)` exceeds the budget.
    """
    most = bisect_right(range(1, count + 1), budget, key=tokens)
    while most > 0 and tokens(most) > budget:
        most -= 1
    return most
