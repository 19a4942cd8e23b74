"""is_valid_for_optimize: checks whether a span is a model call that can be edited and rerun."""

import asyncio
from collections import OrderedDict
from typing import Annotated

from pydantic import Field

from treadle.errors import NotFoundError
from treadle.events.types import ToolView
from treadle.experiments.recorded_calls import listed_call
from treadle.experiments.service import Experiments
from treadle.toolbox.answers import if_any, written
from treadle.toolbox.experiments.results import ExperimentResult
from treadle.tools.contract import Arguments, Tool, ToolContext
from treadle.traces.fencing import quotable

CACHE_SECONDS = 300.0
_KEPT = 1_000
_CACHED = "This result is cached; the span has not changed since."


class ValidArguments(Arguments):
    """The span to check."""

    spanId: Annotated[
        str, Field(min_length=1, max_length=500, description="The span, or TRACE/SPAN.")
    ]


class ValidResult(ExperimentResult):
    """Whether a span can be run again.

    `reason` explains the result in both cases. `operation_name` is null if the span does not exist.
    """

    type: str = "valid_for_optimize"
    valid: bool
    spanId: str
    operation_name: str | None
    reason: str
    cached: bool | None = if_any("_cached")
    note: str | None = if_any("_note")


_Seen = tuple[str, str, int]
"""The trace id, the span id and the revision of a span."""


class IsValidForOptimize(Tool[ValidArguments, ValidResult]):
    """Reads the request of a span.

    A positive result is cached until the span changes, for at most five minutes.
    """

    name = "is_valid_for_optimize"
    description = (
        "Report whether a span is a chat request that can be run again here, so that an "
        "experiment can change its prompt, model or parameters. If not, `reason` says what is "
        "missing. Call it first."
    )
    arguments = ValidArguments
    result = ValidResult

    def __init__(self, experiments: Experiments) -> None:
        self._experiments = experiments
        self._known: OrderedDict[_Seen, tuple[float, ValidResult]] = OrderedDict()

    def content(self, result: ValidResult) -> str:
        return written(result)

    async def run(self, arguments: ValidArguments, context: ToolContext) -> ValidResult:
        span_id = arguments.spanId
        try:
            listed = await asyncio.to_thread(listed_call, self._experiments.traces, span_id)
        except NotFoundError as error:
            return _answer(span_id, None, valid=False, reason=error.message)
        seen = listed.trace_id, listed.span_id, listed.revision
        now = context.clock.monotonic()
        known = self._known.get(seen)
        if known is not None and now - known[0] < CACHE_SECONDS:
            return known[1].model_copy(update={"spanId": span_id, "cached": True, "note": _CACHED})
        found = await self._experiments.runnable(span_id)
        operation = quotable(listed.operation, limit=100)
        result = _answer(span_id, operation, valid=found.here, reason=found.reason)
        if result.valid:
            self._known[seen] = now, result
            self._known.move_to_end(seen)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return result

    def view(self, arguments: ValidArguments, result: ValidResult) -> ToolView:  # noqa: ARG002
        return ToolView("can be run again" if result.valid else result.reason)


def _answer(span_id: str, operation: str | None, *, valid: bool, reason: str) -> ValidResult:
    return ValidResult(
        valid=valid,
        spanId=span_id,
        operation_name=operation,
        reason=quotable(reason, limit=800),
    )
