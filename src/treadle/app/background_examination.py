"""Examines new spans in the background. An examination searches a span for faults.

A query for faults examines all spans that are not examined yet, so it is fast if few are left. The
examination waits while many spans arrive.
"""

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
"""Seconds between two checks for new spans."""
FEW = 50
"""The number of spans that may arrive between two checks. If more arrive, the examination waits."""
AT_ONCE = 100
"""The maximum number of spans in one examination. Examining them takes about 20 ms."""
PAUSE_SECONDS = 0.05
HELD_AT_MOST = 20
"""The maximum number of consecutive pauses for waiting requests."""
RETRY_SECONDS = 60.0

_log = logging.getLogger(__name__)


class Examinable(Protocol):
    """The methods of a store that examines its spans. `TraceStore` documents them."""

    def changes(self, after: int | None, *, limit: int = 1000) -> Changes: ...

    def examine(self, examiners: Sequence[SpanExaminer], *, most: int | None = None) -> int: ...


class ActiveRequests:
    """Counts the requests that wait for a response. The examination pauses for them."""

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
    """Return the detector rules of the user."""
    return tuple(map(Rule.of, settings.rules))


@asynccontextmanager
async def examined(
    store: Examinable, settings: DetectorSettings, clock: Clock, active_requests: ActiveRequests
) -> AsyncIterator[None]:
    """Examine new spans in the background until the context ends."""
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
    """Examine new spans whenever few spans arrive, until the task is cancelled.

    Errors of the store are logged, and the examination continues later.
    """
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
