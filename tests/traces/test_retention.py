import asyncio
import logging
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from tests.engines import NewAddress
from tests.spans.runs import span
from treadle.errors import StoreError
from treadle.traces import TraceStore
from treadle.traces.retention import Retention, RetentionMeasures, keep_pruned, prune
from treadle.traces.store.results import Deleted

DAY_US = 86_400_000_000


class FakeClock:
    """Time that goes on by what is slept, and stops whoever sleeps a third time."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self._now_us / 1e6

    def now_us(self) -> int:
        return self._now_us

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now_us += int(seconds * 1e6)
        if len(self.slept) == 3:
            raise asyncio.CancelledError


def days(*numbers: float) -> list[int]:
    return [int(number * DAY_US) for number in numbers]


async def test_old_traces_go_while_a_server_runs(tmp_path: Path) -> None:
    store = TraceStore.open(tmp_path / "traces.db")
    for start in days(10, 17.99, 18.02, 20):
        store.write([span("s", trace_id=f"t{start}", start_us=start, end_us=start + 1)]).result()
    clock, measures = FakeClock(25 * DAY_US), RetentionMeasures()
    with pytest.raises(asyncio.CancelledError):
        await keep_pruned(store, Retention(seconds=7 * 86_400), clock, measures)
    left = [one.start_us for one in store.spans().data]
    store.close()

    assert clock.slept == [3_600.0] * 3
    assert left == days(20)
    assert (measures.spans, measures.failures) == (3, 0)
    assert measures.completed_us == 25 * DAY_US + 2 * 3_600_000_000


async def test_without_a_limit_nothing_is_done(tmp_path: Path) -> None:
    store = TraceStore.open(tmp_path / "traces.db")
    store.write([span("s", start_us=0, end_us=1)]).result()
    await keep_pruned(store, Retention(), FakeClock(25 * DAY_US), RetentionMeasures())

    assert prune(store, Retention(), now_us=25 * DAY_US) == Deleted(0, 0, 0)
    assert len(store.spans().data) == 1
    store.close()


async def test_a_failure_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    class FakeStore:
        def __init__(self) -> None:
            self.asked: list[int | None] = []

        def claim_retention(self) -> AbstractContextManager[bool]:
            return nullcontext(True)

        def prune(
            self,
            *,
            before_us: int | None = None,
            max_bytes: int | None = None,
            dry_run: bool = False,
        ) -> Deleted:
            self.asked.append(max_bytes)
            if len(self.asked) == 1:
                raise StoreError("The disk is gone.")
            return Deleted(2, 1, 100)

    store, measures = FakeStore(), RetentionMeasures()
    with caplog.at_level(logging.INFO), pytest.raises(asyncio.CancelledError):
        await keep_pruned(store, Retention(max_bytes=5), FakeClock(0), measures)

    assert (measures.spans, measures.failures) == (4, 1)
    assert store.asked == [5, 5, 5]
    assert "Old traces were not deleted: The disk is gone." in caplog.text
    assert "Deleted 1 old traces with 2 spans" in caplog.text


async def test_one_server_at_a_time_deletes_old_traces(new_address: NewAddress) -> None:
    address = new_address()
    store, other = TraceStore.open(address), TraceStore.open(address)
    store.write([span("s", trace_id="t", start_us=0, end_us=1)]).result()
    clock, measures = FakeClock(25 * DAY_US), RetentionMeasures()
    with other.claim_retention() as claimed, pytest.raises(asyncio.CancelledError):
        await keep_pruned(store, Retention(seconds=86_400), clock, measures)
    assert claimed
    assert len(store.spans().data) == 1
    assert measures.completed_us is None

    with pytest.raises(asyncio.CancelledError):
        await keep_pruned(store, Retention(seconds=86_400), FakeClock(25 * DAY_US), measures)
    assert store.spans().data == ()
    assert measures.spans == 1
    store.close()
    other.close()
