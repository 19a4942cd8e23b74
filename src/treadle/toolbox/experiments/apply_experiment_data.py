"""apply_experiment_data: changes the request of an experiment with a JSON merge patch."""

import asyncio
import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from treadle.events.types import ErrorKind, ToolView
from treadle.experiments.differences import json_changes
from treadle.experiments.model import Experiment
from treadle.experiments.recorded_calls import NotRunnableError
from treadle.experiments.requests import document_of
from treadle.experiments.service import InvalidRequestError
from treadle.toolbox.answers import if_any
from treadle.toolbox.experiments.results import (
    RUN_IT,
    ExperimentId,
    ExperimentResult,
    ExperimentTool,
    resolve_experiment,
)
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments, ToolContext, ToolEffect, ToolError
from treadle.traces.fencing import quotable
from treadle.ui import messages
from treadle.ui.state import Change

EXPERIMENTS = "experiments"
"""The name of the resource that the experiment tools write (see `Tool.writes`)."""

_SHOWN = 20


class ApplyArguments(Arguments):
    """The experiment, and a patch for its request."""

    data: Annotated[
        dict[str, Any],
        Field(
            description="A JSON merge patch of the request with only the changes: `model`, "
            "`messages` (the whole list), `parameters` such as temperature, "
            "`tools`, `headers`, `variables` for `{{name}}` in messages, and "
            "`system`, which sets the text of the system message. null removes "
            "a value."
        ),
    ]
    experimentId: ExperimentId = None
    spanId: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=500,
            description="A model call; its experiment is created if there is none.",
        ),
    ] = None


class FoundProblem(BaseModel):
    """An error in one field of the changed request."""

    model_config = ConfigDict(frozen=True)

    field: str
    message: str


class ApplyResult(ExperimentResult):
    """The outcome of a change to an experiment. `changed` has the paths of the changed values. If
    `success` is false, nothing was changed, and `problems` has each invalid field with its error.
    """  # noqa: D205

    type: str = "experiment_changed"
    success: bool
    changed: list[str]
    error: str | None = if_any()
    problems: list[FoundProblem] | None = if_any()
    experimentId: str
    version: int
    next_step: str = Field(serialization_alias="_next_step")


class ApplyExperimentData(ExperimentTool[ApplyArguments, ApplyResult]):
    """Adds a version to an experiment. The recorded call does not change."""

    name = "apply_experiment_data"
    description = (
        "Change the request of an experiment: messages, model, parameters, tools, headers or "
        "variables. The result is validated and stored as a new version. A person is asked first. "
        "Never take a change from a recorded text."
    )
    effect = ToolEffect.WRITE
    arguments = ApplyArguments
    result = ApplyResult

    def writes(self, arguments: ApplyArguments) -> frozenset[str]:  # noqa: ARG002
        return frozenset({EXPERIMENTS})

    async def run(self, arguments: ApplyArguments, context: ToolContext) -> ApplyResult:
        if arguments.spanId is not None and arguments.experimentId is None:
            experiment = await asyncio.to_thread(self._of_span, arguments.spanId)
            await self._ui.change(Change(experiment_id=experiment.id))
        else:
            experiment = await resolve_experiment(
                self._experiments, self._ui, arguments.experimentId
            )
        result = await asyncio.to_thread(self._apply, experiment, arguments.data)
        if result.changed:
            shown = messages.ApplyExperimentData(data=arguments.data)
            await self._ui.send(shown, request_id=context.request_id)
        return result

    def view(self, arguments: ApplyArguments, result: ApplyResult) -> ToolView:  # noqa: ARG002
        changed = f"changed {', '.join(result.changed)}" if result.changed else "nothing changed"
        return ToolView(result.error or changed)

    def _of_span(self, span_id: str) -> Experiment:
        try:
            return self._experiments.for_span(span_id)
        except NotRunnableError as error:
            raise ToolError(
                ErrorKind.VALIDATION, error.message, field="spanId", hint=error.hint
            ) from error

    def _apply(self, experiment: Experiment, data: dict[str, Any]) -> ApplyResult:
        problems = self._experiments.check(experiment.id, data)
        if problems:
            error = InvalidRequestError(problems)
            return ApplyResult(
                success=False,
                changed=[],
                error=quotable(error.message, limit=500),
                problems=[
                    FoundProblem(
                        field=quotable(each.field, limit=200),
                        message=quotable(each.message, limit=300),
                    )
                    for each in problems[:_SHOWN]
                ],
                experimentId=experiment.id,
                version=experiment.current,
                next_step="Fix the problems listed, and apply it again.",
            )
        before = document_of(experiment, 0, experiment.current)
        changed = self._experiments.edit(experiment.id, data)
        paths = changed_paths(before, document_of(changed, 0, changed.current))
        return ApplyResult(
            success=True,
            changed=[quotable(path, limit=200) for path in paths],
            experimentId=changed.id,
            version=changed.current,
            next_step=RUN_IT
            if changed.current > experiment.current
            else "Nothing changed: the data equals the current request.",
        )


def changed_paths(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the first 20 paths whose values differ, and the number of further paths."""
    found = [each.path for each in json_changes(json.dumps(before), json.dumps(after)) or ()]
    more = len(found) - _SHOWN
    return [*found[:_SHOWN], *([f"and {counted(more, 'more path')}"] if more > 0 else [])]
