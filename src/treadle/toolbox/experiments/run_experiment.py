"""run_experiment: runs the newest version of an experiment, once or several times."""

import asyncio
import json
from typing import Annotated, Any

from pydantic import Field

from treadle.errors import UsageError
from treadle.events.types import ToolView
from treadle.experiments.model import CURRENT, ORIGINAL, Batch, Experiment, Outcome, Progress
from treadle.experiments.service import InvalidRequestError
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.experiments.apply_experiment_data import EXPERIMENTS
from treadle.toolbox.experiments.get_experiment_data import shortened_outcome
from treadle.toolbox.experiments.results import (
    ExperimentId,
    ExperimentResult,
    ExperimentTool,
    fitted,
    resolve_experiment,
    shortened,
)
from treadle.toolbox.wording import counted
from treadle.tools.approvals.question import Policy
from treadle.tools.contract import Arguments, ToolClass, ToolContext, ToolEffect
from treadle.ui import messages

MOST = 20
SECONDS_EACH = 60.0


class RunArguments(Arguments):
    """The experiment, and the number of runs."""

    n: Annotated[
        int,
        Field(
            ge=1,
            le=MOST,
            description="Number of runs. With 2 or more, the original runs the same number "
            "of times for comparison. A verdict needs at least 5.",
        ),
    ] = 1
    experimentId: ExperimentId = None
    maxTokens: MaxTokens = BRIEF_TOKENS


class RunResult(ExperimentResult):
    """The outcome of running an experiment. `result` is the result of the last successful run of
    the newest version, or of its last run if all runs failed. `result` has the text (`content`),
    the recorded output (`raw`) and the figures of that run. `runs` and `failed` count all runs of
    the call.
    """  # noqa: D205

    type: str = "experiment_run"
    success: bool
    result: dict[str, Any] | None
    error: str | None = if_any()
    experimentId: str
    batchId: str | None
    runs: int
    failed: int
    state: str
    next_step: str = Field(serialization_alias="_next_step")


class RunExperiment(ExperimentTool[RunArguments, RunResult]):
    """Runs an experiment through the gateway. If the call is cancelled, completed runs are kept."""

    name = "run_experiment"
    description = (
        "Run the newest version of an experiment n times, at most 60 seconds each. It costs "
        "money, so a person is asked first. Then call evaluate_experiment_results."
    )
    tool_class = ToolClass.BACKGROUND
    effect = ToolEffect.SPENDS
    policy = Policy.ASK
    timeout = 2 * MOST * SECONDS_EACH + 60
    arguments = RunArguments
    result = RunResult

    def writes(self, arguments: RunArguments) -> frozenset[str]:  # noqa: ARG002
        return frozenset({EXPERIMENTS})

    async def run(self, arguments: RunArguments, context: ToolContext) -> RunResult:
        experiment = await resolve_experiment(self._experiments, self._ui, arguments.experimentId)
        with_original = arguments.n > 1 and experiment.current > 0
        try:
            planned = await asyncio.to_thread(
                self._experiments.plan,
                experiment.id,
                repeats=arguments.n,
                variants=[ORIGINAL, CURRENT] if with_original else [CURRENT],
                seconds_each=SECONDS_EACH,
            )
        except InvalidRequestError as error:
            return _refused(experiment, error)
        await self._ui.send(messages.RunExperiment(), request_id=context.request_id)
        reports: set[asyncio.Task[None]] = set()

        def report(progress: Progress) -> None:
            words = f"{progress.done} of {counted(progress.total, 'run')}"
            task = asyncio.ensure_future(context.report(words))
            reports.add(task)
            task.add_done_callback(reports.discard)

        batch = await self._experiments.run_batch(planned.id, report)
        await asyncio.gather(*reports, return_exceptions=True)
        return fitted(lambda characters: _ran(experiment, batch, characters), arguments.maxTokens)

    def view(self, arguments: RunArguments, result: RunResult) -> ToolView:  # noqa: ARG002
        failed = f", {result.failed} failed" if result.failed else ""
        return ToolView(
            f"{counted(result.runs, 'run')}{failed}",
            details=result.result["content"] if result.result else None,
        )


def _refused(experiment: Experiment, error: UsageError) -> RunResult:
    return RunResult(
        success=False,
        result=None,
        error=shortened(error.message, 500),
        experimentId=experiment.id,
        batchId=None,
        runs=0,
        failed=0,
        state="refused",
        next_step="Fix the request with apply_experiment_data.",
    )


def _ran(experiment: Experiment, batch: Batch, characters: int) -> RunResult:
    own = [
        outcome
        for cell, outcome in batch.outcomes.items()
        if batch.plan.variants[cell.variant].version == experiment.current
    ]
    good = [outcome for outcome in own if outcome.error is None]
    failed = [outcome for outcome in batch.outcomes.values() if outcome.error is not None]
    shown = next(iter([*reversed(good), *reversed(own)]), None)
    error = batch.reason or (failed[0].error if failed and not good else None)
    return RunResult(
        success=bool(good),
        result=None if shown is None else _result(shown, characters),
        error=shortened(error, 500),
        experimentId=experiment.id,
        batchId=batch.id,
        runs=len(batch.outcomes),
        failed=len(failed),
        state=batch.state.value,
        next_step="Compare with evaluate_experiment_results."
        if good
        else "Read the error, and change the request with apply_experiment_data.",
    )


def _result(outcome: Outcome, characters: int) -> dict[str, Any]:
    return {**shortened_outcome(outcome, characters), "raw": _raw(outcome, characters)}


def _raw(outcome: Outcome, characters: int) -> Any:
    """Return the recorded output: the parsed JSON value, or the text if it is not JSON."""
    try:
        return shortened(json.loads(outcome.raw or "null"), characters)
    except (ValueError, RecursionError):
        return shortened(outcome.raw, characters)
