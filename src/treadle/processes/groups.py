"""Finds and ends the processes that a command started, even if they left its process session."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from treadle.clock import Clock

MARK = "CHECK_OF_TREADLE"
"""An environment variable that the processes of a command inherit.

Its value is a random id, by which they are found.
"""

GRACE = 2.0
"""The seconds between SIGTERM and SIGKILL, in which processes can end by themselves."""

_POLL = 0.05
_ROUNDS = 40
"""The maximum number of times that the remaining processes are killed.

Several times may be needed, since a process may start another one before it is killed.
"""

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
"""The shell script of the watcher process. The argument of the script is the mark of a run.

The script reads the number of a process group from its standard input, and waits until the input
ends. Then it ends the process group, and all processes with the mark in their environment. If the
input ends without a number, the script ends only the processes with the mark.
"""


@asynccontextmanager
async def process_watcher(mark: str) -> AsyncIterator[Callable[[int], None]]:
    """Yields a function that registers a process group.

    If this process ends before the context is left, the group is ended. On Linux, every process
    that has `mark` in its environment is ended too. A small watcher process reads from a pipe to
    which only this process can write. The pipe closes when this process ends, even if it is killed.
    The watcher then ends the processes. When the context is left, the watcher is killed before the
    pipe closes, so it ends no process.
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
            yield partial(_send_group, sending)
        finally:
            with suppress(ProcessLookupError):
                watcher.kill()  # while its input is open, or it would end processes
            await watcher.wait()
    finally:
        os.close(receiving)
        os.close(sending)


def _send_group(pipe: int, group: int) -> None:
    os.write(pipe, b"%d\n" % group)


async def end_all(group: int, mark: str, clock: Clock) -> None:
    """End the processes of a command.

    These are all processes in the process group `group` or in the session with this number, and on
    Linux all processes with `mark` in their environment. The processes receive SIGTERM. After
    `GRACE` seconds on `clock`, the remaining processes are killed. On other systems than Linux,
    processes that left the group and the session are not found.
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
            await asyncio.sleep(_POLL)  # a killed process still exists for a moment
    except asyncio.CancelledError:  # the caller cannot wait any longer
        _signal(group, mark, signal.SIGKILL)
        raise


def _signal(group: int, mark: str, number: int) -> bool:
    """Send the signal `number` to all running processes of a command.

    Returns whether there are any such processes. If `number` is 0, no signal is sent.
    """
    if not _PROC.is_dir():
        try:
            os.killpg(group, number)
        except OSError:
            return False
        return True
    living: Iterable[int] = _living(group, mark.encode())
    if number != signal.SIGKILL:
        # A shell ends before its children. Otherwise it would run the next line of its script.
        living = sorted(living)
    found = False
    for process in living:
        found = True
        if number:
            with suppress(OSError):  # the process has just ended
                os.kill(process, number)  # SIGKILL at once, before it can start another one and end
    return found


def _living(group: int, mark: bytes) -> Iterator[int]:
    """Find the running processes of a command in the system's list of all processes.

    The newest processes come first. A process that starts another one and ends is replaced by a
    newer one, which a slow search from the oldest process would always miss.
    """
    names = (int(folder.name) for folder in _PROC.iterdir() if folder.name.isdecimal())
    for number in sorted(names, reverse=True):
        folder = _PROC / str(number)
        with suppress(OSError):  # the process has just ended, or belongs to another user
            # The name of the process, which ends with `)`, may contain any bytes. After it come the
            # state, the parent, the group and the session.
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] in b"ZX":
                continue
            if (
                group in (int(fields[2]), int(fields[3]))
                or mark in (folder / "environ").read_bytes()
            ):
                yield number


async def complete(work: Coroutine[Any, Any, None]) -> None:
    """Complete `work` even if the caller is cancelled.

    If it was cancelled, CancelledError is raised after `work` has ended.
    """
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
