"""A clock that only a test moves."""

import asyncio
import heapq
import itertools


class FakeClock:
    """Sleepers wake when `advance` passes their time; nothing else moves this clock."""

    def __init__(self, now: float = 1_000.0) -> None:
        self._now = now
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        return self._now

    def now_us(self) -> int:
        return int(self._now * 1_000_000)

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        sleeper = (self._now + seconds, next(self._order), future)
        heapq.heappush(self._sleepers, sleeper)
        try:
            await future
        except asyncio.CancelledError:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)
            raise

    @property
    def sleeping(self) -> int:
        """The number of sleepers."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Move on by `seconds`, waking sleepers in order and running everything that this
        causes.
        """
        end = self._now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self._now, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
                await settle()
        self._now = end
        await settle()


class HastyClock(FakeClock):
    """Sleeps of less than `patience` seconds take no time but move the clock, and are recorded."""

    def __init__(self, patience: float = 5.0) -> None:
        super().__init__()
        self._patience = patience
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        if seconds >= self._patience:
            await super().sleep(seconds)
        else:
            self.slept.append(seconds)
            self._now += seconds
            await asyncio.sleep(0)


async def settle(rounds: int = 20) -> None:
    """Let everything that is ready run."""
    for _ in range(rounds):
        await asyncio.sleep(0)
