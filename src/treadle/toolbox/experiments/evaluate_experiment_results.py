"""evaluate_experiment_results: compares the results of an experiment with the original.

A batch is one execution of an experiment. It runs one or more variants. A variant is a version of
the request, together with the model that runs it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import Field

from treadle.events.types import ToolView
from treadle.experiments.comparison import Comparison, VariantComparison
from treadle.experiments.model import Batch, Experiment, Outcome, base_number
from treadle.experiments.statistics import Difference
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.experiments.results import (
    RUN_IT,
    ExperimentId,
    ExperimentResult,
    ExperimentTool,
    fitted,
    resolve_experiment,
    shortened,
)
from treadle.tools.contract import Arguments, ToolContext

_MILLISECOND = 1_000


class EvaluateArguments(Arguments):
    """The experiment to evaluate."""

    experimentId: ExperimentId = None
    maxTokens: MaxTokens = BRIEF_TOKENS


class EvaluateResult(ExperimentResult):
    """The comparison of the newest results with the original. `original` and `new` have the output,
    the model and the mean figures of each side. In `comparison`, `n` is the number of pairs of
    runs. A `…_change_percent` is null if a figure is unknown or the original's figure is 0.
    `differences` has the mean paired difference (new minus original) of each figure. From 5 pairs
    on, `low` and `high` are the bootstrapped 95 % confidence interval of this mean.
    """  # noqa: D205

    type: str = "experiment_results"
    hasResults: bool
    original: dict[str, Any] | None
    new: dict[str, Any] | None
    comparison: dict[str, Any] | None
    variants: list[dict[str, Any]] | None = if_any()
    """The verdict on each variant, if the batch has several variants. `new` is the last variant."""
    experimentId: str
    batchId: str | None
    next_step: str = Field(serialization_alias="_next_step")


class EvaluateExperimentResults(ExperimentTool[EvaluateArguments, EvaluateResult]):
    """Compares each variant with the original, for the newest batch that has results."""

    name = "evaluate_experiment_results"
    description = (
        "Compare the newest runs of an experiment with the original: outputs, tool calls, cost, "
        "tokens and duration; with repeated runs also paired differences, intervals and a "
        "verdict."
    )
    arguments = EvaluateArguments
    result = EvaluateResult

    async def run(self, arguments: EvaluateArguments, context: ToolContext) -> EvaluateResult:  # noqa: ARG002
        experiment = await resolve_experiment(self._experiments, self._ui, arguments.experimentId)
        batches = await asyncio.to_thread(self._experiments.batches, experiment.id)
        batch = next((each for each in reversed(batches) if each.outcomes), None)
        if batch is None:
            return EvaluateResult(
                hasResults=False,
                original=None,
                new=None,
                comparison=None,
                experimentId=experiment.id,
                batchId=None,
                next_step=RUN_IT,
            )
        comparison = await asyncio.to_thread(self._experiments.compare, batch.id)
        return fitted(
            lambda characters: _result(experiment, batch, comparison, characters),
            arguments.maxTokens,
        )

    def view(self, arguments: EvaluateArguments, result: EvaluateResult) -> ToolView:  # noqa: ARG002
        if result.comparison is None:
            return ToolView("no results yet")
        return ToolView(f"{result.comparison['verdict']}: {result.comparison['why']}")


def _result(
    experiment: Experiment, batch: Batch, comparison: Comparison, characters: int
) -> EvaluateResult:
    compared = comparison.variants[-1]
    base = base_number(batch, None)
    before = experiment.items[0].recorded if base is None else _first(batch, base)
    after = _first(batch, len(batch.plan.variants) - 1)
    figures = _figures(compared)
    several = len(comparison.variants) > 1
    return EvaluateResult(
        hasResults=True,
        original=_side(comparison.base, before, figures, "base", characters),
        new=_side(compared.variant, after, figures, "new", characters),
        comparison=_comparison(compared, figures, characters),
        variants=[_brief(each) for each in comparison.variants] if several else None,
        experimentId=experiment.id,
        batchId=batch.id,
        next_step=_next(compared),
    )


def _first(batch: Batch, variant: int) -> Outcome | None:
    """Return the first successful outcome of a variant, or else its first outcome.

    Returns None if the variant has no outcome.
    """
    found = [outcome for cell, outcome in batch.outcomes.items() if cell.variant == variant]
    good = [outcome for outcome in found if outcome.error is None]
    return next(iter([*good, *found]), None)


def _figures(compared: VariantComparison) -> dict[str, tuple[Difference, float]]:
    """Map the JSON key of each figure to the figure and a divisor.

    The divisor converts the figure to the unit of the key.
    """
    return {
        "cost": (compared.cost, 1),
        "tokens": (compared.tokens, 1),
        "input_tokens": (compared.input_tokens, 1),
        "output_tokens": (compared.output_tokens, 1),
        "duration_ms": (compared.duration_us, _MILLISECOND),
        "ttft_ms": (compared.ttft_us, _MILLISECOND),
    }


def _side(
    name: str,
    outcome: Outcome | None,
    figures: Mapping[str, tuple[Difference, float]],
    side: str,
    characters: int,
) -> dict[str, Any]:
    means = {
        figure: _scaled(getattr(found, side), scale) for figure, (found, scale) in figures.items()
    }
    return {
        "variant": shortened(name, 200),
        "output": shortened(outcome.content, characters) if outcome else None,
        "tool_calls": [
            {"name": shortened(use.name, 200), "arguments": shortened(use.arguments, characters)}
            for use in outcome.tool_calls
        ]
        if outcome
        else [],
        "model": shortened(outcome.model, 200) if outcome else None,
        **means,
        "error": shortened(outcome.error, 300) if outcome else None,
    }


def _comparison(
    compared: VariantComparison,
    figures: Mapping[str, tuple[Difference, float]],
    characters: int,
) -> dict[str, Any]:
    output = compared.output
    answer: dict[str, Any] = {
        "verdict": compared.verdict.value,
        "why": compared.why,
        "n": compared.pairs,
        "failed": compared.failed,
        "cost_change_percent": _percent(compared.cost),
        "tokens_change_percent": _percent(compared.tokens),
        "input_tokens_change_percent": _percent(compared.input_tokens),
        "output_tokens_change_percent": _percent(compared.output_tokens),
        "duration_change_percent": _percent(compared.duration_us),
        "ttft_change_percent": _percent(compared.ttft_us),
        "same_outputs": compared.same_outputs,
        "truncated": compared.truncated,
        "output": None
        if output is None
        else {
            "same": output.text.same,
            "similarity": output.text.similarity,
            "diff": shortened(output.text.diff, characters),
            "json": None
            if output.json is None
            else shortened([asdict(each) for each in output.json], characters),
            "tool_calls": shortened([asdict(each) for each in output.tool_calls], characters),
        },
        "judged": [asdict(each) for each in compared.judged],
    }
    if compared.pairs > 1:
        answer["differences"] = {
            name: {
                "n": found.n,
                "mean": _scaled(found.mean, scale),
                "low": _scaled(found.low, scale),
                "high": _scaled(found.high, scale),
            }
            for name, (found, scale) in figures.items()
            if found.n
        }
    return answer


def _brief(compared: VariantComparison) -> dict[str, Any]:
    return {
        "variant": shortened(compared.variant, 200),
        "verdict": compared.verdict.value,
        "why": compared.why,
        "n": compared.pairs,
        "failed": compared.failed,
        "cost_change_percent": _percent(compared.cost),
        "tokens_change_percent": _percent(compared.tokens),
        "duration_change_percent": _percent(compared.duration_us),
    }


def _percent(found: Difference) -> float | None:
    return None if found.percent is None else round(found.percent, 2)


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else round(value / scale, 9)


def _next(compared: VariantComparison) -> str:
    if compared.verdict.value == "not enough runs":
        return (
            "Run it at least 5 times with run_experiment to distinguish a difference from chance."
        )
    return (
        "Report the verdict and its figures to the person; change the experiment further if it is "
        "not better."
    )
