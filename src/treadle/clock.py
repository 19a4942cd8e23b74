"""The `Clock` with which code waits and takes timestamps.

Tests pass their own clocks, so that they need not wait.
"""

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """A source of time that can also wait."""

    def monotonic(self) -> float:
        """Return seconds that never go back, for measuring durations."""
        ...

    def now_us(self) -> int:
        """Return microseconds since the Unix epoch, for timestamps."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait until `seconds` have passed on this clock."""
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
    """Await `awaitable` for at most `seconds` on `clock`. None means no limit.

    On time-out the function raises `TimeoutError`. If `awaitable` is a coroutine, the function then
    cancels it. A future or task belongs to the caller and keeps running. The same applies when the
    caller is cancelled. A result that is available when the time is up is returned.
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
    """Cancel the tasks that still run, and wait for their end."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in running:
        if not task.cancelled():
            task.exception()  # retrieved, since asyncio would log it otherwise


def when(microseconds: int) -> str:
    """Format Unix microseconds as a local time with date, hour and minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(microseconds / 1e6))
