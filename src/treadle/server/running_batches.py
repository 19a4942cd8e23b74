"""The batches of experiments that run in the background of the server."""

import asyncio
import logging
from typing import Self

from treadle.experiments.model import Batch, Budget
from treadle.experiments.service import Experiments

_log = logging.getLogger(__name__)


class RunningBatches:
    """Runs batches in background tasks. All running batches are cancelled when the context ends."""

    def __init__(self, experiments: Experiments) -> None:
        self._experiments = experiments
        self._tasks: set[asyncio.Task[Batch]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def running(self) -> int:
        """The number of batches that are running."""
        return len(self._tasks)

    async def start(
        self, batch_id: str, *, budget: Budget | None = None, retry_failed: bool = False
    ) -> None:
        """Start or resume a batch, and return once it is running.

        With `retry_failed`, failed runs are repeated. Raises UsageError if the batch cannot start.
        """
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
            task.result()  # raises the exception of a batch that could not start

    def _ended(self, task: "asyncio.Task[Batch]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("%s ended: %s", task.get_name(), error)
