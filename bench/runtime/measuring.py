"""Times one subject in a process of its own. Standard library alone: peers have no Treadle."""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

TURNS = 50
"""Replies in a session: all but the last call tools."""

REPEATS = 5


def run(session: Callable[[str], Awaitable[str]]) -> None:
    """Serve `session` (given the address of the provider) some times and print the medians.

    The first is for imports and connections and does not count.
    """
    json.dump(asyncio.run(_measure(session, sys.argv[1])), sys.stdout)


async def _measure(session: Callable[[str], Awaitable[str]], url: str) -> dict[str, float]:
    walls: list[float] = []
    processors: list[float] = []
    for _ in range(REPEATS + 1):
        wall, processor = time.perf_counter(), time.process_time()
        text = await session(url)
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
        assert text == "Done.", text
    return {
        "wall": 1_000 * statistics.median(walls[1:]) / TURNS,
        "processor": 1_000 * statistics.median(processors[1:]) / TURNS,
    }
