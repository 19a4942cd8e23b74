"""Data types for experiments, their versions, the batches that run them, and the outcomes.

An experiment contains one or more recorded calls, its *items*. A change is a merge patch (RFC
7396), which is applied to the request of each item. Version n of a request is the recorded request
with the first n patches applied. Version 0 is the recorded request itself. A *variant* is a
version, optionally with another model. A *batch* runs one or more variants with all items, a given
number of times. A *cell* is the position of one of these runs in its batch.

These classes also define the JSON of the command line, the server and exports. Values whose names
end in `_us` are microseconds, and `cost` is in US dollars. An unknown value is null, never 0.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any

from treadle.errors import UsageError
from treadle.json_values import JsonField, json_property
from treadle.spans.page_links import experiment_link, span_link

Document = Mapping[str, Any]
"""An editable request. Its keys are model, messages, parameters, tools, headers and variables."""

ORIGINAL = "original"
CURRENT = "current"

RECORDED = "recorded"
"""The name that selects the recorded calls as the base of a comparison."""

THREAD_PREFIX = "experiment:"
"""The prefix of the thread id of every experiment.

It distinguishes the threads of experiments from the threads of users.
"""

_VERSION = re.compile(r"v?(\d{1,6})")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of a model. `arguments` is the text that the model wrote."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a call according to its span. An unknown value is None, never 0.

    `tokens` and `cost` are the sums over all attempts. `raw` is the recorded output: a JSON list of
    messages, or text. `error` is set when the call failed.
    """

    trace_id: str
    span_id: str
    content: str | None = None
    tool_calls: tuple[ToolUse, ...] = ()
    raw: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    duration_us: int | None = None
    ttft_us: int | None = None
    error: str | None = None
    error_type: str | None = None

    @json_property
    def tokens(self) -> int | None:
        """The sum of the input and output tokens, or None if one of the numbers is unknown."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens

    @json_property
    def link(self) -> str | None:
        """The address of the span on the page, or None without a span."""
        return span_link(self.trace_id, self.span_id) if self.span_id else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A recorded call in an experiment.

    It is a copy, so it still exists after the recorded span was deleted. `notes` state which parts
    of the request were not recorded.
    """

    number: int
    trace_id: str
    span_id: str
    request: Annotated[Document, JsonField(omit=True)]
    recorded: Outcome
    notes: tuple[str, ...] = ()

    @json_property
    def link(self) -> str:
        """The address of the recorded span on the page."""
        return span_link(self.trace_id, self.span_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A change to the previous version. `at_us` is the time of the change in Unix microseconds."""

    number: int
    at_us: int
    patch: Mapping[str, Any]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment with all its versions."""

    id: str
    name: str
    created_us: int
    updated_us: int
    items: Annotated[tuple[Item, ...], JsonField(omit=True)]
    versions: tuple[Version, ...] = ()

    @json_property
    def current(self) -> Annotated[int, JsonField("version")]:
        """The number of the newest version. It is 0 for an experiment without changes."""
        return len(self.versions)

    @json_property
    def thread_id(self) -> str:
        """The thread id of all calls of the experiment."""
        return thread_id(self.id)

    @json_property
    def link(self) -> str:
        """The address of the experiment on the page."""
        return experiment_link(self.id)


@dataclass(frozen=True, slots=True)
class Variant:
    """A version to run. If `model` is not None, it replaces the model of the version."""

    version: int
    model: str | None = None

    @property
    def name(self) -> str:
        """The displayed name, such as `original`, `v2` or `v2 with openai/some-model`."""
        version = f"v{self.version}" if self.version else ORIGINAL
        return f"{version} with {self.model}" if self.model else version


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of a batch. When a limit is reached, no more runs start. None means no limit."""

    cost: float | None = None
    """The maximum cost in US dollars. Only calls whose cost is known are counted."""
    tokens: int | None = None
    seconds: float | None = None
    """The maximum sum of the durations of all runs, in seconds."""


def _names(variants: Sequence[Variant]) -> tuple[str, ...]:
    return tuple(variant.name for variant in variants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The variants that a batch runs. `repeats` is how often it runs each variant with each item.

    `at_once` is the maximum number of concurrent runs. `seconds_each` is the time limit of a run.
    """

    variants: Annotated[tuple[Variant, ...], JsonField(write=_names)]
    repeats: int
    budget: Budget = field(default_factory=Budget)
    at_once: int = 1
    seconds_each: float = 60.0


class BatchState(StrEnum):
    """The state of a batch."""

    RUNNING = "running"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    OUT_OF_BUDGET = "out_of_budget"
    INTERRUPTED = "interrupted"
    """The process that ran the batch ended before the batch did. The batch can be resumed."""


@dataclass(frozen=True, slots=True)
class LastBatch:
    """The newest batch of an experiment.

    It has `total` runs, of which `done` have ended. `failed` is the number of runs that ended with
    a failure.
    """

    id: str
    created_us: int
    state: BatchState
    done: int
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class ListedExperiment:
    """An experiment in a list. `items` is the number of its items.

    `version` is the number of its newest version.
    """

    id: str
    name: str
    created_us: int
    updated_us: int
    items: int
    version: int
    last_batch: LastBatch | None = None

    @json_property
    def thread_id(self) -> str:
        """The thread id of all calls of the experiment."""
        return thread_id(self.id)

    @json_property
    def link(self) -> str:
        """The address of the experiment on the page."""
        return experiment_link(self.id)


@dataclass(frozen=True, slots=True)
class Cell:
    """The position of a run in a batch: a variant, an item and a repeat, each counted from 0."""

    variant: Annotated[int, JsonField(omit=True)]
    item: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The number of completed runs of a batch, and their usage. An unknown `cost` is None."""

    done: int
    total: int
    failed: int
    tokens: int
    cost: float | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The runs of a plan. `outcomes` has the outcome of each completed run, including failed runs.

    `items` is the number of items of the experiment.
    """

    id: str
    experiment_id: str
    created_us: int
    plan: Annotated[Plan, JsonField(inline=True)]
    state: BatchState
    outcomes: Annotated[Mapping[Cell, Outcome], JsonField(omit=True)]
    items: Annotated[int, JsonField(omit=True)]
    reason: str | None = None

    @property
    def total(self) -> int:
        """The number of runs."""
        return len(self.plan.variants) * self.items * self.plan.repeats

    @json_property
    def progress(self) -> Progress:
        """The number of completed runs, and their usage."""
        outcomes = self.outcomes.values()
        known = [outcome.cost for outcome in outcomes if outcome.cost is not None]
        return Progress(
            done=len(outcomes),
            total=self.total,
            failed=sum(outcome.error is not None for outcome in outcomes),
            tokens=sum(outcome.tokens or 0 for outcome in outcomes),
            cost=sum(known) if known else None,
            seconds=sum(outcome.duration_us or 0 for outcome in outcomes) / 1e6,
        )


def thread_id(experiment_id: str) -> str:
    """The thread id of all calls of an experiment."""
    return f"{THREAD_PREFIX}{experiment_id}"


def run_id(batch: Batch, cell: Cell) -> str:
    """The run id of the call for a cell. It stays the same when the batch is resumed."""
    position = f"{cell.variant}.{cell.item}.{cell.repeat}"
    return f"{THREAD_PREFIX}{batch.experiment_id}/{batch.id}/{position}"


class Winner(StrEnum):
    """The output that a scoring model prefers."""

    BASE = "base"
    NEW = "new"
    TIE = "tie"
    UNREADABLE = "unreadable"
    """The scoring model did not answer, or did not name an output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One answer of a scoring model about two outputs.

    `cell` is the run with the new output. The base output is from the variant with the number
    `base`, with the same item and repeat. If `swapped` is True, the new output was the first one in
    the question.
    """

    cell: Annotated[Cell, JsonField(inline=True)]
    base: Annotated[int, JsonField(omit=True)]
    model: str
    criteria: str
    swapped: bool
    winner: Winner
    reason: str
    trace_id: Annotated[str, JsonField(omit=True)]
    span_id: Annotated[str, JsonField(omit=True)]

    @json_property
    def link(self) -> str:
        """The address of the scoring model's span on the page."""
        return span_link(self.trace_id, self.span_id)


def agreed(first: Winner, second: Winner) -> Winner:
    """The common result of two answers about the same pair.

    The answers are for the two orders of the outputs. If they name different outputs, the result is
    a tie, since the model then prefers a position and not an output. If one answer is unreadable,
    the result is unreadable.
    """
    if Winner.UNREADABLE in {first, second}:
        return Winner.UNREADABLE
    return first if first is second else Winner.TIE


def base_number(batch: Batch, name: str | None) -> int | None:
    """The number of the variant to compare with, or None for the recorded calls.

    `name` is the name of the variant, or `recorded`. If it is None and the batch has a single
    variant, the base is the recorded calls. If it is None and there are several variants, the base
    is the original, or the first variant if the original was not run. Raises UsageError for an
    unknown name.
    """
    names = _names(batch.plan.variants)
    if name == RECORDED:
        return None
    if name is not None:
        base = ORIGINAL if name == "v0" else name.replace("@", " with ")
        if base not in names:
            raise UsageError(
                f"The batch has no variant {name!r}.",
                hint=f"It has {', '.join(names)}; {RECORDED} is also available.",
            )
        return names.index(base)
    if len(names) == 1:
        return None
    return names.index(ORIGINAL) if ORIGINAL in names else 0


def named_variant(name: str, current: int) -> Variant:
    """Parse `original`, `current` or `v2`, optionally with `@MODEL`.

    Raises UsageError for another name, and for a version that does not exist.
    """
    version, _, model = name.partition("@")
    if version in {ORIGINAL, CURRENT}:
        return Variant(0 if version == ORIGINAL else current, model or None)
    found = _VERSION.fullmatch(version)
    if found is None or int(found[1]) > current:
        raise UsageError(
            f"There is no variant {name[:100]!r}.",
            hint=f"Available: {ORIGINAL}, {CURRENT} and v1 to v{current}, each also with @MODEL."
            if current
            else f"The experiment has no changes: only {ORIGINAL} is available.",
        )
    return Variant(int(found[1]), model or None)


def with_models(variant: Variant, models: Sequence[str]) -> list[Variant]:
    """Return the variant once for each model, or unchanged if it names its own model."""
    if variant.model is not None or not models:
        return [variant]
    return [replace(variant, model=model) for model in models]
