"""navigate_to_experiment: opens the form of a new experiment with a recorded model call."""

import asyncio

from pydantic import Field

from treadle.errors import NotFoundError, UsageError
from treadle.events.types import ErrorKind, ToolView
from treadle.experiments.recorded_calls import listed_call
from treadle.spans.page_links import new_experiment_link
from treadle.spans.span import SpanKind
from treadle.toolbox.ui.page_replies import NavigationResult, SpanId, navigate
from treadle.tools.contract import Arguments, Tool, ToolContext, ToolEffect, ToolError
from treadle.traces.store.results import ListedSpan
from treadle.traces.store.span_reader import SpanReader
from treadle.ui.messages import NavigateToExperiment
from treadle.ui.service import Ui


class ExperimentArguments(Arguments):
    """The recorded model call."""

    spanId: SpanId = Field(
        description="The model call to experiment with: its span, or TRACE/SPAN."
    )


class NavigateToExperimentTool(Tool[ExperimentArguments, NavigationResult]):
    """Opens the form of a new experiment on the page that the person used most recently."""

    name = "navigate_to_experiment"
    description = (
        "Open an experiment with a recorded model call in the person's browser. "
        "is_valid_for_optimize reports whether a span is such a call."
    )
    effect = ToolEffect.UI
    arguments = ExperimentArguments
    result = NavigationResult

    def __init__(self, ui: Ui, spans: SpanReader) -> None:
        self._ui = ui
        self._spans = spans

    async def run(self, arguments: ExperimentArguments, context: ToolContext) -> NavigationResult:
        span = await asyncio.to_thread(self._model_call, arguments.spanId)
        url = new_experiment_link(span.trace_id, span.span_id)
        request = NavigateToExperiment(spanId=span.span_id, url=url)
        return await navigate(self._ui, request, url, context)

    def view(self, arguments: ExperimentArguments, result: NavigationResult) -> ToolView:  # noqa: ARG002
        return ToolView(result.message)

    def _model_call(self, span_id: str) -> ListedSpan:
        """Return the span of a model call.

        Raises ToolError for an unknown span or another kind of span.
        """
        try:
            found = listed_call(self._spans, span_id)
        except (NotFoundError, UsageError) as error:
            missing = isinstance(error, NotFoundError)
            raise ToolError(
                ErrorKind.NOT_FOUND if missing else ErrorKind.VALIDATION,
                error.message,
                field="spanId",
                hint=error.hint,
            ) from error
        if found.kind is not SpanKind.MODEL:
            raise ToolError(
                ErrorKind.VALIDATION,
                (
                    f"The span {span_id[:100]!r} is not a model call; its operation is "
                    f"{found.operation[:100]}."
                ),
                field="spanId",
                expected="the id of a model call",
                hint=(
                    "List the spans of its run with fetch_spans and choose one whose operation is "
                    "chat."
                ),
            )
        return found
