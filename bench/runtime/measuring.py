"""Times one subject in a separate process. Standard library only: peers do not have Treadle."""

import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

TURNS = 50
"""Replies in a session: all but the last call tools."""

REPEATS = 5
AT_ONCE = 100
"""Concurrent sessions in that measure."""

AT_ONCE_TURNS = 10
"""Replies in each of those."""

SESSIONS = 20
"""Sessions of `TURNS` replies one after another, where memory is measured: 1,000 replies."""

STARTS: list[float] = []
"""Seconds from the provider's writing of a reply to the start of each of its tools."""

Session = Callable[[str], Awaitable[str]]


def echoed(text: str) -> str:
    """The text that the tool of every subject returns.

    It begins with the time at which it was written.
    """
    STARTS.append(time.monotonic() - float(text.split(maxsplit=1)[0]))
    return text


def run(session: Session) -> None:
    """Serve `session` (given the address of the provider) as the command line says.

    Prints the figures as JSON. A first session only warms up imports and connections.
    """
    what = {"turns": _turns, "at-once": _at_once, "memory": _memory}[sys.argv[2]]
    json.dump(asyncio.run(what(session, sys.argv[1])), sys.stdout)


async def _turns(session: Session, url: str) -> dict[str, float]:
    walls: list[float] = []
    processors: list[float] = []
    await _checked(session, url)
    STARTS.clear()
    for _ in range(REPEATS):
        wall, processor = time.perf_counter(), time.process_time()
        await _checked(session, url)
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return {
        "wall": 1_000 * statistics.median(walls) / TURNS,
        "processor": 1_000 * statistics.median(processors) / TURNS,
        "start": 1_000 * statistics.median(STARTS),
    }


async def _at_once(session: Session, url: str) -> dict[str, float]:
    await _checked(session, url)
    wall, processor = time.perf_counter(), time.process_time()
    await asyncio.gather(*(_checked(session, url) for _ in range(AT_ONCE)))
    replies = AT_ONCE * AT_ONCE_TURNS
    return {
        "wall": 1_000 * (time.perf_counter() - wall) / replies,
        "processor": 1_000 * (time.process_time() - processor) / replies,
    }


async def _memory(session: Session, url: str) -> dict[str, float]:
    await _checked(session, url)
    before = _resident()
    for _ in range(SESSIONS):
        await _checked(session, url)
    gc.collect()
    return {"resident": _resident(), "grown": _resident() - before}


async def _checked(session: Session, url: str) -> None:
    text = await session(url)
    assert text == "Done.", text


def _resident() -> float:
    """Resident memory of this process in megabytes (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4_096 / 1e6
