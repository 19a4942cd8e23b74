"""Time as a dependency: what waits or stamps takes a `Clock`, so that tests run in milliseconds."""

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Where the time comes from and how to wait for it."""

    def monotonic(self) -> float:
        """Seconds that never go back; for durations."""
        ...

    def now_us(self) -> int:
        """Microseconds since the Unix epoch; for stamps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return when `seconds` have passed on this clock."""
        ...


class SystemClock:
    """The machine's own clock."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now_us(self) -> int:
        return time.time_ns() // 1_000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def wait_within(awaitable: Awaitable[T], seconds: float | None, clock: Clock) -> T:
    """Await `awaitable`, at most `seconds` on `clock` (None: without limit).

    On time-out the awaitable is cancelled when it is a coroutine (a future or task that the
    caller handed in is left alone) and `TimeoutError` is raised. When the caller is cancelled,
    so is what it waits for, unless it was handed in as a future or task. A result that is there
    when the time is up wins.
    """
    ours = asyncio.iscoroutine(awaitable)
    work = asyncio.ensure_future(awaitable)
    timer = asyncio.ensure_future(clock.sleep(seconds)) if seconds is not None else None
    waited = {work, timer} if timer else {work}
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise TimeoutError
    finally:
        await _end([task for task in (timer, work if ours else None) if task])


async def _end(tasks: list[asyncio.Future[Any]]) -> None:
    """Cancel what still runs and wait for its end, so that nothing is left behind."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in running:
        if not task.cancelled():
            task.exception()  # seen, so that asyncio does not report it as lost
