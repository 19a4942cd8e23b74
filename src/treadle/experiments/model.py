"""What an experiment is: recorded calls, versions of a change to them, and what running them gave.

An experiment holds one recorded call or a set of them, its *items*. A change is a merge patch
(RFC 7396) on the request of each item; version n is the recorded request with the first n patches
applied, and version 0 is the recorded request itself. A *batch* runs some *variants* (a version,
perhaps with another model) n times over all items; each of these runs is a *cell*.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Document = Mapping[str, Any]
"""A request as it is edited: `model`, `messages`, `parameters`, `tools`, `headers`, `variables`."""

ORIGINAL = "original"
CURRENT = "current"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool that a model made. `arguments` is the text that it wrote."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a call, as its span tells. What nobody knows is None, never 0.

    `tokens` and `cost` (US dollars) are those of all its attempts; times are microseconds. `raw`
    is the recorded output: a JSON list of messages, or text. `error` is set when it failed.
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

    @property
    def tokens(self) -> int | None:
        """Input and output together."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A recorded call. It is kept here whole, so that it outlives the record of its span."""

    number: int
    trace_id: str
    span_id: str
    request: Document
    recorded: Outcome
    notes: tuple[str, ...] = ()
    """What of the request the record does not hold, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A change to the version before it. `at_us` is Unix microseconds."""

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
    items: tuple[Item, ...]
    versions: tuple[Version, ...] = ()

    @property
    def current(self) -> int:
        """The number of the newest version; 0 while nothing was changed."""
        return len(self.versions)


@dataclass(frozen=True, slots=True)
class Variant:
    """What is run: a version, with its own model or with another one."""

    version: int
    model: str | None = None

    @property
    def name(self) -> str:
        """How people name it: `original`, `v2`, `v2 with openai/some-model`."""
        version = f"v{self.version}" if self.version else ORIGINAL
        return f"{version} with {self.model}" if self.model else version


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a batch may use up before no further run is begun. None: no limit."""

    cost: float | None = None
    """US dollars, of the calls whose cost is known."""
    tokens: int | None = None
    seconds: float | None = None
    """Of all its runs together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a batch is to run. `at_once` runs go on at the same time."""

    variants: tuple[Variant, ...]
    repeats: int
    budget: Budget = field(default_factory=Budget)
    at_once: int = 1
    seconds_each: float = 60.0


class BatchState(StrEnum):
    """How far a batch is."""

    RUNNING = "running"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    OUT_OF_BUDGET = "out_of_budget"
    INTERRUPTED = "interrupted"
    """The process that ran it ended in the middle. Like the two above, it can be resumed."""


@dataclass(frozen=True, slots=True)
class LastBatch:
    """How far the newest batch of an experiment is: `done` of `total` runs, `failed` of them."""

    id: str
    created_us: int
    state: BatchState
    done: int
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class Listed:
    """An experiment as lists show it: how many items it has, and the number of its version."""

    id: str
    name: str
    created_us: int
    updated_us: int
    items: int
    version: int
    last_batch: LastBatch | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a batch: which of its variants, on which item, for the how manieth time."""

    variant: int
    item: int
    repeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Runs that belong together. `outcomes` holds those that are done, failed ones too."""

    id: str
    experiment_id: str
    created_us: int
    plan: Plan
    state: BatchState
    outcomes: Mapping[Cell, Outcome]
    items: int
    reason: str | None = None

    @property
    def total(self) -> int:
        """How many runs it is in all."""
        return len(self.plan.variants) * self.items * self.plan.repeats
