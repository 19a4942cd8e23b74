"""Classes for the JSON of experiments and batches, with their runs, scores and comparisons.

The server and the exports use them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from typing_extensions import TypedDict

from treadle.experiments.comparison import Comparison
from treadle.experiments.model import (
    Batch,
    Cell,
    Experiment,
    Item,
    Judgement,
    ListedExperiment,
    Outcome,
    run_id,
)
from treadle.experiments.requests import document_of
from treadle.json_values import JsonField

EXPORT_VERSION = 1
"""The version of the export format."""


@dataclass(frozen=True, slots=True)
class ExperimentPagination:
    """The position of a page in the list of experiments."""

    offset: int
    limit: int
    total: int


@dataclass(frozen=True, slots=True)
class ExperimentPage:
    """A page of the list of experiments. The most recently changed experiment comes first."""

    data: Sequence[ListedExperiment]
    pagination: ExperimentPagination


class ExperimentRequest(TypedDict):
    """The editable request of a recorded call.

    `messages` and `tools` are in the format of OpenAI's API.
    """

    model: str
    messages: list[dict[str, Any]]
    parameters: dict[str, Any]
    tools: list[dict[str, Any]]
    headers: dict[str, str]
    variables: dict[str, str]


_Request = Annotated[Mapping[str, Any], JsonField(documented_as=ExperimentRequest)]


@dataclass(frozen=True, slots=True)
class ExperimentItem:
    """A recorded call of an experiment, with its recorded outcome.

    `original` is the recorded request, and `current` is the request of the newest version.
    """

    item: Annotated[Item, JsonField(inline=True)]
    original: _Request
    current: _Request


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """One run of a batch, with its variant and its outcome."""

    variant: str
    cell: Annotated[Cell, JsonField(inline=True)]
    run_id: str
    outcome: Annotated[Outcome, JsonField(inline=True)]


@dataclass(frozen=True, slots=True)
class BatchWithRuns:
    """A batch with the outcome of each run."""

    batch: Annotated[Batch, JsonField(inline=True)]
    runs: tuple[ExperimentRun, ...]

    @classmethod
    def of(cls, batch: Batch) -> "BatchWithRuns":
        """Create the answer for a batch."""
        return cls(batch, _runs(batch))


@dataclass(frozen=True, slots=True)
class BatchList:
    """The batches of an experiment, oldest first."""

    data: Sequence[Batch]


@dataclass(frozen=True, slots=True)
class ExperimentWithBatches:
    """An experiment with its requests, its versions and its batches."""

    experiment: Annotated[Experiment, JsonField(inline=True)]
    items: tuple[ExperimentItem, ...]
    batches: tuple[Batch, ...]

    @classmethod
    def of(cls, experiment: Experiment, batches: Sequence[Batch] = ()) -> "ExperimentWithBatches":
        """Create the answer for an experiment and its batches."""
        return cls(experiment, _items(experiment), tuple(batches))


@dataclass(frozen=True, slots=True)
class ExportedJudgement:
    """One answer of a scoring model, with the names of the compared variants."""

    variant: str
    base: str
    judgement: Annotated[Judgement, JsonField(inline=True)]


@dataclass(frozen=True, slots=True)
class ExportedBatch:
    """A batch with its runs, scores and comparison."""

    batch: Annotated[Batch, JsonField(inline=True)]
    runs: tuple[ExperimentRun, ...]
    judgements: tuple[ExportedJudgement, ...]
    comparison: Comparison

    @classmethod
    def of(
        cls, batch: Batch, judgements: Sequence[Judgement], comparison: Comparison
    ) -> "ExportedBatch":
        """Create the exported form of a batch from its scores and its comparison."""
        names = [variant.name for variant in batch.plan.variants]
        exported = [
            ExportedJudgement(names[each.cell.variant], names[each.base], each)
            for each in judgements
        ]
        return cls(batch, _runs(batch), tuple(exported), comparison)


@dataclass(frozen=True, slots=True)
class ExportedExperiment:
    """An experiment with its calls and its batches."""

    experiment: Annotated[Experiment, JsonField(inline=True)]
    items: tuple[ExperimentItem, ...]
    batches: tuple[ExportedBatch, ...]
    export_version: int = EXPORT_VERSION

    @classmethod
    def of(cls, experiment: Experiment, batches: Sequence[ExportedBatch]) -> "ExportedExperiment":
        """Create the exported form of an experiment and its batches."""
        return cls(experiment, _items(experiment), tuple(batches))


def _items(experiment: Experiment) -> tuple[ExperimentItem, ...]:
    return tuple(
        ExperimentItem(
            item,
            original=document_of(experiment, item.number, 0),
            current=document_of(experiment, item.number, experiment.current),
        )
        for item in experiment.items
    )


def _runs(batch: Batch) -> tuple[ExperimentRun, ...]:
    variants = batch.plan.variants
    return tuple(
        ExperimentRun(variants[cell.variant].name, cell, run_id(batch, cell), outcome)
        for cell, outcome in batch.outcomes.items()
    )
