"""fetch_runs: lists the matching runs, newest first."""

from typing import Annotated

from pydantic import Field

from treadle.events.types import ToolView
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.traces.pages import Pagination, fitted, rest
from treadle.toolbox.traces.rows import RunRow, run_row
from treadle.toolbox.traces.trace_tool import (
    Cursor,
    InPeriod,
    Labels,
    ModelName,
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


class FetchRunsArguments(Arguments):
    """The filters that select runs, and the part of the list to return."""

    threadIds: ThreadIds = ()
    runIds: RunIds = ()
    modelName: ModelName = None
    labels: Labels = ()
    where: Where = None
    status: Statuses = ()
    period: InPeriod = None
    since: Since = None
    until: Until = None
    own: Own = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of runs.")] = 50
    offset: Offset = 0
    cursor: Cursor = None
    maxTokens: MaxTokens = BRIEF_TOKENS


class FetchRunsResult(TraceResult):
    """The matching runs, sorted by their start, newest first."""

    type: str = "runs"
    data: list[RunRow]
    pagination: Pagination
    more: str | None = if_any()


class FetchRuns(TraceTool[FetchRunsArguments, FetchRunsResult]):
    """Lists the runs that match the filters."""

    name = "fetch_runs"
    description = (
        "List recorded runs (a user message and everything it triggered), newest first, with "
        "status, duration, calls, errors, tokens, cost, models and labels. get_run_details shows "
        "one run, and fetch_spans_summary sums up several."
    )
    arguments = FetchRunsArguments
    result = FetchRunsResult

    def answer(self, arguments: FetchRunsArguments, now_us: int) -> FetchRunsResult:
        query = query_of(arguments, now_us)
        return fitted(
            lambda limit: self._reader.runs(
                query, limit=limit, offset=arguments.offset, cursor=arguments.cursor
            ),
            lambda runs, characters, page: FetchRunsResult(
                data=[run_row(run, characters) for run in runs],
                pagination=page,
                more=rest(page, "run"),
            ),
            limit=arguments.limit,
            offset=arguments.offset,
            most_tokens=arguments.maxTokens,
        )

    def view(self, arguments: FetchRunsArguments, result: FetchRunsResult) -> ToolView:  # noqa: ARG002
        return ToolView(f"{counted(result.pagination.returned, 'run')} listed")
