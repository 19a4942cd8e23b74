"""Parsing in processes of our own: `python -m treadle.code.workers` reads tasks, writes results.

Not `multiprocessing`: its workers import the main module of whoever uses the index, which may
start all over again there.
"""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from treadle.code.parse import ParsedFile, parse_file

Task = tuple[str, list[tuple[str, bytes]]]
"""A root, and paths below it, each with the hash that is known of it (or nothing)."""

_MAX_WORKERS = 8


def parse_task(task: Task) -> list[tuple[ParsedFile, int]]:
    """Parse the files of a task, each with the time (ns) before it was read."""
    root = Path(task[0])
    parsed: list[tuple[ParsedFile, int]] = []
    for path, known_hash in task[1]:
        read_ns = time.time_ns()
        parsed.append((parse_file(root, path, known_hash), read_ns))
    return parsed


def parsed_by_workers(tasks: deque[Task]) -> Iterator[tuple[ParsedFile, int]]:
    """Take tasks off as their results arrive, in order; what is left is for who called.

    One task at a time is with each worker, so that memory stays bounded. Workers that cannot
    start, or that die, end it early.
    """
    count = min(os.cpu_count() or 1, _MAX_WORKERS, len(tasks))
    if count < 2 or not sys.executable:
        return
    workers: deque[subprocess.Popen[bytes]] = deque()
    try:
        for task in list(tasks)[:count]:
            workers.append(_start())
            _send(workers[-1], task)
        while tasks:
            worker = workers.popleft()
            workers.append(worker)
            parsed = _receive(worker)
            if len(tasks) > count:
                _send(worker, tasks[count])
            tasks.popleft()
            yield from parsed
    except (OSError, EOFError, pickle.UnpicklingError):
        return
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "treadle.code.workers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _send(worker: subprocess.Popen[bytes], task: Task) -> None:
    assert worker.stdin is not None
    pickle.dump(task, worker.stdin)
    worker.stdin.flush()


def _receive(worker: subprocess.Popen[bytes]) -> list[tuple[ParsedFile, int]]:
    assert worker.stdout is not None
    parsed: list[tuple[ParsedFile, int]] = pickle.load(worker.stdout)  # noqa: S301  (our own child)
    return parsed


def _serve() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and ends us
    while True:
        try:
            task: Task = pickle.load(sys.stdin.buffer)  # noqa: S301  (from our own parent)
        except EOFError:
            return
        pickle.dump(parse_task(task), sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
