"""fetch_spans: lists the matching spans, newest first, with previews of their content."""

from typing import Annotated

from pydantic import Field

from treadle.events.types import ToolView
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.traces.pages import Pagination, fitted, rest
from treadle.toolbox.traces.rows import SpanRow, span_row
from treadle.toolbox.traces.trace_tool import (
    Cursor,
    InPeriod,
    Labels,
    Offset,
    OperationNames,
    Own,
    ParentSpanIds,
    RunIds,
    Since,
    SpanIds,
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

NOTE = "Texts are truncated recorded data. get_span_content reads a span and finds its faults."


class FetchSpansArguments(Arguments):
    """The filters that select spans, and the part of the list to return."""

    spanIds: SpanIds = ()
    threadIds: ThreadIds = ()
    runIds: RunIds = ()
    operationNames: OperationNames = ()
    parentSpanIds: ParentSpanIds = ()
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


class FetchSpansResult(TraceResult):
    """The matching spans, sorted by their start, newest first."""

    type: str = "spans"
    data: list[SpanRow]
    pagination: Pagination
    note: str = Field(default=NOTE, serialization_alias="_note")
    more: str | None = if_any()


class FetchSpans(TraceTool[FetchSpansArguments, FetchSpansResult]):
    """Lists the spans that match the filters."""

    name = "fetch_spans"
    description = (
        "List recorded spans (model calls, tool calls, other operations), newest first, with "
        "status, error, duration, tokens, cost and the beginning of input and output. "
        "get_span_content shows the content of one."
    )
    arguments = FetchSpansArguments
    result = FetchSpansResult

    def answer(self, arguments: FetchSpansArguments, now_us: int) -> FetchSpansResult:
        query = query_of(arguments, now_us)
        return fitted(
            lambda limit: self._reader.spans(
                query, limit=limit, offset=arguments.offset, cursor=arguments.cursor
            ),
            lambda spans, characters, page: FetchSpansResult(
                data=[span_row(span, characters) for span in spans],
                pagination=page,
                more=rest(page, "span"),
            ),
            limit=arguments.limit,
            offset=arguments.offset,
            most_tokens=arguments.maxTokens,
        )

    def view(self, arguments: FetchSpansArguments, result: FetchSpansResult) -> ToolView:  # noqa: ARG002
        return ToolView(f"{counted(result.pagination.returned, 'span')} listed")
