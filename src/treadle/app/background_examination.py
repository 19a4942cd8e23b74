"""Examines new spans while ingest is idle, so that queries do not wait."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Protocol

from treadle.clock import Clock
from treadle.config.traces import DetectorSettings
from treadle.diagnosis.detectors import Rule
from treadle.diagnosis.findings import examiners
from treadle.errors import StoreError
from treadle.traces.store.examinations import SpanExaminer
from treadle.traces.store.results import Changes

TICK_SECONDS = 0.5
"""The interval between checks for new spans."""
FEW = 50
"""An examination waits if more new spans than this arrive in an interval."""
AT_ONCE = 100
"""The maximum number of spans in one examination. They take about 20 ms."""
PAUSE_SECONDS = 0.05
HELD_AT_MOST = 20
"""The maximum number of pauses in a row for waiting requests."""
RETRY_SECONDS = 60.0

_log = logging.getLogger(__name__)


class Examinable(Protocol):
    """A store that examines its spans; see `SqliteTraceStore`."""

    def changes(self, after: int | None, *, limit: int = 1000) -> Changes: ...

    def examine(self, examiners: Sequence[SpanExaminer], *, most: int | None = None) -> int: ...


class ActiveRequests:
    """Counts the requests that wait for an answer. Background work pauses for them."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def track(self) -> Iterator[None]:
        """Count one request while the context is open."""
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1


def rules_of(settings: DetectorSettings) -> tuple[Rule, ...]:
    """The user's rules for the detectors."""
    return tuple(map(Rule.of, settings.rules))


@asynccontextmanager
async def examined(
    store: Examinable, settings: DetectorSettings, clock: Clock, active_requests: ActiveRequests
) -> AsyncIterator[None]:
    """Examine new spans in the background while the context is open."""
    examining = keep_examined(store, rules_of(settings), clock, active_requests)
    task = asyncio.create_task(examining, name="examining")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def keep_examined(
    store: Examinable, rules: Sequence[Rule], clock: Clock, active_requests: ActiveRequests
) -> None:
    """Examine new spans whenever few spans arrive, until cancelled. Failures are logged."""
    before = done = None
    held = 0
    while True:
        pause = TICK_SECONDS
        try:
            newest = (await asyncio.to_thread(store.changes, None)).newest
            is_due = newest != done and before is not None and newest - before <= FEW
            if is_due and active_requests.count and held < HELD_AT_MOST:
                held += 1
                pause = PAUSE_SECONDS
            elif is_due:
                held = 0
                number = await asyncio.to_thread(store.examine, examiners(rules), most=AT_ONCE)
                done = newest if number < AT_ONCE else None
                pause = TICK_SECONDS if done else PAUSE_SECONDS
            before = newest
        except StoreError as error:
            _log.warning("Recorded spans were not examined: %s", error)
            pause = RETRY_SECONDS
        await clock.sleep(pause)
