"""search_spans: finds the spans that contain a text or match a query, with excerpts."""

from typing import Annotated, Unpack

from pydantic import Field

from treadle.events.types import ToolView
from treadle.spans.text_cuts import cut_before, cut_behind
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.traces.pages import Pagination, fitted, rest
from treadle.toolbox.traces.rows import SpanRow, span_row
from treadle.toolbox.traces.trace_tool import (
    Cursor,
    InPeriod,
    Labels,
    Offset,
    Own,
    RunIds,
    Since,
    Statuses,
    ThreadIds,
    TraceResult,
    TraceTool,
    Until,
    Where,
    query_of,
)
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments
from treadle.traces.fencing import quotable
from treadle.traces.query import Field as About
from treadle.traces.query import Page, Part, Query, parse_query
from treadle.traces.store.results import Hit

_SHORTEST_EXCERPT = 60


class SearchSpansArguments(Arguments):
    """The text or query, the filters that select spans, and the part of the list to return."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=10_000,
            description=(
                'Words or a "phrase in quotes" that a span must all contain, and terms such as '
                "status:error, model:gpt*, kind:tool, cost>0.01, duration>5s, -label:test."
            ),
        ),
    ]
    threadIds: ThreadIds = ()
    runIds: RunIds = ()
    labels: Labels = ()
    where: Where = None
    status: Statuses = ()
    period: InPeriod = None
    since: Since = None
    until: Until = None
    own: Own = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of spans.")] = 10
    offset: Offset = 0
    cursor: Cursor = None
    maxTokens: MaxTokens = BRIEF_TOKENS


class FoundSpan(SpanRow):
    """A matching span.

    `excerpt` is a part of its name, input or output. `found_in` states from which of the three the
    excerpt comes.
    """

    found_in: str | None = if_any()
    excerpt: str | None = if_any()


class SearchSpansResult(TraceResult):
    """The matching spans, sorted by their start, newest first."""

    type: str = "found_spans"
    data: list[FoundSpan]
    pagination: Pagination
    more: str | None = if_any()


class SearchSpans(TraceTool[SearchSpansArguments, SearchSpansResult]):
    """Finds spans by their text or by a query."""

    name = "search_spans"
    description = (
        "Find recorded spans by words and phrases in their names, inputs and outputs, ignoring "
        "case, with excerpts. The query may also filter by status, model, kind, cost, duration "
        "and more."
    )
    arguments = SearchSpansArguments
    result = SearchSpansResult

    def answer(self, arguments: SearchSpansArguments, now_us: int) -> SearchSpansResult:
        query = query_of(arguments, now_us, parse_query(arguments.query, now_us=now_us))
        return fitted(
            lambda limit: self._hits(
                query, limit=limit, offset=arguments.offset, cursor=arguments.cursor
            ),
            lambda hits, characters, pagination: SearchSpansResult(
                data=[_found_span(hit, characters) for hit in hits],
                pagination=pagination,
                more=rest(pagination, "span"),
            ),
            limit=arguments.limit,
            offset=arguments.offset,
            most_tokens=arguments.maxTokens,
        )

    def view(self, arguments: SearchSpansArguments, result: SearchSpansResult) -> ToolView:
        return ToolView(
            f"{arguments.query!r}: {counted(result.pagination.returned, 'span')} listed"
        )

    def _hits(self, query: Query, **part: Unpack[Part]) -> Page[Hit]:
        """Return the matching spans. They have no excerpts if the query contains no text."""
        if any(not each.negated for each in query.of(About.TEXT)):
            return self._reader.search(query, **part)
        page = self._reader.spans(query, **part)
        hits = tuple(Hit(span, "name", "", ()) for span in page.data)
        return Page(hits, page.pagination)


def _found_span(hit: Hit, characters: int) -> FoundSpan:
    row = span_row(hit.span, 0).model_dump()
    if not hit.excerpt:
        return FoundSpan(**row)
    return FoundSpan(
        **row, found_in=hit.field, excerpt=_excerpt(hit, max(characters, _SHORTEST_EXCERPT))
    )


def _excerpt(hit: Hit, characters: int) -> str:
    """Return the part of the excerpt around the first match, about `characters` long."""
    text = hit.excerpt
    first, last = hit.ranges[0] if hit.ranges else (0, 0)
    around = max(0, characters - (last - first))
    start = cut_behind(text, max(0, first - around // 3))
    end = cut_before(text, min(len(text), max(start + characters, last)))
    return quotable(text[start:end], limit=2 * characters)
