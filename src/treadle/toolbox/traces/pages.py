"""Pages of lists: as many rows as go into the tokens of the answer, and where the rest is."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from treadle.tokens import estimate
from treadle.toolbox.answers import if_any, written
from treadle.toolbox.budget import most_that_fit
from treadle.toolbox.traces.trace_tool import AnswerPart, TraceResult
from treadle.traces.query import Page

PREVIEWS = (160, 80, 40, 0)
"""Characters of recorded texts in a row: the most with which all rows fit."""
_SOME_CURSOR = "0" * 64
"""As long as a real one may be, to reckon with."""

Row = TypeVar("Row")
R = TypeVar("R", bound=TraceResult)


class Pagination(AnswerPart):
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
