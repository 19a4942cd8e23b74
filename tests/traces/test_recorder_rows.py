"""Recorders of several machines in one PostgreSQL store: only those that ended early are marked."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.engines import PostgresServer
from tests.spans.runs import span
from treadle.clock import SystemClock
from treadle.database import PostgresAddress
from treadle.traces import TraceStore
from treadle.traces.interruptions import RECORDER, mark_interrupted, recorder_id
from treadle.traces.recorder_rows import RecorderRows


class LaterClock(SystemClock):
    """The machine's clock, moved by some seconds."""

    def __init__(self, later: float = 0.0) -> None:
        self.later = later

    def now_us(self) -> int:
        return super().now_us() + round(self.later * 1_000_000)


@pytest.fixture
def address(postgres_url: str, tmp_path: Path) -> PostgresAddress:
    return PostgresAddress(postgres_url, f"p{time.time_ns()}", "traces", tmp_path / "one")


def status(address: PostgresAddress) -> str:
    with closing(TraceStore.open(address)) as store:
        return store.spans().data[0].status


@asynccontextmanager
async def recording(address: PostgresAddress, later: float = 0.0) -> AsyncIterator[RecorderRows]:
    """Record one unfinished span that starts now, until the context ends.

    The clock of the recorder is moved by `later` seconds.
    """
    recorders = RecorderRows(address, LaterClock(later))
    with closing(TraceStore.open(address)) as store:
        async with recorder_id(store, recorders, SystemClock()) as own:
            begun = replace(span("s", end_us=None), start_us=time.time_ns() // 1_000)
            await asyncio.wrap_future(store.write([replace(begun, resource=own)]))
            assert RECORDER in own
            yield recorders


def mark_from_another_machine(address: PostgresAddress, later: float) -> None:
    """Mark as a program that looks `later` seconds later, with a data folder of its own."""
    elsewhere = address._replace(folder=address.folder.with_name("two"))
    with closing(TraceStore.open(elsewhere)) as store:
        mark_interrupted(store, RecorderRows(elsewhere, LaterClock(later)))


def record_until_killed(address: PostgresAddress) -> None:
    """Begin a span, and kill this process."""

    async def record() -> None:
        async with recording(address):
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(record())


def test_spans_of_a_killed_process_are_marked_by_another_machine(address: PostgresAddress) -> None:
    process = get_context("spawn").Process(target=record_until_killed, args=(address,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL

    mark_from_another_machine(address, later=50)
    assert status(address) == "unfinished"  # the recorder may come back
    mark_from_another_machine(address, later=61)
    assert status(address) == "cancelled"
    assert RecorderRows(address, LaterClock(1_000)).others() == []


async def test_living_recorder_of_another_machine_is_not_marked(address: PostgresAddress) -> None:
    async with recording(address):
        mark_from_another_machine(address, later=600)  # the lock counts, not only the heartbeat
        assert status(address) == "unfinished"
    assert RecorderRows(address, LaterClock(1_000)).others() == []


async def test_restart_of_the_server_does_not_mark_living_recorders(
    postgres: PostgresServer, address: PostgresAddress
) -> None:
    async with recording(address, later=-300) as recorders:  # the last heartbeat before an outage
        postgres.kill()
        postgres.start()
        mark_from_another_machine(address, later=50)
        assert status(address) == "unfinished"

        recorders.beat()
        mark_from_another_machine(address, later=600)
        assert status(address) == "unfinished"
