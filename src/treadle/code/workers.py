"""Parsing in processes of our own: `python -m treadle.code.workers` reads tasks, writes results.

Not `multiprocessing`: its workers import the main module of whoever uses the index, which may
start all over again there.
"""

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import SimpleQueue

from treadle.code.entries import Entry, entry_of
from treadle.code.parse import parse_file

Task = tuple[str, list[tuple[str, bytes]], Path | None]
"""A root, paths below it, each with the hash that is known of it (or nothing), and the folder of
the model that makes vectors."""

_MAX_WORKERS = 8
_AHEAD = 8
"""Tasks for each worker whose results may wait: as long as a transaction of the writer takes."""


def parse_task(task: Task) -> list[tuple[Entry, int]]:
    """Parse the files of a task, each with the time (ns) before it was read."""
    root, files, embedding = Path(task[0]), *task[1:]
    parsed: list[tuple[Entry, int]] = []
    for path, known_hash in files:
        read_ns = time.time_ns()
        parsed.append((entry_of(parse_file(root, path, known_hash), embedding), read_ns))
    return parsed


def parsed_by_workers(tasks: deque[Task]) -> Iterator[tuple[Entry, int]]:
    """Take tasks off as their results are asked for, in order; what is left is for who called.

    Threads talk with the workers, so that these go on while the results are written; they are at
    most `_AHEAD` tasks ahead, so that memory stays bounded. Workers that cannot start, or that
    die, end it early.
    """
    count = min(os.cpu_count() or 1, _MAX_WORKERS, len(tasks))
    if count < 2 or not sys.executable:
        return
    workers: list[subprocess.Popen[bytes]] = []
    idle = SimpleQueue[subprocess.Popen[bytes]]()
    results: deque[Future[list[tuple[Entry, int]]]] = deque()
    threads = ThreadPoolExecutor(count)
    try:
        for _ in range(count):
            workers.append(_start())
            idle.put(workers[-1])
        while tasks:
            for task in islice(tasks, len(results), count * _AHEAD):
                results.append(threads.submit(_parse_there, idle, task))
            parsed = results.popleft().result()
            tasks.popleft()
            yield from parsed
    except (OSError, EOFError, pickle.UnpicklingError):
        return
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        threads.shutdown()  # nobody reads a pipe any more
        for worker in workers:
            worker.communicate()


def _parse_there(
    idle: "SimpleQueue[subprocess.Popen[bytes]]", task: Task
) -> list[tuple[Entry, int]]:
    """Have a task parsed by a worker that is idle; there is one for each thread."""
    worker = idle.get()
    try:
        _send(worker, task)
        return _receive(worker)
    finally:
        idle.put(worker)


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "treadle.code.workers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ},  # numpy would start threads for nothing
    )


def _send(worker: subprocess.Popen[bytes], task: Task) -> None:
    assert worker.stdin is not None
    pickle.dump(task, worker.stdin)
    worker.stdin.flush()


def _receive(worker: subprocess.Popen[bytes]) -> list[tuple[Entry, int]]:
    assert worker.stdout is not None
    parsed: list[tuple[Entry, int]] = pickle.load(worker.stdout)  # noqa: S301  (our own child)
    return parsed


def _serve() -> None:
    gc.set_threshold(1_000_000)  # hardly anything here is part of a cycle
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
