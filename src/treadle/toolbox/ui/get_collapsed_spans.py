"""get_collapsed_spans: lists the spans that a person has collapsed."""

from pydantic import Field

from treadle.events.types import ToolView
from treadle.tokens import estimate
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, most_that_fit
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments, Result, Tool, ToolContext
from treadle.ui.messages import CollapsedSpans, GetCollapsedSpans
from treadle.ui.service import Ui


class CollapsedArguments(Arguments):
    """The part of the list to return."""

    offset: int = Field(default=0, ge=0, description="Ids to skip.")
    maxTokens: MaxTokens = BRIEF_TOKENS


class CollapsedResult(Result):
    """The ids of the collapsed spans, in the order in which the person collapsed them.

    `total` is the number of all collapsed spans. `page` is the id of the page that received the
    request, or null if no page is open.
    """

    type: str = "collapsed_spans"
    collapsedSpanIds: list[str]
    total: int
    page: str | None = None
    note: str | None = Field(None, serialization_alias="_note")
    more: str | None = None


class GetCollapsedSpansTool(Tool[CollapsedArguments, CollapsedResult]):
    """Asks the page for the collapsed spans, or reads the saved state if no page answers."""

    name = "get_collapsed_spans"
    description = (
        "Get the ids of the spans that the person has collapsed in the trace view. If no page is "
        "open, the result is the last known state."
    )
    arguments = CollapsedArguments
    result = CollapsedResult

    def __init__(self, ui: Ui) -> None:
        self._ui = ui

    async def run(self, arguments: CollapsedArguments, context: ToolContext) -> CollapsedResult:
        reply = await self._ui.ask(GetCollapsedSpans(), request_id=context.request_id)
        note = None
        page = reply.page
        if isinstance(reply.answer, CollapsedSpans):
            ids = reply.answer.collapsed_span_ids
        else:
            ids = (await self._ui.state()).collapsed_span_ids
            note = "No page is connected" if page is None else "The page did not answer in time"
            note += ": these are the last known collapsed spans."
        rest = ids[arguments.offset :]

        def result(count: int) -> CollapsedResult:
            following = arguments.offset + count
            left = len(ids) - following
            return CollapsedResult(
                collapsedSpanIds=list(rest[:count]),
                total=len(ids),
                page=page,
                note=note,
                more=f"{left} more; call again with offset {following}." if left > 0 else None,
            )

        def tokens(count: int) -> int:
            return estimate(self.content(result(count)))

        return result(most_that_fit(len(rest), tokens, arguments.maxTokens))

    def view(self, arguments: CollapsedArguments, result: CollapsedResult) -> ToolView:  # noqa: ARG002
        return ToolView(f"{counted(result.total, 'collapsed span')}")
