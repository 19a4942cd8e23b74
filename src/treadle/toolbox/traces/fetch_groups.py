"""fetch_groups: sums up spans by time, model, user, metadata and other fields."""

from typing import Annotated

from pydantic import Field

from treadle.events.types import ToolView
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.traces.pages import Pagination, fitted, rest
from treadle.toolbox.traces.rows import SumsRow, sums_row
from treadle.toolbox.traces.trace_tool import (
    AnswerPart,
    InPeriod,
    Labels,
    ModelName,
    Offset,
    Own,
    Since,
    ThreadIds,
    TraceResult,
    TraceTool,
    Until,
    Where,
    milliseconds,
    moment,
    query_of,
)
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments
from treadle.traces.query import read_grouping
from treadle.traces.query.parameters import GroupingName
from treadle.traces.store.results import Group


class FetchGroupsArguments(Arguments):
    """The grouping, and the filters that select spans."""

    groupBy: GroupingName
    threadIds: ThreadIds = ()
    modelName: ModelName = None
    labels: Labels = ()
    where: Where = None
    period: InPeriod = None
    since: Since = None
    until: Until = None
    own: Own = None
    bucketSize: Annotated[
        int, Field(ge=1, le=31_622_400, description="Seconds per time bucket.")
    ] = 3_600
    limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of groups.")] = 50
    offset: Offset = 0
    maxTokens: MaxTokens = BRIEF_TOKENS


class GroupValue(AnswerPart):
    """The value that the spans of a group share, such as a model, a label or a user.

    The value of a time bucket is the time at which the bucket begins. The value is empty for spans
    without a model, a user, a release or a value of the metadata.
    """

    value: str


class GroupRow(SumsRow, GroupValue):
    """One group, with the totals of its spans and figures of its runs.

    A run counts in each group that has one of its matching spans. The percentiles describe the
    durations of runs. In groups by model they describe calls, and in groups by operation spans.
    """

    runs: int | None = if_any()
    failed_runs: int | None = if_any()
    cost_per_run: float | None = if_any()
    p50_ms: float | None = if_any()
    p95_ms: float | None = if_any()


class FetchGroupsResult(TraceResult):
    """The groups. Time buckets are listed newest first, and other groups largest first.

    The group without a value is last. A span with several labels counts in the group of each label.
    """

    type: str = "groups"
    group_by: str
    data: list[GroupRow]
    pagination: Pagination
    more: str | None = if_any()


class FetchGroups(TraceTool[FetchGroupsArguments, FetchGroupsResult]):
    """Groups spans, and adds up the figures of each group."""

    name = "fetch_groups"
    description = (
        "Sum up recorded spans by time bucket, model, thread, run, label, operation, user, release "
        "or a key of the metadata: spans, calls, errors, tokens, cost, runs, failed runs and times "
        "of each group. Use "
        "it for trends and comparisons."
    )
    arguments = FetchGroupsArguments
    result = FetchGroupsResult

    def answer(self, arguments: FetchGroupsArguments, now_us: int) -> FetchGroupsResult:
        query = query_of(arguments, now_us)
        return fitted(
            lambda limit: self._reader.groups(
                read_grouping(arguments.groupBy),
                query,
                bucket_seconds=arguments.bucketSize,
                figures=True,
                limit=limit,
                offset=arguments.offset,
            ),
            lambda groups, _characters, pagination: FetchGroupsResult(
                group_by=arguments.groupBy,
                data=list(map(group_row, groups)),
                pagination=pagination,
                more=rest(pagination, "group"),
            ),
            limit=arguments.limit,
            offset=arguments.offset,
            most_tokens=arguments.maxTokens,
        )

    def view(self, arguments: FetchGroupsArguments, result: FetchGroupsResult) -> ToolView:
        groups = counted(result.pagination.returned, "group")
        return ToolView(f"{groups} by {arguments.groupBy}")


def group_row(group: Group) -> GroupRow:
    """Convert a group to a row."""
    value = group.value if isinstance(group.value, str) else str(moment(group.value))
    durations = group.duration
    return GroupRow(
        value=value,
        runs=group.runs,
        failed_runs=group.failed_runs,
        cost_per_run=group.cost_per_run,
        p50_ms=milliseconds(durations.p50_us) if durations else None,
        p95_ms=milliseconds(durations.p95_us) if durations else None,
        **sums_row(group.sums).model_dump(),
    )
