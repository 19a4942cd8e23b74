"""Makes the runs of a batch that have no outcome, and stores each outcome immediately.

A cell is the position of a run in its batch. The runs alternate between the variants, so that a
slow period of a provider affects all variants equally. A batch is running while a process holds
its lock. The lock ends with that process.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from treadle.clock import Clock
from treadle.experiments.caller import LABEL, Caller, CallRequest
from treadle.experiments.model import (
    Batch,
    BatchState,
    Budget,
    Cell,
    Experiment,
    Outcome,
    Plan,
    Progress,
    run_id,
    thread_id,
)
from treadle.experiments.requests import body_of, document_of
from treadle.experiments.store import ExperimentStore
from treadle.traces.amounts import cost as cost_text

_POLL_SECONDS = 0.3
"""The seconds between two checks for a cancellation, which may come from another process."""


def cells(plan: Plan, items: int) -> list[Cell]:
    """The cells of all runs of a batch, in execution order."""
    return [
        Cell(variant, item, repeat)
        for repeat in range(plan.repeats)
        for item in range(items)
        for variant in range(len(plan.variants))
    ]


def over_budget(budget: Budget, used: Progress) -> str | None:
    """A sentence about the limit that is reached, or None if no limit is reached.

    A cost limit also counts as reached if the cost of a completed run is unknown, since the limit
    can no longer be enforced.
    """
    if budget.cost is not None and used.cost is None and used.done > used.failed:
        return "The cost of this model is unknown, so the cost budget cannot be enforced."
    limits = (
        ("cost", budget.cost, used.cost or 0.0, cost_text),
        ("tokens", budget.tokens, used.tokens, "{:,} tokens".format),
        ("time", budget.seconds, used.seconds, "{:.1f} s".format),
    )
    for what, most, spent, form in limits:
        if most is not None and spent >= most:
            return f"The budget of {what} is used up: {form(spent)}."
    return None


@dataclass(slots=True)
class _Run:
    """The state of a running batch."""

    experiment: Experiment
    batch: Batch
    progress: Callable[[Progress], None]
    todo: deque[Cell]
    outcomes: dict[Cell, Outcome]
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    writes: set[asyncio.Future[None]] = field(default_factory=set)
    """The unfinished writes of outcomes.

        The batch waits for them even if the task that began them is cancelled.
    """
    state: BatchState = BatchState.FINISHED
    reason: str | None = None

    def used(self) -> Progress:
        return replace(self.batch, outcomes=self.outcomes).progress

    def stop(self, state: BatchState, reason: str | None = None) -> None:
        if not self.stopped.is_set():
            self.state, self.reason = state, reason
            self.stopped.set()


class Runner:
    """Runs batches."""

    def __init__(self, store: ExperimentStore, caller: Caller, clock: Clock) -> None:
        self._store = store
        self._caller = caller
        self._clock = clock

    async def run(
        self,
        experiment: Experiment,
        batch: Batch,
        progress: Callable[[Progress], None],
        *,
        again: Iterable[Cell] = (),
    ) -> None:
        """Make the runs that have no outcome, and repeat the runs of the cells `again`.

        Cancelling this call cancels the batch. Completed runs stay stored. Raises UsageError if
        another call runs the batch, and StoreError if an outcome cannot be stored.
        """
        with self._store.running(batch.id):
            outcomes = dict(batch.outcomes)
            for cell in again:
                outcomes.pop(cell, None)
            await asyncio.to_thread(self._store.set_state, batch.id, BatchState.RUNNING)
            run = _Run(experiment, batch, progress, deque(), outcomes)
            await self._recover(run)
            run.todo.extend(
                cell for cell in cells(batch.plan, batch.items) if cell not in run.outcomes
            )
            progress(run.used())
            try:
                await self._run_all(run)
            except asyncio.CancelledError:
                run.stop(BatchState.CANCELLED, "The program that ran it was terminated.")
                raise
            except Exception as error:
                run.stop(BatchState.INTERRUPTED, str(error) or type(error).__name__)
                raise
            finally:
                # The state is set without a thread. Otherwise a second cancellation would skip this
                # statement.
                self._store.set_state(batch.id, run.state, run.reason)

    async def _recover(self, run: _Run) -> None:
        """Store outcomes that are missing although the calls are recorded.

        The process that made such a call ended after it recorded the call and before it stored the
        outcome.
        """
        for cell in await asyncio.to_thread(self._store.unfinished_runs, run.batch.id):
            outcome = await self._caller.recorded(run_id(run.batch, cell))
            if outcome is not None:
                await self._store_outcome(run, cell, outcome)

    async def _run_all(self, run: _Run) -> None:
        workers = [
            asyncio.create_task(self._work(run), name=f"experiment {run.batch.id}")
            for _ in range(min(run.batch.plan.at_once, len(run.todo)))
        ]
        watcher = asyncio.create_task(self._watch(run))
        stopped = asyncio.create_task(run.stopped.wait())
        together = asyncio.gather(*workers)
        ends: set[asyncio.Future[Any]] = {together, stopped}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if together.done():
                together.result()  # raises the error of a worker
        finally:
            tasks = [watcher, stopped, *workers]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, together, *run.writes, return_exceptions=True)

    async def _work(self, run: _Run) -> None:
        while run.todo and not run.stopped.is_set():
            reason = over_budget(run.batch.plan.budget, run.used())
            if reason is not None:
                run.stop(BatchState.OUT_OF_BUDGET, reason)
                return
            cell = run.todo.popleft()
            await asyncio.to_thread(self._store.begin, run.batch.id, cell)
            outcome = await self._caller.call(self._request(run, cell))
            write = asyncio.ensure_future(self._store_outcome(run, cell, outcome))
            run.writes.add(write)
            await asyncio.shield(write)
            run.writes.discard(write)

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

    async def _store_outcome(self, run: _Run, cell: Cell, outcome: Outcome) -> None:
        await asyncio.to_thread(self._store.finish, run.batch.id, cell, outcome)
        run.outcomes[cell] = outcome
        run.progress(run.used())

    async def _watch(self, run: _Run) -> None:
        """Stop the batch on a cancellation, from this process or another one."""
        while True:
            await self._clock.sleep(_POLL_SECONDS)
            if await asyncio.to_thread(self._store.is_cancelling, run.batch.id):
                run.stop(BatchState.CANCELLED)
