"""Measures calls through workers: calls a second with one and two workers, and the added latency.

Each worker and the NATS server are separate processes. The tool returns at once unless the table
states its time, so the figures measure the delivery of calls.

Run: python -m bench.team.workers [--calls 1000]
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from tests.engines import nats_server
from tests.workers.team import FAST, Team, team, within
from treadle.config.model import WorkerSettings
from treadle.events import Outcome
from treadle.events.types import ToolCallCompleted
from treadle.workers.timing import Timing

CONCURRENT = 32


async def seconds_of_calls(at: Team, count: int) -> list[float]:
    """Make calls one after another, and return the seconds that each of them took."""
    found = []
    for _ in range(count):
        started = time.perf_counter()
        await checked(at.call("reading"))
        found.append(time.perf_counter() - started)
    return found


async def calls_a_second(at: Team, count: int, seconds: float) -> float:
    """The number of calls a second, if each call takes `seconds` and many run at once."""
    left = iter(range(count))

    async def work() -> None:
        for _ in left:
            await checked(at.call("reading", seconds=seconds))

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(CONCURRENT)))
    return count / (time.perf_counter() - started)


async def checked(calling: Awaitable["asyncio.Future[Outcome]"]) -> None:
    outcome = await within(await calling)
    assert isinstance(outcome, ToolCallCompleted), outcome


async def with_team(
    work: Callable[[Team], Awaitable[None]],
    *,
    settings: WorkerSettings,
    workers: int,
    max_calls: int = CONCURRENT,
) -> None:
    """Do some work with a server and a number of workers."""
    timing = replace(Timing(), fetch=FAST.fetch)
    with tempfile.TemporaryDirectory() as name, nats_server(Path(name)) as server:
        folder = Path(name)
        async with AsyncExitStack() as stack:
            at = await stack.enter_async_context(
                team(server, folder, settings=settings, timing=timing)
            )
            for number in range(workers):
                await at.process(f"worker{number}", max_calls=max_calls)
            await seconds_of_calls(at, 100)
            await work(at)


def row(name: str, seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p50, p95 = (1_000 * ordered[int(len(ordered) * part)] for part in (0.5, 0.95))
    return f"| {name} | {p50:.2f} ms | {p95:.2f} ms |"


async def measure(count: int) -> None:
    any_commit = WorkerSettings(any_commit=("reading",))
    print("| one call after another | p50 | p95 |\n|---|---|---|")

    async def latency(name: str, at: Team) -> None:
        print(row(name, await seconds_of_calls(at, count)))

    for name, settings, workers in (
        ("in the server", any_commit, 0),
        ("at a worker, any commit", any_commit, 1),
        ("at a worker, the same commit", WorkerSettings(), 1),
    ):
        await with_team(lambda at, n=name: latency(n, at), settings=settings, workers=workers)  # type: ignore[misc]
    print(f"\n| {CONCURRENT} calls at once | 1 worker | 2 workers |\n|---|---|---|")
    for name, seconds, max_calls in (
        ("a tool that returns at once", 0.0, CONCURRENT),
        ("a tool that takes 50 ms, 4 at once for each worker", 0.05, 4),
    ):
        rates: list[float] = []

        async def rate(at: Team, found: list[float] = rates, took: float = seconds) -> None:
            found.append(
                statistics.median([await calls_a_second(at, count, took) for _ in range(3)])
            )

        for workers in (1, 2):
            await with_team(rate, settings=any_commit, workers=workers, max_calls=max_calls)
        print(f"| {name} | {rates[0]:,.0f} calls/s | {rates[1]:,.0f} calls/s |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000, help="the calls of each measurement")
    asyncio.run(measure(parser.parse_args().calls))


if __name__ == "__main__":
    main()
