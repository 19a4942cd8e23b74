"""Fits lists into the token budget of a result, and states how to get the rest."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from treadle.tokens import estimate
from treadle.toolbox.answers import if_any, most_that_fit, written
from treadle.toolbox.traces.trace_tool import AnswerPart, TraceResult
from treadle.traces.query import Page

PREVIEWS = (160, 80, 40, 0)
"""The maximum lengths of recorded texts in characters.

`fitted` tries these lengths in this order until all rows fit. If the rows do not fit with the last
length either, `fitted` returns fewer rows.
"""
_SOME_CURSOR = "0" * 64
"""A cursor of the maximum length, to estimate the size of a result."""

Row = TypeVar("Row")
R = TypeVar("R", bound=TraceResult)


class Pagination(AnswerPart):
    """The position of the returned rows in the whole list.

    `total` is null if counting takes too long. `returned` is less than `limit` if the list ends or
    more rows do not fit. `next_cursor` selects the rows after the last returned row. The cursor
    stays correct while new spans arrive.
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
    """Read a part of a list, and build a result that fits into `most_tokens`.

    `read` returns at most the given number of rows from the requested position. `build` gets the
    rows, the maximum length of their texts, and the pagination.
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

    if tokens(len(page.data), PREVIEWS[-1]) <= most_tokens:
        for characters in PREVIEWS:
            if tokens(len(page.data), characters) <= most_tokens:
                return built(len(page.data), characters)
    count = most_that_fit(len(page.data), lambda count: tokens(count, PREVIEWS[-1]), most_tokens)
    while count:
        page = read(count)  # read again, so that the cursor continues after the last returned row
        if tokens(len(page.data), PREVIEWS[-1]) <= most_tokens:
            return built(len(page.data), PREVIEWS[-1])
        count -= 1  # new, longer rows arrived meanwhile
    return built(0, PREVIEWS[-1])


def rest(pagination: Pagination, noun: str) -> str | None:
    """Return a sentence that states how to get the other rows, or None if there are none."""
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
    """Build a result whose lists are as long as the token budget allows.

    `lengths` has the full length of each list, the most important list first. `build` gets the
    number of entries of each list. First, all lists get the same number of entries. Then each list
    grows by one entry in turn, until no further entry fits.
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
    """Give all lists the same number of entries, as many as fit. Shorter lists stay complete."""

    def shares(count: int) -> dict[str, int]:
        return {name: min(length, count) for name, length in full.items()}

    longest = max(full.values(), default=0)
    return shares(most_that_fit(longest, lambda count: _tokens(build(shares(count))), most_tokens))


def left_out(full: Counts, shown: Counts) -> dict[str, int] | None:
    """Return the number of omitted entries of each list, or None if no entry is omitted."""
    return {name: full[name] - shown[name] for name in full if shown[name] < full[name]} or None


def _tokens(result: TraceResult) -> int:
    return estimate(written(result))
