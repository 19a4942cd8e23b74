"""list_labels: lists the labels of spans, with the number of spans of each label."""

from typing import Annotated

from pydantic import Field

from treadle.events.types import ToolView
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.traces.pages import Pagination, fitted, rest
from treadle.toolbox.traces.trace_tool import AnswerPart, Offset, Own, TraceResult, TraceTool
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments
from treadle.traces.own_spans import INCLUDED, without_own
from treadle.traces.query import Field as About
from treadle.traces.query import GroupBy, Query, any_of


class ListLabelsArguments(Arguments):
    """The filters that select spans, and the part of the list of labels to return."""

    threadId: Annotated[str | None, Field(description="Only labels of this thread.")] = None
    own: Own = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="Maximum number of labels.")] = 100
    offset: Offset = 0
    maxTokens: MaxTokens = BRIEF_TOKENS


class LabelRow(AnswerPart):
    """A label, and the number of spans that have it."""

    name: str
    count: int


class ListLabelsResult(TraceResult):
    """The labels, most frequent first. `total` is the number of all labels."""

    type: str = "labels"
    data: list[LabelRow]
    total: int
    pagination: Pagination
    more: str | None = if_any()


class ListLabels(TraceTool[ListLabelsArguments, ListLabelsResult]):
    """Lists the labels of spans."""

    name = "list_labels"
    description = (
        "List the labels of recorded spans with the number of spans of each, most frequent first. "
        "Use it before you filter by label."
    )
    arguments = ListLabelsArguments
    result = ListLabelsResult

    def answer(self, arguments: ListLabelsArguments, now_us: int) -> ListLabelsResult:  # noqa: ARG002
        query = Query()
        if arguments.threadId is not None:
            query = Query((any_of(About.THREAD, [arguments.threadId]),))
        if arguments.own is not None:
            query &= INCLUDED
        query = without_own(query)
        total = self._reader.groups(GroupBy.LABEL, query, limit=1).pagination.total or 0
        return fitted(
            lambda limit: self._reader.groups(
                GroupBy.LABEL, query, limit=limit, offset=arguments.offset
            ),
            lambda groups, _characters, page: ListLabelsResult(
                data=[
                    LabelRow(name=str(group.value), count=group.sums.totals.spans)
                    for group in groups
                ],
                total=total,
                pagination=page,
                more=rest(page, "label"),
            ),
            limit=arguments.limit,
            offset=arguments.offset,
            most_tokens=arguments.maxTokens,
        )

    def view(self, arguments: ListLabelsArguments, result: ListLabelsResult) -> ToolView:  # noqa: ARG002
        return ToolView(f"{len(result.data):,} of {counted(result.total, 'label')}")
