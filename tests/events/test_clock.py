"""Waiting with a time limit: cancellation, precedence, and no task that remains."""

import asyncio

import pytest

from tests.fakes.clock import FakeClock, settle
from treadle.clock import SystemClock, wait_within


def others() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def test_a_result_in_time_is_returned() -> None:
    assert await wait_within(asyncio.sleep(0, "done"), 5, SystemClock()) == "done"
    assert await wait_within(asyncio.sleep(0, "done"), None, SystemClock()) == "done"
    assert not others()


async def test_an_error_in_time_is_raised() -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await wait_within(fail(), 5, SystemClock())
    assert not others()


async def test_a_time_out_cancels_a_coroutine_and_raises_its_exception() -> None:
    clock = FakeClock()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise KeyError("while ending")

    waiting = asyncio.ensure_future(wait_within(stubborn(), 2, clock))
    await clock.advance(1.9)
    assert not waiting.done()
    await clock.advance(0.1)
    with pytest.raises(TimeoutError):
        await waiting
    assert not others()


@pytest.mark.parametrize("seconds", [None, 2])
async def test_a_passed_future_survives_time_out_and_cancellation(
    seconds: float | None,
) -> None:
    clock = FakeClock()
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    waiting = asyncio.ensure_future(wait_within(future, seconds, clock))
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not future.done()
    assert not others()


async def test_cancelling_the_caller_cancels_the_coroutine() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.ensure_future(wait_within(work(), 2, FakeClock()))
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()
    assert not others()
