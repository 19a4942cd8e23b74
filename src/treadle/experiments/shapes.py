"""What answers about experiments look like as JSON: the types of what `answers` makes.

Names that end in `_us` are microseconds, `cost` is US dollars; what is unknown is null, never 0.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from typing_extensions import TypedDict

from treadle.experiments import comparing, model, running
from treadle.experiments.judgement import Winner
from treadle.json_schemas import DocumentedAs

JsonObject = dict[str, Any]
Budget = Annotated[JsonObject, DocumentedAs(model.Budget)]
Version = Annotated[JsonObject, DocumentedAs(model.Version)]
LastBatch = Annotated[JsonObject, DocumentedAs(model.LastBatch)]
Progress = Annotated[JsonObject, DocumentedAs(running.Progress)]
Comparison = Annotated[JsonObject, DocumentedAs(comparing.Comparison)]


class _Named(TypedDict):
    id: str
    name: str
    created_us: int
    updated_us: int
    version: int
    thread_id: str
    link: str


class ListedExperiment(_Named):
    """An experiment without its requests: how many items it has, and the number of its version."""

    items: int
    last_batch: LastBatch | None


class ExperimentPlace(TypedDict):
    """Which part of the list it is."""

    offset: int
    limit: int
    total: int


class ExperimentPage(TypedDict):
    """Experiments, the one that was changed last first."""

    data: list[ListedExperiment]
    pagination: ExperimentPlace


class ToolUse(TypedDict):
    """A call of a tool that a model made. `arguments` is the text that it wrote."""

    name: str
    arguments: str


class CallOutcome(TypedDict):
    """What came of a call, all its attempts together; `error` is set when it failed."""

    trace_id: str
    span_id: str
    content: str | None
    tool_calls: list[ToolUse]
    raw: str | None
    model: str | None
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    cost: float | None
    duration_us: int | None
    ttft_us: int | None
    error: str | None
    error_type: str | None
    tokens: int | None
    link: str | None


class ExperimentRequest(TypedDict):
    """The request of an item, as it is edited; `messages` and `tools` as OpenAI has them."""

    model: str
    messages: list[JsonObject]
    parameters: JsonObject
    tools: list[JsonObject]
    headers: dict[str, str]
    variables: dict[str, str]


Request = Annotated[Mapping[str, Any], DocumentedAs(ExperimentRequest)]


class ExperimentItem(TypedDict):
    """A recorded call: its request as recorded and as changed, and what came of it.

    `notes` say what of the request the record does not hold.
    """

    number: int
    trace_id: str
    span_id: str
    link: str
    original: Request
    current: Request
    recorded: CallOutcome
    notes: list[str]


class ExperimentRun(CallOutcome):
    """One run of a batch; item and repeat count from 0."""

    variant: str
    item: int
    repeat: int
    run_id: str


class Batch(TypedDict):
    """Runs that belong together, and how far they are."""

    id: str
    experiment_id: str
    created_us: int
    state: model.BatchState
    reason: str | None
    variants: list[str]
    repeats: int
    budget: Budget
    at_once: int
    seconds_each: float
    progress: Progress


class BatchList(TypedDict):
    """The batches of an experiment, the oldest first."""

    data: list[Batch]


class BatchWithRuns(Batch):
    """A batch with what came of each of its runs."""

    runs: list[ExperimentRun]


class ExperimentVersions(_Named):
    """An experiment with its requests and its versions."""

    items: list[ExperimentItem]
    versions: list[Version]


class Experiment(ExperimentVersions):
    """An experiment with its requests, its versions and its batches."""

    batches: list[Batch]


class Judgement(TypedDict):
    """One answer of a judge. With `swapped` it read the new output first."""

    variant: str
    base: str
    item: int
    repeat: int
    model: str
    criteria: str
    swapped: bool
    winner: Winner
    reason: str
    link: str


class ExportedBatch(BatchWithRuns):
    """Everything that is known of a batch."""

    judgements: list[Judgement]
    comparison: Comparison


class ExportedExperiment(ExperimentVersions):
    """Everything that is known of an experiment."""

    export_version: int
    batches: list[ExportedBatch]
