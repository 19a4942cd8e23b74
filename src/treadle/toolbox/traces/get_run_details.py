"""get_run_details: returns one run and its spans."""

from typing import Annotated

from pydantic import Field

from treadle.events.types import ErrorKind, ToolView
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.traces.pages import Pagination, fitted, rest
from treadle.toolbox.traces.rows import RunRow, SpanRow, run_row, span_row
from treadle.toolbox.traces.trace_tool import Cursor, Offset, TraceResult, TraceTool
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments, ToolError
from treadle.traces.query import Field as About
from treadle.traces.query import Query, Sort, any_of

_MAX_SPANS = 1_000


class GetRunDetailsArguments(Arguments):
    """The run, and the part of its list of spans to return."""

    runId: Annotated[str, Field(description="The id of the run.")]
    offset: Offset = 0
    cursor: Cursor = None
    maxTokens: MaxTokens = BRIEF_TOKENS


class GetRunDetailsResult(TraceResult):
    """A run, and its spans sorted by their start."""

    type: str = "run"
    run: RunRow
    spans: list[SpanRow]
    pagination: Pagination
    more: str | None = if_any()


class GetRunDetails(TraceTool[GetRunDetailsArguments, GetRunDetailsResult]):
    """Returns one run and its spans."""

    name = "get_run_details"
    description = (
        "Show one recorded run: question, answer, status, totals, and all its spans by start "
        "time, each with its parent. fetch_spans_summary with runIds reports its faults."
    )
    arguments = GetRunDetailsArguments
    result = GetRunDetailsResult

    def answer(self, arguments: GetRunDetailsArguments, now_us: int) -> GetRunDetailsResult:  # noqa: ARG002
        query = Query((any_of(About.RUN, [arguments.runId]),))
        found = self._reader.runs(query, limit=1).data
        if not found:
            raise ToolError(
                ErrorKind.NOT_FOUND,
                f"There is no run {arguments.runId!r}.",
                field="runId",
                received=arguments.runId,
                hint="List the recorded runs with fetch_runs.",
            )
        return fitted(
            lambda limit: self._reader.spans(
                query,
                sort=Sort(ascending=True),
                limit=limit,
                offset=arguments.offset,
                cursor=arguments.cursor,
            ),
            lambda spans, characters, page: GetRunDetailsResult(
                run=run_row(found[0], max(characters, 80)),
                spans=[span_row(span, characters, within_run=True) for span in spans],
                pagination=page,
                more=rest(page, "span"),
            ),
            limit=_MAX_SPANS,
            offset=arguments.offset,
            most_tokens=arguments.maxTokens,
        )

    def view(self, arguments: GetRunDetailsArguments, result: GetRunDetailsResult) -> ToolView:  # noqa: ARG002
        shown = f"{result.pagination.returned:,} of {counted(result.run.spans, 'span')}"
        return ToolView(f"run {result.run.run_id}: {result.run.status}, {shown}")
