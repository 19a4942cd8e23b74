"""Experiments as JSON: what the command line, the server, the tools and exports tell alike.

Names that end in `_us` are microseconds, `cost` is US dollars; what is unknown is null, never 0.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from treadle.experiments.comparing import Comparison
from treadle.experiments.documents import document_of
from treadle.experiments.judgement import Judgement
from treadle.experiments.model import Batch, Cell, Experiment, Item, Listed, Outcome
from treadle.experiments.running import progress_of, run_id, thread_id
from treadle.spans.page_links import experiment_link, span_link

if TYPE_CHECKING:
    from treadle.experiments import shapes

EXPORT_VERSION = 1
"""Of the exported form."""


def listed_answer(listed: Listed) -> "shapes.ListedExperiment":
    """An experiment as lists show it."""
    return {
        "id": listed.id,
        "name": listed.name,
        "created_us": listed.created_us,
        "updated_us": listed.updated_us,
        "items": listed.items,
        "version": listed.version,
        "thread_id": thread_id(listed.id),
        "link": experiment_link(listed.id),
        "last_batch": None if listed.last_batch is None else asdict(listed.last_batch),
    }


def experiment_answer(experiment: Experiment, batches: Sequence[Batch] = ()) -> "shapes.Experiment":
    """An experiment with the requests of its items, as recorded and as changed, and its batches."""
    told = [batch_answer(batch) for batch in batches]
    return {**versions_answer(experiment), "batches": told}


def versions_answer(experiment: Experiment) -> "shapes.ExperimentVersions":
    """The same without its batches."""
    return {
        "id": experiment.id,
        "name": experiment.name,
        "created_us": experiment.created_us,
        "updated_us": experiment.updated_us,
        "version": experiment.current,
        "thread_id": thread_id(experiment.id),
        "link": experiment_link(experiment.id),
        "items": [_item_answer(experiment, item) for item in experiment.items],
        "versions": [asdict(version) for version in experiment.versions],
    }


def _item_answer(experiment: Experiment, item: Item) -> "shapes.ExperimentItem":
    return {
        "number": item.number,
        "trace_id": item.trace_id,
        "span_id": item.span_id,
        "link": span_link(item.trace_id, item.span_id),
        "original": document_of(experiment, item.number, 0),
        "current": document_of(experiment, item.number, experiment.current),
        "recorded": outcome_answer(item.recorded),
        "notes": list(item.notes),
    }


def outcome_answer(outcome: Outcome) -> "shapes.CallOutcome":
    """What came of a call."""
    return {
        "trace_id": outcome.trace_id,
        "span_id": outcome.span_id,
        "content": outcome.content,
        "tool_calls": [
            {"name": call.name, "arguments": call.arguments} for call in outcome.tool_calls
        ],
        "raw": outcome.raw,
        "model": outcome.model,
        "finish_reason": outcome.finish_reason,
        "input_tokens": outcome.input_tokens,
        "output_tokens": outcome.output_tokens,
        "cached_tokens": outcome.cached_tokens,
        "cost": outcome.cost,
        "duration_us": outcome.duration_us,
        "ttft_us": outcome.ttft_us,
        "error": outcome.error,
        "error_type": outcome.error_type,
        "tokens": outcome.tokens,
        "link": span_link(outcome.trace_id, outcome.span_id) if outcome.span_id else None,
    }


def batch_answer(batch: Batch) -> "shapes.Batch":
    """A batch, and how far it is."""
    return {
        "id": batch.id,
        "experiment_id": batch.experiment_id,
        "created_us": batch.created_us,
        "state": batch.state,
        "reason": batch.reason,
        "variants": [variant.name for variant in batch.plan.variants],
        "repeats": batch.plan.repeats,
        "budget": asdict(batch.plan.budget),
        "at_once": batch.plan.at_once,
        "seconds_each": batch.plan.seconds_each,
        "progress": asdict(progress_of(batch)),
    }


def batch_with_runs_answer(batch: Batch) -> "shapes.BatchWithRuns":
    """A batch with what came of each of its runs."""
    runs = [run_answer(batch, cell) for cell in batch.outcomes]
    return {**batch_answer(batch), "runs": runs}


def run_answer(batch: Batch, cell: Cell) -> "shapes.ExperimentRun":
    """One run; item and repeat count from 0."""
    return {
        "variant": batch.plan.variants[cell.variant].name,
        "item": cell.item,
        "repeat": cell.repeat,
        "run_id": run_id(batch, cell),
        **outcome_answer(batch.outcomes[cell]),
    }


def comparison_answer(comparison: Comparison) -> "shapes.Comparison":
    """A comparison with all its figures."""
    return asdict(comparison)


def judgement_answer(judgement: Judgement, batch: Batch) -> "shapes.Judgement":
    """One answer of a judge."""
    return {
        "variant": batch.plan.variants[judgement.cell.variant].name,
        "base": batch.plan.variants[judgement.base].name,
        "item": judgement.cell.item,
        "repeat": judgement.cell.repeat,
        "model": judgement.model,
        "criteria": judgement.criteria,
        "swapped": judgement.swapped,
        "winner": judgement.winner,
        "reason": judgement.reason,
        "link": span_link(judgement.trace_id, judgement.span_id),
    }
