"""Runs a batch: every run once, each kept as soon as it is over, until it is done or told to stop.

The runs go round the variants, so that a provider's good and bad minutes meet all of them alike.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from treadle.clock import Clock
from treadle.experiments.calling import LABEL, THREAD_PREFIX, Caller, CallRequest
from treadle.experiments.claims import claimed
from treadle.experiments.documents import document_of
from treadle.experiments.model import (
    Batch,
    BatchState,
    Budget,
    Cell,
    Experiment,
    Outcome,
    Plan,
)
from treadle.experiments.requests import body_of
from treadle.experiments.store import ExperimentStore

_LOOK_SECONDS = 0.3
"""How often it is looked whether somebody wants the batch to stop."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a batch is, and what it has used up. `cost` is None while none is known."""

    done: int
    total: int
    failed: int
    tokens: int
    cost: float | None
    seconds: float


def progress_of(batch: Batch) -> Progress:
    """How far it is."""
    outcomes = batch.outcomes.values()
    known = [outcome.cost for outcome in outcomes if outcome.cost is not None]
    return Progress(
        done=len(outcomes),
        total=batch.total,
        failed=sum(outcome.error is not None for outcome in outcomes),
        tokens=sum(outcome.tokens or 0 for outcome in outcomes),
        cost=sum(known) if known else None,
        seconds=sum(outcome.duration_us or 0 for outcome in outcomes) / 1e6,
    )


def cells(plan: Plan, items: int) -> list[Cell]:
    """All runs of a batch, in the order in which they are made."""
    return [
        Cell(variant, item, repeat)
        for repeat in range(plan.repeats)
        for item in range(items)
        for variant in range(len(plan.variants))
    ]


def thread_id(experiment_id: str) -> str:
    """The thread of all calls of an experiment."""
    return f"{THREAD_PREFIX}{experiment_id}"


def run_id(batch: Batch, cell: Cell) -> str:
    """The run of one call; the same when the batch is resumed."""
    place = f"{cell.variant}.{cell.item}.{cell.repeat}"
    return f"{THREAD_PREFIX}{batch.experiment_id}/{batch.id}/{place}"


def over_budget(budget: Budget, used: Progress) -> str | None:
    """Which limit is reached, in words; None while none is.

    A limit of cost is reached as well once runs are done whose cost nobody knows.
    """
    if budget.cost is not None and used.cost is None and used.done > used.failed:
        return "The cost of this model is unknown, so the cost budget cannot be enforced."
    limits = (
        ("cost", budget.cost, used.cost or 0.0, "${:.4f}"),
        ("tokens", budget.tokens, used.tokens, "{:,} tokens"),
        ("time", budget.seconds, used.seconds, "{:.1f} s"),
    )
    for what, most, spent, form in limits:
        if most is not None and spent >= most:
            return f"The budget of {what} is used up: {form.format(spent)}."
    return None


@dataclass(slots=True)
class _Run:
    """A batch while it runs."""

    experiment: Experiment
    batch: Batch
    progress: Callable[[Progress], None]
    todo: deque[Cell]
    outcomes: dict[Cell, Outcome]
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    keeping: set[asyncio.Future[None]] = field(default_factory=set)
    """What is being kept: it is waited for even where its worker is told to end."""
    state: BatchState = BatchState.FINISHED
    reason: str | None = None

    def used(self) -> Progress:
        return progress_of(replace(self.batch, outcomes=self.outcomes))

    def stop(self, state: BatchState, reason: str | None = None) -> None:
        if not self.stopped.is_set():
            self.state, self.reason = state, reason
            self.stopped.set()


class Runner:
    """Runs batches. `claims` is the folder in which a process says which it runs."""

    def __init__(self, store: ExperimentStore, caller: Caller, clock: Clock, claims: Path) -> None:
        self._store = store
        self._caller = caller
        self._clock = clock
        self._claims = claims

    def claim(self, batch_id: str) -> Path:
        """The file that stands for the running of a batch."""
        return self._claims / batch_id

    async def run(
        self,
        experiment: Experiment,
        batch: Batch,
        progress: Callable[[Progress], None],
        *,
        again: Iterable[Cell] = (),
    ) -> None:
        """Make all runs that are not done yet, and those of `again`, which had failed.

        Raises UsageError when it runs elsewhere, StoreError when a run cannot be kept. When this
        is cancelled, so is the batch; what is done is kept.
        """
        with claimed(self.claim(batch.id)):
            outcomes = dict(batch.outcomes)
            for cell in again:
                outcomes.pop(cell, None)
            await asyncio.to_thread(self._store.set_state, batch.id, BatchState.RUNNING)
            run = _Run(experiment, batch, progress, deque(), outcomes)
            await self._adopt(run)
            run.todo.extend(
                cell for cell in cells(batch.plan, batch.items) if cell not in run.outcomes
            )
            progress(run.used())
            try:
                await self._work_off(run)
            except asyncio.CancelledError:
                run.stop(BatchState.CANCELLED, "The program that ran it was terminated.")
                raise
            except Exception as error:
                run.stop(BatchState.INTERRUPTED, str(error) or type(error).__name__)
                raise
            finally:
                # Not in a thread: a second cancelling would leave it undone.
                self._store.set_state(batch.id, run.state, run.reason)

    async def _adopt(self, run: _Run) -> None:
        """Take over the runs whose answers were recorded just before their process ended."""
        for cell in await asyncio.to_thread(self._store.begun, run.batch.id):
            outcome = await self._caller.recorded(run_id(run.batch, cell))
            if outcome is not None:
                await self._keep(run, cell, outcome)

    async def _work_off(self, run: _Run) -> None:
        workers = [
            asyncio.create_task(self._work(run), name=f"experiment {run.batch.id}")
            for _ in range(min(run.batch.plan.at_once, len(run.todo)))
        ]
        watching = asyncio.create_task(self._watch(run))
        stopping = asyncio.create_task(run.stopped.wait())
        together = asyncio.gather(*workers)
        ends: set[asyncio.Future[Any]] = {together, stopping}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if together.done():
                together.result()  # raises what a worker failed with
        finally:
            helping = [watching, stopping, *workers]
            for task in helping:
                task.cancel()
            await asyncio.gather(*helping, together, *run.keeping, return_exceptions=True)

    async def _work(self, run: _Run) -> None:
        while run.todo and not run.stopped.is_set():
            reason = over_budget(run.batch.plan.budget, run.used())
            if reason is not None:
                run.stop(BatchState.OUT_OF_BUDGET, reason)
                return
            cell = run.todo.popleft()
            await asyncio.to_thread(self._store.begin, run.batch.id, cell)
            outcome = await self._caller.call(self._request(run, cell))
            keeping = asyncio.ensure_future(self._keep(run, cell, outcome))
            run.keeping.add(keeping)
            await asyncio.shield(keeping)
            run.keeping.discard(keeping)

    def _request(self, run: _Run, cell: Cell) -> CallRequest:
        batch, experiment = run.batch, run.experiment
        variant = batch.plan.variants[cell.variant]
        document = document_of(experiment, cell.item, variant.version)
        return CallRequest(
            body=body_of(document, variant.model),
            thread_id=thread_id(experiment.id),
            run_id=run_id(batch, cell),
            labels=(LABEL, f"{LABEL}:{variant.name}"),
            headers=document.get("headers", {}),
            seconds=batch.plan.seconds_each,
        )

    async def _keep(self, run: _Run, cell: Cell, outcome: Outcome) -> None:
        await asyncio.to_thread(self._store.finish, run.batch.id, cell, outcome)
        run.outcomes[cell] = outcome
        run.progress(run.used())

    async def _watch(self, run: _Run) -> None:
        """Stop the batch when somebody asks for it, in this process or another one."""
        while True:
            await self._clock.sleep(_LOOK_SECONDS)
            if await asyncio.to_thread(self._store.is_cancelling, run.batch.id):
                run.stop(BatchState.CANCELLED)
