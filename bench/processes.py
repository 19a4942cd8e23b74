"""Runs a command and tells what it took: time, processor time, memory of all its processes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_PAUSE = 0.02


class Cost(NamedTuple):
    """Seconds of the clock and of processors; MB of the largest process and of all together.

    The memory of all is the highest of what was seen every 20 ms; 0 where there is no `/proc`.
    """

    seconds: float
    processor: float
    largest: float
    together: float


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end. Raises `CalledProcessError`."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    largest = together = 0.0
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        sizes = [_resident(pid) for pid in _family(process.pid)]
        largest, together = max(largest, *sizes), max(together, sum(sizes))
        time.sleep(_PAUSE)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    unit = 1e6 if sys.platform == "darwin" else 1e3
    largest = max(largest, usage.ru_maxrss / unit)
    return Cost(seconds, usage.ru_utime + usage.ru_stime, largest, max(together, largest))


def _family(pid: int) -> Iterator[int]:
    """A process and all below it, as long as they live."""
    yield pid
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _resident(pid: int) -> float:
    """MB of memory that a process has now."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
