"""Experiments as JSON: what the command line, the server, the tools and exports tell alike.

Names that end in `_us` are microseconds, `cost` is US dollars; what is unknown is null, never 0.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from treadle.experiments.comparing import Comparison, VariantComparison
from treadle.experiments.documents import document_of
from treadle.experiments.judgement import Judgement
from treadle.experiments.model import Batch, Cell, Experiment, Listed, Outcome
from treadle.experiments.running import progress_of, run_id, thread_id
from treadle.traces.links import experiment_link, span_link

EXPORT_VERSION = 1
"""Of the exported form."""

Answer = dict[str, Any]


def listed_answer(listed: Listed) -> Answer:
    """An experiment as lists show it."""
    return {
        **asdict(listed),
        "thread_id": thread_id(listed.id),
        "link": experiment_link(listed.id),
    }


def experiment_answer(experiment: Experiment, batches: Sequence[Batch] = ()) -> Answer:
    """An experiment with the requests of its items, as recorded and as changed, and its batches."""
    listed = Listed(
        experiment.id,
        experiment.name,
        experiment.created_us,
        experiment.updated_us,
        len(experiment.items),
        experiment.current,
    )
    return {
        **listed_answer(listed),
        "items": [
            {
                "number": item.number,
                "trace_id": item.trace_id,
                "span_id": item.span_id,
                "link": span_link(item.trace_id, item.span_id),
                "original": document_of(experiment, item.number, 0),
                "current": document_of(experiment, item.number, experiment.current),
                "recorded": outcome_answer(item.recorded),
                "notes": list(item.notes),
            }
            for item in experiment.items
        ],
        "versions": [asdict(version) for version in experiment.versions],
        "batches": [batch_answer(batch) for batch in batches],
    }


def outcome_answer(outcome: Outcome) -> Answer:
    """What came of a call."""
    return {
        **asdict(outcome),
        "tokens": outcome.tokens,
        "link": span_link(outcome.trace_id, outcome.span_id) if outcome.span_id else None,
    }


def batch_answer(batch: Batch, *, runs: bool = False) -> Answer:
    """A batch, how far it is, and with `runs` what came of each of its runs."""
    answer: Answer = {
        "id": batch.id,
        "experiment_id": batch.experiment_id,
        "created_us": batch.created_us,
        "state": batch.state.value,
        "reason": batch.reason,
        "variants": [variant.name for variant in batch.plan.variants],
        "repeats": batch.plan.repeats,
        "budget": asdict(batch.plan.budget),
        "at_once": batch.plan.at_once,
        "seconds_each": batch.plan.seconds_each,
        "progress": asdict(progress_of(batch)),
    }
    if runs:
        answer["runs"] = [run_answer(batch, cell) for cell in batch.outcomes]
    return answer


def run_answer(batch: Batch, cell: Cell) -> Answer:
    """One run; item and repeat count from 0."""
    return {
        "variant": batch.plan.variants[cell.variant].name,
        "item": cell.item,
        "repeat": cell.repeat,
        "run_id": run_id(batch, cell),
        **outcome_answer(batch.outcomes[cell]),
    }


def comparison_answer(comparison: Comparison) -> Answer:
    """A comparison with all its figures."""
    return {
        "batch_id": comparison.batch_id,
        "base": comparison.base,
        "base_runs": comparison.base_runs,
        "base_failed": comparison.base_failed,
        "variants": [_variant_answer(each) for each in comparison.variants],
    }


def judgement_answer(judgement: Judgement, batch: Batch) -> Answer:
    """One answer of a judge."""
    return {
        "variant": batch.plan.variants[judgement.cell.variant].name,
        "base": batch.plan.variants[judgement.base].name,
        "item": judgement.cell.item,
        "repeat": judgement.cell.repeat,
        "model": judgement.model,
        "criteria": judgement.criteria,
        "swapped": judgement.swapped,
        "winner": judgement.winner.value,
        "reason": judgement.reason,
        "link": span_link(judgement.trace_id, judgement.span_id),
    }


def _variant_answer(compared: VariantComparison) -> Answer:
    answer = asdict(compared)
    return {**answer, "verdict": compared.verdict.value}
