"""Routes that create, change, run, compare and score experiments.

An experiment runs recorded model calls again, with changed requests. A batch runs several variants
of the request, and each variant several times.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Body, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator

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
from treadle.server.current_project import CurrentServer, Running
from treadle.server.openapi import JsonOf
from treadle.server.routers import api_router
from treadle.server.running_batches import RunningBatches
from treadle.server.state import ServerState
from treadle.traces.query import parse_query

router = api_router("/experiments", "experiments")


@asynccontextmanager
async def open_batches(server: ServerState) -> AsyncIterator[RunningBatches]:
    """Open the object that runs batches in the background. The end of the context cancels them."""
    async with RunningBatches(_experiments(server)) as running:
        yield running


def _experiments(server: ServerState) -> Experiments:
    if server.app.experiments is None:
        raise StoreError("There are no experiments.")
    return server.app.experiments.experiments


def _opened(server: CurrentServer) -> Experiments:
    return _experiments(server)


OpenedExperiments = Annotated[Experiments, Depends(_opened)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewExperiment(_Body):
    """The body of a request that creates an experiment from recorded model calls.

    Either `spans` names the calls, each as `SPAN` or `TRACE/SPAN`, or `query` selects the newest
    `limit` calls that match it.
    """

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
    """The body of a request that changes an experiment.

    `data` is a JSON merge patch (RFC 7396) of the chat request. Its additional key `system` sets
    the text of the system message.
    """

    data: dict[str, Any]
    note: str = Field("", max_length=500)


class Limits(_Body):
    """The budget of a batch. When it is used up, no further run starts. Null means no limit.

    `seconds` limits the sum of the durations of all runs.
    """

    cost: float | None = Field(None, gt=0, description="US dollars")
    tokens: int | None = Field(None, gt=0)
    seconds: float | None = Field(None, gt=0)

    def budget(self) -> Budget:
        return Budget(**self.model_dump())


class NewBatch(_Body):
    """The body of a request that starts a batch.

    A variant is `original`, `current` or a version such as `v2`, optionally followed by
    `@PROVIDER/MODEL`. A variant without a model runs with each of the `models`. `repeats` is the
    number of runs of each variant. `at_once` is the maximum number of concurrent runs.
    `seconds_each` is the time limit of one run.
    """

    repeats: int = Field(5, ge=1, le=MAX_REPEATS)
    variants: list[str] = Field(default_factory=list, max_length=50)
    models: list[str] = Field(default_factory=list, max_length=20)
    budget: Limits = Field(default_factory=Limits)
    at_once: int = Field(1, ge=1, le=16)
    seconds_each: float = Field(60.0, gt=0, le=3_600)


class Resumption(_Body):
    """The body of a request that resumes a batch.

    `budget` replaces the old budget unless it is null. With `retry_failed`, failed runs are
    repeated.
    """

    budget: Limits | None = None
    retry_failed: bool = False


class Judging(_Body):
    """The body of a request that lets a model score the outputs of a batch.

    `model` scores the outputs by `criteria`. The model compares each variant with the variant
    `base`.
    """

    model: str = Field(min_length=1, max_length=300)
    criteria: str = Field(CRITERIA, min_length=1, max_length=2_000)
    base: str | None = None


class Problems(BaseModel):
    """The errors that a changed request would have. The list is empty if the request can run."""

    problems: tuple[Problem, ...]


@router.get("")
async def experiments(
    opened: OpenedExperiments,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> JsonOf[ExperimentPage]:
    """Return one page of all experiments, without their requests."""
    found, total = await asyncio.to_thread(opened.list_experiments, limit=limit, offset=offset)
    return ExperimentPage(found, ExperimentPagination(offset=offset, limit=limit, total=total))


@router.post("", status_code=201)
async def new(opened: OpenedExperiments, body: NewExperiment) -> JsonOf[ExperimentWithBatches]:
    """Create an experiment from recorded model calls."""
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
    """Return an experiment with its batches, and with its requests as recorded and as changed."""
    found = await asyncio.to_thread(opened.get, reference)
    return ExperimentWithBatches.of(found, await asyncio.to_thread(opened.batches, found.id))


@router.patch("/{reference}")
async def change(
    opened: OpenedExperiments, reference: str, body: ExperimentChange
) -> JsonOf[ExperimentWithBatches]:
    """Add a version with a changed request.

    If the changed request is invalid, the server adds nothing and returns all errors.
    """
    changed = await asyncio.to_thread(opened.edit, reference, body.data, note=body.note)
    return ExperimentWithBatches.of(changed)


@router.post("/{reference}/check")
async def check(opened: OpenedExperiments, reference: str, body: ExperimentChange) -> Problems:
    """Return the errors that a change would cause, without changing the experiment."""
    found = await asyncio.to_thread(opened.check, reference, body.data)
    return Problems(problems=found)


@router.delete("/{reference}", status_code=204)
async def delete(opened: OpenedExperiments, reference: str) -> None:
    """Delete an experiment with its runs. The recorded spans are not deleted."""
    await asyncio.to_thread(opened.delete, reference)


@router.get("/{reference}/export")
async def export(opened: OpenedExperiments, reference: str) -> JsonOf[ExportedExperiment]:
    """Return an experiment with its requests, versions, batches, runs, scores and comparisons."""
    return await asyncio.to_thread(opened.export, reference)


@router.get("/{reference}/batches")
async def batches(opened: OpenedExperiments, reference: str) -> JsonOf[BatchList]:
    """Return the batches of an experiment with their progress, oldest first."""
    found = await asyncio.to_thread(opened.get, reference)
    return BatchList(await asyncio.to_thread(opened.batches, found.id))


@router.post("/{reference}/batches", status_code=202)
async def run(
    opened: OpenedExperiments, running: Running, reference: str, body: NewBatch
) -> JsonOf[Batch]:
    """Start a batch and return it without waiting for its end.

    A `GET` request for the batch returns its progress.
    """
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
    """Return a batch with the outcome of each of its runs."""
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return BatchWithRuns.of(found)


@router.post("/{reference}/batches/{batch_reference}/cancel", status_code=202)
async def cancel(opened: OpenedExperiments, reference: str, batch_reference: str) -> JsonOf[Batch]:
    """Cancel a batch within a second. The completed runs of the batch are not deleted."""
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
    """Resume a batch that was cancelled or interrupted, or whose budget was used up.

    The server runs the missing runs. With `retry_failed`, it also repeats the failed runs.
    """
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
    """Compare the variants of a batch with one variant, or with the recorded calls.

    `base` names the variant to compare with, and is `recorded` for the recorded calls. The default
    is `original`. If the batch did not run the original, the default is its first variant. If it
    ran only one variant, the default is `recorded`.
    """
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return await asyncio.to_thread(opened.compare, found.id, base=base)


@router.post("/{reference}/batches/{batch_reference}/judge")
async def judge(
    opened: OpenedExperiments, reference: str, batch_reference: str, body: Judging
) -> JsonOf[Comparison]:
    """Let a model score the outputs, and return the comparison with the scores.

    The model sees each pair of outputs twice, once in each order.
    """
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return await opened.judge(found.id, body.model, criteria=body.criteria, base=body.base)


def _batch(opened: Experiments, reference: str, batch_reference: str) -> Batch:
    """Find a batch of an experiment. Raises NotFoundError for a batch of another experiment."""
    found, of = opened.batch(batch_reference), opened.get(reference)
    if found.experiment_id != of.id:
        raise NotFoundError(f"The experiment {of.id} has no batch {batch_reference[:100]}.")
    return found
