"""Runs a command and reports its cost: time, processor time, memory of all its processes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_PAUSE = 0.02


class Cost(NamedTuple):
    """Seconds of wall and processor time; MB of the largest process and of all together.

    The memory of all is the highest of the samples every 20 ms; 0 without `/proc`.
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
        sizes = [resident(pid) for pid in family(process.pid)]
        largest, together = max(largest, *sizes), max(together, sum(sizes))
        time.sleep(_PAUSE)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    unit = 1e6 if sys.platform == "darwin" else 1e3
    largest = max(largest, usage.ru_maxrss / unit)
    return Cost(seconds, usage.ru_utime + usage.ru_stime, largest, max(together, largest))


def family(pid: int) -> Iterator[int]:
    """A process and all its descendants that are alive."""
    yield pid
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def peak(pid: int) -> float:
    """The peak memory in MB of a process and its descendants, each at its own moment (Linux)."""
    return sum(_status(member, "VmHWM:") for member in family(pid)) / 1e3


def processor(pid: int) -> float:
    """Processor seconds of a running process and its descendants so far (Linux)."""
    ticks = 0
    for member in family(pid):
        try:
            _, _, fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")
        except OSError:
            continue
        ticks += sum(map(int, fields.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _status(pid: int, field: str) -> int:
    """A number of `/proc/PID/status`, 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def resident(pid: int) -> float:
    """The current memory of a process in MB."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
