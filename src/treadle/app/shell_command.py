"""Runs a command of the person in their shell."""

import asyncio
import os
from asyncio.subprocess import Process
from collections.abc import Callable
from pathlib import Path

from treadle.checks.processes import MARK, complete, end_all, process_watcher
from treadle.checks.runner import LineSplitter, start
from treadle.clock import Clock
from treadle.ids import new_id

_BLOCK = 1 << 14
_DRAIN_SECONDS = 1.0
"""The time to wait for the rest of the output after all processes have ended."""


async def run_shell(
    command: str, root: Path, *, clock: Clock, add_line: Callable[[str], None]
) -> int:
    """Run a command in the folder `root`, and return its exit status.

    `add_line` receives each line of the output, without colours. The command has no input. When
    this function ends or is cancelled, all processes that the command started are ended. The status
    is negative if a signal ended the shell. Raises TreadleError if the shell cannot be started.
    """
    mark = str(new_id())
    shell = os.environ.get("SHELL") or "/bin/sh"
    environment = {**os.environ, MARK: f"{os.environ.get(MARK, '')} {mark}".strip()}
    async with process_watcher(mark) as watch:
        process, output, pipe = await start(shell, (shell, "-c", command), root, environment)
        watch(process.pid)
        reading = asyncio.create_task(_read(output, add_line))
        try:
            return await process.wait()
        finally:
            await complete(_end(process, mark, reading, clock))
            pipe.close()


async def _read(output: asyncio.StreamReader, add_line: Callable[[str], None]) -> None:
    splitter = LineSplitter()
    while block := await output.read(_BLOCK):
        for line in splitter.feed(block):
            add_line(line)
        await asyncio.sleep(0)  # lets other tasks run, since `read` may return without waiting
    for line in splitter.end():
        add_line(line)


async def _end(process: Process, mark: str, reading: asyncio.Task[None], clock: Clock) -> None:
    await end_all(process.pid, mark, clock)
    await process.wait()
    await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)  # an unknown child may keep the pipe open
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
