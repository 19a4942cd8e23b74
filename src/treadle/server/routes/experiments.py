"""Experiments: made from recorded calls, changed, run, compared and judged."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.requests import HTTPConnection

from treadle.clock import SystemClock
from treadle.errors import NotFoundError, StoreError
from treadle.experiments import shapes
from treadle.experiments.answers import (
    batch_answer,
    batch_with_runs_answer,
    comparison_answer,
    experiment_answer,
    listed_answer,
)
from treadle.experiments.judging import CRITERIA
from treadle.experiments.model import Batch, Budget
from treadle.experiments.requests import Problem
from treadle.experiments.service import (
    MOST_ITEMS,
    MOST_REPEATS,
    Experiments,
)
from treadle.json_schemas import JsonOf
from treadle.server.batches import RunningBatches
from treadle.server.state import CurrentServer, ServerState
from treadle.traces.query import parse_query

router = APIRouter(prefix="/experiments", tags=["experiments"])


@asynccontextmanager
async def open_batches(server: ServerState) -> AsyncIterator[RunningBatches]:
    """What runs in the background as long as the server does; it is cancelled with it."""
    async with RunningBatches(_experiments(server)) as running:
        yield running


def _experiments(server: ServerState) -> Experiments:
    if server.app.experimenting is None:
        raise StoreError("There are no experiments.")
    return server.app.experimenting.experiments


def _opened(server: CurrentServer) -> Experiments:
    return _experiments(server)


def _running(connection: HTTPConnection) -> RunningBatches:
    running: RunningBatches = connection.app.state.batches
    return running


OpenedExperiments = Annotated[Experiments, Depends(_opened)]
Running = Annotated[RunningBatches, Depends(_running)]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewExperiment(_Given):
    """From which recorded calls: spans (each `SPAN` or `TRACE/SPAN`), or the newest of a query."""

    spans: list[str] = Field(default_factory=list, max_length=MOST_ITEMS)
    query: str | None = Field(None, description="a query in the language of the search bar")
    limit: int = Field(20, ge=1, le=MOST_ITEMS)
    name: str = Field("", max_length=200)

    @model_validator(mode="after")
    def _says_one(self) -> "NewExperiment":
        if bool(self.spans) == (self.query is not None):
            raise ValueError("give either spans or a query")
        return self


class ExperimentChange(_Given):
    """A merge patch of the request; `system` sets the text of its system message."""

    data: dict[str, Any]
    note: str = Field("", max_length=500)


class Limits(_Given):
    """What a batch may use up before no further run is begun; null: no limit."""

    cost: float | None = Field(None, gt=0, description="US dollars")
    tokens: int | None = Field(None, gt=0)
    seconds: float | None = Field(None, gt=0)

    def budget(self) -> Budget:
        return Budget(**self.model_dump())


class NewBatch(_Given):
    """What to run: `original`, `current`, `v2`, each perhaps with `@PROVIDER/MODEL` behind it."""

    repeats: int = Field(5, ge=1, le=MOST_REPEATS)
    variants: list[str] = Field(default_factory=list, max_length=50)
    models: list[str] = Field(default_factory=list, max_length=20)
    budget: Limits = Field(default_factory=Limits)
    at_once: int = Field(1, ge=1, le=16)
    seconds_each: float = Field(60.0, gt=0, le=3_600)


class Resumption(_Given):
    """How to go on: with another budget, and whether failed runs are made again."""

    budget: Limits | None = None
    retry_failed: bool = False


class Judging(_Given):
    """Who judges, by what, against which variant."""

    model: str = Field(min_length=1, max_length=300)
    criteria: str = Field(CRITERIA, min_length=1, max_length=2_000)
    base: str | None = None


class Problems(BaseModel):
    """All that would be wrong; empty if it can be run."""

    problems: tuple[Problem, ...]


@router.get("")
async def experiments(
    opened: OpenedExperiments,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> JsonOf[shapes.ExperimentPage]:
    """All experiments, without their requests."""
    found, total = await asyncio.to_thread(opened.listed, limit=limit, offset=offset)
    place: shapes.ExperimentPlace = {"offset": offset, "limit": limit, "total": total}
    return {"data": [listed_answer(each) for each in found], "pagination": place}


@router.post("", status_code=201)
async def new(opened: OpenedExperiments, given: NewExperiment) -> JsonOf[shapes.Experiment]:
    """Make an experiment from recorded calls."""
    if given.query is None:
        made = await asyncio.to_thread(opened.from_spans, given.spans, name=given.name)
    else:
        query = parse_query(given.query, now_us=SystemClock().now_us())
        made = await asyncio.to_thread(opened.from_query, query, limit=given.limit, name=given.name)
    return experiment_answer(made)


@router.get("/{reference}")
async def experiment(opened: OpenedExperiments, reference: str) -> JsonOf[shapes.Experiment]:
    """An experiment with its requests, as recorded and as changed, and its batches."""
    found = await asyncio.to_thread(opened.get, reference)
    return experiment_answer(found, await asyncio.to_thread(opened.batches, found.id))


@router.patch("/{reference}")
async def change(
    opened: OpenedExperiments, reference: str, given: ExperimentChange
) -> JsonOf[shapes.Experiment]:
    """Add a version. A request that could not be made is refused with all that is wrong."""
    changed = await asyncio.to_thread(opened.edit, reference, given.data, note=given.note)
    return experiment_answer(changed)


@router.post("/{reference}/check")
async def check(opened: OpenedExperiments, reference: str, given: ExperimentChange) -> Problems:
    """What would be wrong after that change; nothing is changed."""
    found = await asyncio.to_thread(opened.check, reference, given.data)
    return Problems(problems=found)


@router.delete("/{reference}", status_code=204)
async def delete(opened: OpenedExperiments, reference: str) -> None:
    """Delete an experiment with its runs; the recorded spans stay."""
    await asyncio.to_thread(opened.delete, reference)


@router.get("/{reference}/export")
async def export(opened: OpenedExperiments, reference: str) -> JsonOf[shapes.ExportedExperiment]:
    """Everything that is known of an experiment."""
    return await asyncio.to_thread(opened.export, reference)


@router.get("/{reference}/batches")
async def batches(opened: OpenedExperiments, reference: str) -> JsonOf[shapes.BatchList]:
    """The batches of an experiment, the oldest first, with how far they are."""
    found = await asyncio.to_thread(opened.get, reference)
    listed = await asyncio.to_thread(opened.batches, found.id)
    return {"data": [batch_answer(each) for each in listed]}


@router.post("/{reference}/batches", status_code=202)
async def run(
    opened: OpenedExperiments, running: Running, reference: str, given: NewBatch
) -> JsonOf[shapes.Batch]:
    """Begin to run variants; ask for the batch to see how far it is."""
    planned = await asyncio.to_thread(
        opened.plan,
        reference,
        repeats=given.repeats,
        variants=given.variants,
        models=given.models,
        budget=given.budget.budget(),
        at_once=given.at_once,
        seconds_each=given.seconds_each,
    )
    await running.start(planned.id)
    return batch_answer(await asyncio.to_thread(opened.batch, planned.id))


@router.get("/{reference}/batches/{batch_reference}")
async def batch(
    opened: OpenedExperiments, reference: str, batch_reference: str
) -> JsonOf[shapes.BatchWithRuns]:
    """A batch with what came of each of its runs."""
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return batch_with_runs_answer(found)


@router.post("/{reference}/batches/{batch_reference}/cancel", status_code=202)
async def cancel(
    opened: OpenedExperiments, reference: str, batch_reference: str
) -> JsonOf[shapes.Batch]:
    """Ask whoever runs it to stop, which takes up to a second; what ran is kept."""
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return batch_answer(await asyncio.to_thread(opened.cancel, found.id))


@router.post("/{reference}/batches/{batch_reference}/resume", status_code=202)
async def resume(
    opened: OpenedExperiments,
    running: Running,
    reference: str,
    batch_reference: str,
    given: Annotated[Resumption | None, Body()] = None,
) -> JsonOf[shapes.Batch]:
    """Run what is missing of a batch that was cancelled, interrupted or out of budget."""
    given = given or Resumption()
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    budget = given.budget.budget() if given.budget else None
    await running.start(found.id, budget=budget, retry_failed=given.retry_failed)
    return batch_answer(await asyncio.to_thread(opened.batch, found.id))


@router.get("/{reference}/batches/{batch_reference}/comparison")
async def comparison(
    opened: OpenedExperiments,
    reference: str,
    batch_reference: str,
    base: Annotated[str | None, Query(description="a variant, or `recorded`")] = None,
) -> JsonOf[shapes.Comparison]:
    """The variants of a batch against one of them; left out, against the original."""
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    return comparison_answer(await asyncio.to_thread(opened.compare, found.id, base=base))


@router.post("/{reference}/batches/{batch_reference}/judge")
async def judge(
    opened: OpenedExperiments, reference: str, batch_reference: str, given: Judging
) -> JsonOf[shapes.Comparison]:
    """Let a model judge the outputs, each pair in both orders, and compare when it has."""
    found = await asyncio.to_thread(_batch, opened, reference, batch_reference)
    compared = await opened.judge(found.id, given.model, criteria=given.criteria, base=given.base)
    return comparison_answer(compared)


def _batch(opened: Experiments, reference: str, batch_reference: str) -> Batch:
    """A batch of that experiment. Raises NotFoundError for one of another."""
    found, of = opened.batch(batch_reference), opened.get(reference)
    if found.experiment_id != of.id:
        raise NotFoundError(f"The experiment {of.id} has no batch {batch_reference[:100]}.")
    return found
