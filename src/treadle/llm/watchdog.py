"""Ends a wait for data that takes too long; only data, never a comment, starts it anew (T17)."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from treadle.clock import Clock, wait_within

T = TypeVar("T")

_FIRST_NOTICE = 2.0
"""Seconds of silence before it is told; a third of the limit when that is less."""

_EMPTY_FACTOR = 10
"""Data that adds nothing to the reply, such as chunks without choices, keep it alive for so many
limits. Real servers send one or two of them; while they wait they send comments."""


class IdleWatchdog:
    """Lets waits pass until `limit` seconds have gone by since the last `data`.

    Data that is of no use keeps them alive for ten times as long.

    `waiting` is told the seconds so far, the first time after 2 s (or a third of the limit), then
    each time that the wait has doubled.
    """

    def __init__(
        self, limit: float, clock: Clock, waiting: Callable[[float], Awaitable[None]]
    ) -> None:
        self._limit = limit
        self._clock = clock
        self._waiting = waiting
        self._since = self._useful = clock.monotonic()
        self._notice = min(_FIRST_NOTICE, limit / 3)

    def limit(self, seconds: float) -> None:
        """From now on wait no longer than `seconds` for data."""
        self._limit = min(self._limit, seconds)

    @property
    def empty_seconds(self) -> float | None:
        """How long only data came that was of no use, once that is too long."""
        limit = _EMPTY_FACTOR * self._limit
        return limit if self._clock.monotonic() - self._useful >= limit else None

    def data(self, *, useful: bool) -> None:
        """Data has come, so the time starts again. `useful`: the reply has grown by it."""
        self._since = self._clock.monotonic()
        if useful:
            self._useful = self._since
        self._notice = min(_FIRST_NOTICE, self._limit / 3)

    async def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`. Raises TimeoutError, with `work` ended, when the limit is over."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                now = self._clock.monotonic()
                idle = now - self._since
                left = min(self._limit - idle, self._useful + _EMPTY_FACTOR * self._limit - now)
                if left <= 0:
                    raise TimeoutError
                if idle >= self._notice:
                    self._notice *= 2
                    await self._waiting(idle)
                    continue
                try:
                    await wait_within(task, min(self._notice - idle, left), self._clock)
                except TimeoutError:
                    continue
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # seen, also where the waiting itself was cancelled
