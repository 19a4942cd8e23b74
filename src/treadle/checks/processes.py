"""Finds and ends the processes that a check started, including those that left its session."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from treadle.clock import Clock

MARK = "CHECK_OF_TREADLE"
"""The environment variable by which the processes of a run are known, wherever they moved."""

GRACE = 2.0
"""Seconds between the request to end processes and killing them."""

_POLL = 0.05
_ROUNDS = 40
"""Of killing: a process may start another one in the moment in which it is found."""

_PROC = Path("/proc")

_WATCH = """
mark=$1
end_all() {
    [ -n "$group" ] && kill -s "$1" -- "-$group"
    for environ in /proc/[0-9]*/environ; do
        process=${environ#/proc/}
        grep -qs -- "$mark" "$environ" && kill -s "$1" "${process%/environ}"
    done
}
read -r group
read -r nothing
end_all TERM
sleep 2
end_all KILL
"""
"""Hears of a process group, waits until its input ends, and then ends the group and what bears the
mark: the end may come before the group could be told."""


@asynccontextmanager
async def watching(mark: str) -> AsyncIterator[Callable[[int], None]]:
    """Gives a function to call with the id of a process group, which is ended with this process.

    So is every process that bears `mark`, where the system shows their environment (Linux).

    A small process holds one end of a pipe whose other end only this process has, so it hears
    also of a `kill -9`. Once this is left, nobody watches any more.
    """
    receiving, sending = os.pipe()
    try:
        watcher = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            _WATCH,
            "watch",
            mark,
            env={"PATH": os.defpath},
            stdin=receiving,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield partial(_tell, sending)
        finally:
            with suppress(ProcessLookupError):
                watcher.kill()  # before its input ends, or it would do its work
            await watcher.wait()
    finally:
        os.close(receiving)
        os.close(sending)


def _tell(pipe: int, group: int) -> None:
    os.write(pipe, b"%d\n" % group)


async def end_all(group: int, mark: str, clock: Clock) -> None:
    """End every process of the session and process group `group`, and all that bear `mark`.

    They are told to end, and killed after `GRACE` seconds on `clock`. Where the system shows the
    environment of processes (Linux), those are found as well that left the group.
    """
    try:
        if not await asyncio.to_thread(_signal, group, mark, signal.SIGTERM):
            return
        until = clock.monotonic() + GRACE
        while clock.monotonic() < until:
            await clock.sleep(_POLL)
            if not await asyncio.to_thread(_signal, group, mark, 0):
                return
        for _ in range(_ROUNDS):
            if not await asyncio.to_thread(_signal, group, mark, signal.SIGKILL):
                return
            await asyncio.sleep(_POLL)  # the system's own time to remove them
    except asyncio.CancelledError:  # the loop itself ends: nothing can be waited for
        _signal(group, mark, signal.SIGKILL)
        raise


def _signal(group: int, mark: str, number: int) -> bool:
    """Send a signal (0: none) to all that still run; whether there were any."""
    if not _PROC.is_dir():
        try:
            os.killpg(group, number)
        except OSError:
            return False
        return True
    living = list(_living(group, mark.encode()))
    for process in living if number else ():
        with suppress(OSError):  # it has just ended
            os.kill(process, number)
    return bool(living)


def _living(group: int, mark: bytes) -> Iterator[int]:
    """The processes of a run, by what the system tells of all processes; none that has ended."""
    for folder in _PROC.iterdir():
        if not folder.name.isdecimal():
            continue
        with suppress(OSError):  # it has just ended, or is somebody else's
            # Behind the name, which may hold anything: the state, its parent, group and session.
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] in b"ZX":
                continue
            if (
                group in (int(fields[2]), int(fields[3]))
                or mark in (folder / "environ").read_bytes()
            ):
                yield int(folder.name)


async def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await `work`, which goes on when the caller is cancelled meanwhile; then that is told."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()
