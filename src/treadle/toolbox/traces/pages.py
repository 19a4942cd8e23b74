"""Fits lists into the token budget of an answer, and states how to get the rest."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from treadle.tokens import estimate
from treadle.toolbox.answers import if_any, most_that_fit, written
from treadle.toolbox.traces.trace_tool import AnswerPart, TraceResult
from treadle.traces.query import Page

PREVIEWS = (160, 80, 40, 0)
"""The lengths of recorded texts in a row that `fitted` tries until all rows fit."""
_SOME_CURSOR = "0" * 64
"""A cursor of the greatest length, for the estimate."""

Row = TypeVar("Row")
R = TypeVar("R", bound=TraceResult)


class Pagination(AnswerPart):
    """The part of a list in an answer.

    `total` is null if counting takes long. `returned` may be less than `limit`. `next_cursor`
    continues after the last row, and stays correct while spans arrive.
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
    """The answer that `build` creates from rows, the length of their texts, and the page.

    `read` returns at most the given number of rows from the requested position.
    """
    page = read(limit)

    def built(count: int, characters: int) -> R:
        cursor = page.pagination.next_cursor if count == len(page.data) else _SOME_CURSOR
        pagination = Pagination(
            offset=offset,
            limit=limit,
            total=page.pagination.total,
            returned=count,
            next_cursor=cursor if count else None,
        )
        return build(page.data[:count], characters, pagination)

    def tokens(count: int, characters: int) -> int:
        return estimate(written(built(count, characters)))

    for characters in PREVIEWS:
        if tokens(len(page.data), characters) <= most_tokens:
            return built(len(page.data), characters)
    count = most_that_fit(len(page.data), lambda count: tokens(count, PREVIEWS[-1]), most_tokens)
    while count:
        page = read(count)  # so that its cursor continues after the shown rows
        if tokens(len(page.data), PREVIEWS[-1]) <= most_tokens:
            return built(len(page.data), PREVIEWS[-1])
        count -= 1  # other spans arrived meanwhile
    return built(0, PREVIEWS[-1])


def rest(pagination: Pagination, noun: str) -> str | None:
    """A sentence about how to get the other rows; None if there are no others."""
    following = pagination.offset + pagination.returned
    left = None if pagination.total is None else pagination.total - following
    if pagination.next_cursor is None and not left:
        return None
    if not pagination.returned:
        return f"No {noun} fits: call again with a larger maxTokens."
    if pagination.next_cursor is not None:
        return "More follow: call again with cursor set to pagination.next_cursor."
    return f"{left:,} more: call again with offset {following}."


Counts = Mapping[str, int]


def filled(lengths: Mapping[str, int], build: Callable[[Counts], R], most_tokens: int) -> R:
    """The answer that `build` creates from the longest lists that fit.

    The lists are in order of importance. All of them grow together by one entry, until the next
    entry of each does not fit.
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
    """The largest number of entries for which all lists fit."""

    def shares(count: int) -> dict[str, int]:
        return {name: min(length, count) for name, length in full.items()}

    longest = max(full.values(), default=0)
    return shares(most_that_fit(longest, lambda count: _tokens(build(shares(count))), most_tokens))


def left_out(full: Counts, shown: Counts) -> dict[str, int] | None:
    """The number of omitted entries by list; None if all are shown."""
    return {name: full[name] - shown[name] for name in full if shown[name] < full[name]} or None


def _tokens(result: TraceResult) -> int:
    return estimate(written(result))
