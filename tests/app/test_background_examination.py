"""Spans are examined while few arrive."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from treadle.app import background_examination
from treadle.app.background_examination import AT_ONCE, FEW, HELD_AT_MOST, ActiveRequests, examined
from treadle.config.traces import DetectorRule, DetectorSettings
from treadle.errors import StoreError
from treadle.traces.store.examinations import SpanExaminer
from treadle.traces.store.results import Changes


@dataclass
class FakeStore:
    """Counts the spans that it examines."""

    newest: int = 0
    left: int = 0
    asked: list[int] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    broken: bool = False

    def changes(self, after: int | None, *, limit: int = 1000) -> Changes:
        assert (after, limit) == (None, 1000)
        return Changes(self.newest, (), more=False)

    def examine(self, examiners: Sequence[SpanExaminer], *, most: int | None = None) -> int:
        if self.broken:
            raise StoreError("The disk is full.")
        assert most is not None
        self.tables = [each.table.value for each in examiners]
        number = min(most, self.left)
        self.left -= number
        self.asked.append(number)
        return number


class FakeClock:
    """Releases one sleep at a time, and records its duration."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._turns: asyncio.Queue[None] = asyncio.Queue()
        self._asleep = asyncio.Event()

    def now_us(self) -> int:
        return 0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._asleep.set()
        await self._turns.get()

    async def turn(self) -> None:
        """Release the current sleep and wait for the next."""
        await self._asleep.wait()
        self._asleep.clear()
        self._turns.put_nowait(None)
        await self._asleep.wait()


async def test_existing_spans_are_examined_in_batches() -> None:
    store, clock = FakeStore(newest=250, left=250), FakeClock()
    settings = DetectorSettings(rules=(DetectorRule(name="mine", pattern="x+"),))
    async with examined(store, settings, clock, ActiveRequests()):
        for _ in range(6):
            await clock.turn()
    assert store.asked == [AT_ONCE, AT_ONCE, 50]
    assert store.tables == ["examined", "ruled"]
    assert clock.slept[1:3] == [background_examination.PAUSE_SECONDS] * 2
    assert clock.slept[3:] == [background_examination.TICK_SECONDS] * 4


async def test_examination_pauses_while_many_spans_arrive() -> None:
    store, clock = FakeStore(), FakeClock()
    async with examined(store, DetectorSettings(), clock, ActiveRequests()):
        await clock.turn()
        for _ in range(3):
            store.newest += FEW + 1
            store.left += FEW + 1
            await clock.turn()
        assert store.asked == [0], "only before they arrived"
        store.newest += FEW
        store.left += FEW
        for _ in range(3):
            await clock.turn()
        assert sum(store.asked) == 3 * (FEW + 1) + FEW


async def test_requests_precede_the_examination_for_a_limited_time() -> None:
    store, clock, active_requests = FakeStore(newest=250, left=250), FakeClock(), ActiveRequests()
    async with examined(store, DetectorSettings(), clock, active_requests):
        await clock.turn()
        with active_requests.track():
            for _ in range(3):
                await clock.turn()
            assert store.asked == [AT_ONCE]
        await clock.turn()
        assert store.asked == [AT_ONCE] * 2
        with active_requests.track():
            for _ in range(HELD_AT_MOST + 1):
                await clock.turn()
        assert store.asked == [AT_ONCE, AT_ONCE, 50]


async def test_failed_store_is_retried(caplog: pytest.LogCaptureFixture) -> None:
    store, clock = FakeStore(newest=5, left=5, broken=True), FakeClock()
    async with examined(store, DetectorSettings(), clock, ActiveRequests()):
        await clock.turn()
        assert clock.slept[-1] == background_examination.RETRY_SECONDS
        store.broken = False
        await clock.turn()
    assert store.asked == [5]
    assert "The disk is full." in caplog.text
