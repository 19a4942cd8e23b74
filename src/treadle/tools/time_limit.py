"""A time limit that can be paused."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treadle.clock import Clock


class TimeLimit:
    """The seconds on `clock` that one future may take, not counting the time while paused."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self.seconds = seconds
        self._left = seconds
        self._clock = clock
        self._pauses = 0
        self._since = 0.0
        self._timer: asyncio.Task[None] | None = None
        self._up: asyncio.Future[None] | None = None

    async def wait(self, future: asyncio.Future[Any]) -> None:
        """Return when `future` is done; raise TimeoutError when the time is up first.

        `future` is not cancelled.
        """
        self._up = asyncio.get_running_loop().create_future()
        self._run()
        try:
            await asyncio.wait({future, self._up}, return_when=asyncio.FIRST_COMPLETED)
            if not future.done():
                raise TimeoutError
        finally:
            timer = self._timer
            self._stop()
            self._up = None
            if timer is not None:
                await asyncio.wait({timer})

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the limit; it runs again when every pause has ended."""
        self._pauses += 1
        self._stop()
        try:
            yield
        finally:
            self._pauses -= 1
            self._run()

    def _run(self) -> None:
        if self._up is not None and self._timer is None and self._pauses == 0:
            self._since = self._clock.monotonic()
            self._timer = asyncio.create_task(self._tick(self._up))

    def _stop(self) -> None:
        if self._timer is not None:
            self._left -= self._clock.monotonic() - self._since
            self._timer.cancel()
            self._timer = None

    async def _tick(self, up: "asyncio.Future[None]") -> None:
        await self._clock.sleep(max(0.0, self._left))
        if not up.done():
            up.set_result(None)
