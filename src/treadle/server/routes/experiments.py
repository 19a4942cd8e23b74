"""Routes that create, change, run, compare and score experiments."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Self

from fastapi import APIRouter, Body, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.requests import HTTPConnection

from treadle.clock import SystemClock
from treadle.errors import NotFoundError, StoreError
from treadle.experiments.answers import (
    BatchList,
    BatchWithRuns,
    ExperimentPage,
    ExperimentPagination,
    ExperimentWithBatches,
    ExportedExperiment,
)
from treadle.experiments.comparison import Comparison
from treadle.experiments.judge import CRITERIA
from treadle.experiments.model import Batch, Budget
from treadle.experiments.requests import Problem
from treadle.experiments.service import (
    MAX_ITEMS,
    MAX_REPEATS,
    Experiments,
)
from treadle.server.openapi import JsonOf
from treadle.server.state import CurrentServer, ServerState
from treadle.traces.query import parse_query

_log = logging.getLogger(__name__)


class RunningBatches:
    """Runs batches until its context ends, and then cancels the batches that still run."""

    def __init__(self, experiments: Experiments) -> None:
        self._experiments = experiments
        self._tasks: set[asyncio.Task[Batch]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def start(
        self, batch_id: str, *, budget: Budget | None = None, retry_failed: bool = False
    ) -> None:
        """Start or resume a batch; returns once it runs. Raises UsageError if it cannot start."""
        begun = asyncio.Event()
        running = self._experiments.run_batch(
            batch_id, lambda _progress: begun.set(), budget=budget, retry_failed=retry_failed
        )
        task = asyncio.create_task(running, name=f"batch {batch_id}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        waiting = asyncio.create_task(begun.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if task.done():
            task.result()  # raises the reason

    def _ended(self, task: "asyncio.Task[Batch]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("%s ended: %s", task.get_name(), error)


router = APIRouter(prefix="/experiments", tags=["experiments"])


@asynccontextmanager
async def open_batches(server: ServerState) -> AsyncIterator[RunningBatches]:
    """The batches that run in the background. The end of the server cancels them."""
    async with RunningBatches(_experiments(server)) as running:
        yield running


def _experiments(server: ServerState) -> Experiments:
    if server.app.experiments is None:
        raise StoreError("There are no experiments.")
    return server.app.experiments.experiments


def _opened(server: CurrentServer) -> Experiments:
    return _experiments(server)


def _running(connection: HTTPConnection) -> RunningBatches:
    running: RunningBatches = connection.app.state.batches
    return running


OpenedExperiments = Annotated[Experiments, Depends(_opened)]
Running = Annotated[RunningBatches, Depends(_running)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewExperiment(_Body):
    """The recorded calls: spans (each `SPAN` or `TRACE/SPAN`), or the newest ones of a query."""

    spans: list[str] = Field(default_factory=list, max_length=MAX_ITEMS)
    query: str | None = Field(None, description="a query in the language of the search bar")
    limit: int = Field(20, ge=1, le=MAX_ITEMS)
    name: str = Field("", max_length=200)

    @model_validator(mode="after")
    def _check_source(self) -> "NewExperiment":
        if bool(self.spans) == (self.query is not None):
            raise ValueError("give either spans or a query")
        return self


class ExperimentChange(_Body):
    """A merge patch of the request; `system` sets the text of its system message."""

    data: dict[str, Any]
    note: str = Field("", max_length=500)


class Limits(_Body):
    """The limits above which a batch starts no more runs; null: no limit."""

    cost: float | None = Field(None, gt=0, description="US dollars")
    tokens: int | None = Field(None, gt=0)
    seconds: float | None = Field(None, gt=0)

    def budget(self) -> Budget:
        return Budget(**self.model_dump())


class NewBatch(_Body):
    """The runs. Variants are `original`, `current` or `v2`, optionally with `@PROVIDER/MODEL`."""

    repeats: int = Field(5, ge=1, le=MAX_REPEATS)
    variants: list[str] = Field(default_factory=list, max_length=50)
    models: list[str] = Field(default_factory=list, max_length=20)
    budget: Limits = Field(default_factory=Limits)
    at_once: int = Field(1, ge=1, le=16)
    seconds_each: float = Field(60.0, gt=0, le=3_600)


class Resumption(_Body):
    """The new budget, and whether to repeat failed runs."""

    budget: Limits | None = None
    retry_failed: bool = False


class Judging(_Body):
    """The scoring model, its criterion, and the variant to compare with."""

    model: str = Field(min_length=1, max_length=300)
    criteria: str = Field(CRITERIA, min_length=1, max_length=2_000)
    base: str | None = None


class Problems(BaseModel):
    """The errors of a change; empty if the request can run."""

    problems: tuple[Problem, ...]


@router.get("")
async def experiments(
    opened: OpenedExperiments,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> JsonOf[ExperimentPage]:
    """All experiments, without their requests."""
    found, total = await asyncio.to_thread(opened.list_experiments, limit=limit, offset=offset)
    return ExperimentPage(found, ExperimentPagination(offset=offset, limit=limit, total=total))


@router.post("", status_code=201)
async def new(opened: OpenedExperiments, body: NewExperiment) -> JsonOf[ExperimentWithBatches]:
    """Create an experiment from recorded calls."""
    if body.query is None:
        created = await asyncio.to_thread(opened.from_spans, body.spans, name=body.name)
    else:
        query = parse_query(body.query, now_us=SystemClock().now_us())
        created = await asyncio.to_thread(
            opened.from_query, query, limit=body.limit, name=body.name
        )
    return ExperimentWithBatches.of(created)


@router.get("/{reference}")
async def experiment(opened: OpenedExperiments, reference: str) -> JsonOf[ExperimentWithBatches]:
    """An experiment with its requests, as recorded and as changed, and its batches."""
    found = await asyncio.to_thread(opened.get, reference)
    return ExperimentWithBatches.of(found, await asyncio.to_thread(opened.batches, found.id))


@router.patch("/{reference}")
async def change(
    opened: OpenedExperiments, reference: str, body: ExperimentChange
) -> JsonOf[ExperimentWithBatches]:
    """Add a version. An invalid request is refused with all its errors."""
    changed = await asyncio.to_thread(opened.edit, reference, body.data, note=body.note)
    return ExperimentWithBatches.of(changed)


@router.post("/{reference}/check")
async def check(opened: OpenedExperiments, reference: str, body: ExperimentChange) -> Problems:
    """The errors that a change would cause. This changes nothing."""
    found = await asyncio.to_thread(opened.check, reference, body.data)
    return Problems(problems=found)


@router.delete("/{reference}", status_code=204)
async def delete(opened: OpenedExperiments, reference: str) -> None:
    """Delete an experiment with its runs, but not the recorded spans."""
    await asyncio.to_thread(opened.delete, reference)


@router.get("/{reference}/export")
async def export(opened: OpenedExperiments, reference: str) -> JsonOf[ExportedExperiment]:
    """An experiment with its requests, versions, batches, runs, scores and comparisons."""
    return await asyncio.to_thread(opened.export, reference)


@router.get("/{reference}/batches")
async def batches(opened: OpenedExperiments, reference: str) -> JsonOf[BatchList]:
    """The batches of an experiment with their progress, oldest first."""
    found = await asyncio.to_thread(opened.get, reference)
    return BatchList(await asyncio.to_thread(opened.batches, found.id))


@router.post("/{reference}/batches", status_code=202)
async def run(
    opened: OpenedExperiments, running: Running, reference: str, body: NewBatch
) -> JsonOf[Batch]:
    """Start to run variants. The batch has the progress."""
    planned = await asyncio.to_thread(
        opened.plan,
        reference,
        repeats=body.repeats,
        variants=body.variants,
        models=body.models,
        budget=body.budget.budget(),
        at_once=body.at_once,
        seconds_each=body.seconds_each,
    )
    await running.start(planned.id)
    return await asyncio.to_thread(opened.batch, planned.id)


@router.get("/{reference}/batches/{batch_reference}")
async def batch(
    opened: OpenedExperiments, reference: str, batch_reference: str
) -> JsonOf[BatchWithRuns]:
    """A batch with the outcome of each run."""
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return BatchWithRuns.of(found)


@router.post("/{reference}/batches/{batch_reference}/cancel", status_code=202)
async def cancel(opened: OpenedExperiments, reference: str, batch_reference: str) -> JsonOf[Batch]:
    """Cancel a batch, which takes up to a second. Completed runs stay stored."""
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return await asyncio.to_thread(opened.cancel, found.id)


@router.post("/{reference}/batches/{batch_reference}/resume", status_code=202)
async def resume(
    opened: OpenedExperiments,
    running: Running,
    reference: str,
    batch_reference: str,
    body: Annotated[Resumption | None, Body()] = None,
) -> JsonOf[Batch]:
    """Run the missing runs of a cancelled or interrupted batch, or of one without budget left."""
    body = body or Resumption()
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    budget = body.budget.budget() if body.budget else None
    await running.start(found.id, budget=budget, retry_failed=body.retry_failed)
    return await asyncio.to_thread(opened.batch, found.id)


@router.get("/{reference}/batches/{batch_reference}/comparison")
async def comparison(
    opened: OpenedExperiments,
    reference: str,
    batch_reference: str,
    base: Annotated[str | None, Query(description="a variant, or `recorded`")] = None,
) -> JsonOf[Comparison]:
    """The variants of a batch compared with a base. The default base is the original."""
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return await asyncio.to_thread(opened.compare, found.id, base=base)


@router.post("/{reference}/batches/{batch_reference}/judge")
async def judge(
    opened: OpenedExperiments, reference: str, batch_reference: str, body: Judging
) -> JsonOf[Comparison]:
    """Let a model score the outputs, each pair in both orders, then compare."""
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return await opened.judge(found.id, body.model, criteria=body.criteria, base=body.base)


def _batch(opened: Experiments, reference: str, batch_reference: str) -> Batch:
    """A batch of the experiment. Raises NotFoundError for a batch of another experiment."""
    found, of = opened.batch(batch_reference), opened.get(reference)
    if found.experiment_id != of.id:
        raise NotFoundError(f"The experiment {of.id} has no batch {batch_reference[:100]}.")
    return found
