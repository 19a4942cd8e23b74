"""Starts worker processes: by a fork if a fork is safe, or else as a new Python process.

A fork takes 5 ms. A new Python process takes 100 ms, which would delay a search after a small
change.
"""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

Serve = Callable[[BinaryIO, BinaryIO], None]


class Process:
    """A running worker, with the pipes to and from it."""

    def __init__(self, pid: int, requests: BinaryIO, results: BinaryIO) -> None:
        self.requests = requests
        self.results = results
        self._pid = pid
        self._status: int | None = None

    def ended(self) -> bool:
        """Whether the process has ended. This method does not wait for the end."""
        if self._status is None:
            self._reap(os.WNOHANG)
        return self._status is not None

    def kill(self) -> None:
        """End the process now."""
        if not self.ended():
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for the end of the process.

        Returns the exit status, or the negative number of a signal.
        """
        if self._status is None:
            self._reap(0)
        return self._status or 0

    def _reap(self, options: int) -> None:
        try:
            pid, status = os.waitpid(self._pid, options)
        except ChildProcessError:  # another part of the program has reaped it
            self._status = 0
        else:
            if pid:
                self._status = os.waitstatus_to_exitcode(status)


class StartedProcess(Process):
    """A worker in a new Python process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        super().__init__(process.pid, process.stdin, process.stdout)  # type: ignore[arg-type]
        self._process = process

    def _reap(self, options: int) -> None:
        self._status = self._process.poll() if options else self._process.wait()


def start(serve: Serve) -> Process:
    """Start a process that runs `serve(requests, results)`. Raises `OSError`."""
    return _forked(serve) if _alone() else _started()


def _alone() -> bool:
    """Whether this process has only one thread.

    With more threads, a forked process could inherit a lock that nothing releases.
    """
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


def _forked(serve: Serve) -> Process:
    reading, requests = os.pipe()
    results, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(reading)
        os.close(writing)
        return Process(pid, os.fdopen(requests, "wb"), os.fdopen(results, "rb"))
    try:
        gc.freeze()  # collecting an inherited file object could close a descriptor in use
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # the worker must not keep the streams of the parent open
            os.dup2(nothing, stream)
        _close_all_but(reading, writing)
        serve(os.fdopen(reading, "rb"), os.fdopen(writing, "wb"))
    finally:
        os._exit(0)


def _close_all_but(*kept: int) -> None:
    """Close all files except `kept`.

    A parser does not need the databases and connections of the parent.
    """
    for number in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if number > 2 and number not in kept:
            with suppress(OSError):  # the file of the listing is already closed
                os.close(number)


def _started() -> Process:
    if not sys.executable:
        raise OSError(0, "there is no Python program to start")
    return StartedProcess(
        subprocess.Popen(
            [sys.executable, "-P", "-m", "treadle.code.sandbox.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                "OPENBLAS_NUM_THREADS": "1",
                **os.environ,
            },  # without this setting numpy starts threads, which are not needed
        )
    )
