"""Pages of lists: as many rows as go into the tokens of the answer, and where the rest is."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from treadle.tokens import estimate
from treadle.toolbox.answers import if_any, written
from treadle.toolbox.budget import most_that_fit
from treadle.toolbox.traces.results import Told, TraceResult
from treadle.traces.query import Page

PREVIEWS = (160, 80, 40, 0)
"""Characters of recorded texts in a row: the most with which all rows fit."""
_SOME_CURSOR = "0" * 64
"""As long as a real one may be, to reckon with."""

Row = TypeVar("Row")
R = TypeVar("R", bound=TraceResult)


class Pagination(Told):
    """Which part of a list this is.

    `total` is null where counting takes long; `returned` may be less than `limit` asks for.
    `next_cursor` goes on behind the last row, and stays right while spans arrive.
    """

    offset: int
    limit: int
    total: int | None
    returned: int
    next_cursor: str | None = if_any()


def fitted(
    read: Callable[[int], Page[Row]],
    build: Callable[[Sequence[Row], int, Pagination], R],
    *,
    limit: int,
    offset: int,
    most_tokens: int,
) -> R:
    """The answer that `build` makes of rows, characters of a text, and the place in the list.

    `read` gives at most so many rows from the place that is asked for.
    """
    page = read(limit)

    def built(count: int, characters: int) -> R:
        cursor = page.pagination.next_cursor if count == len(page.data) else _SOME_CURSOR
        place = Pagination(
            offset=offset,
            limit=limit,
            total=page.pagination.total,
            returned=count,
            next_cursor=cursor if count else None,
        )
        return build(page.data[:count], characters, place)

    def tokens(count: int, characters: int) -> int:
        return estimate(written(built(count, characters)))

    for characters in PREVIEWS:
        if tokens(len(page.data), characters) <= most_tokens:
            return built(len(page.data), characters)
    count = most_that_fit(len(page.data), lambda count: tokens(count, PREVIEWS[-1]), most_tokens)
    while count:
        page = read(count)  # so that its cursor goes on behind what is shown
        if tokens(len(page.data), PREVIEWS[-1]) <= most_tokens:
            return built(len(page.data), PREVIEWS[-1])
        count -= 1  # other spans arrived meanwhile
    return built(0, PREVIEWS[-1])


def rest(place: Pagination, noun: str) -> str | None:
    """How to get the rows that are not shown; None where there are none."""
    following = place.offset + place.returned
    left = None if place.total is None else place.total - following
    if place.next_cursor is None and not left:
        return None
    if not place.returned:
        return f"No {noun} fits: call again with a larger maxTokens."
    if place.next_cursor is not None:
        return "More follow: call again with cursor set to pagination.next_cursor."
    return f"{left:,} more: call again with offset {following}."
