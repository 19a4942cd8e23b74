"""Runs functions on untrusted text in separate processes, with limits of time and memory.

A parser written in C can crash on a small file, or ask for gigabytes of memory. In a separate
process such a fault costs only one process and one answer. `multiprocessing` is not used, since its
workers import the main module of the program that uses the index. This import may run the program
again.
"""

import atexit
import gc
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from importlib import import_module
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from treadle.code.sandbox.confinement import confine
from treadle.code.sandbox.processes import Process, start

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
C = TypeVar("C", bound=tuple[object, ...])
Calls = Sequence[tuple[object, ...]]
Folders = frozenset[str]
Prepare = Callable[[C], tuple[tuple[object, ...], Folders]]
"""Returns the arguments of a function for one call, and the folders that the function reads."""

CPU_SECONDS = 20.0
"""The maximum processor time of one call in seconds.

A parse may take three seconds (`limits.PARSE_SECONDS`). The queries after the parse have no other
limit. On real files of 2 MB, the queries take less than three seconds.
"""
SHARED_CPU_SECONDS = 8.0
"""The maximum processor time of one call of `call_apart` in seconds.

Such a call has two parses and some queries, and an edit waits for it.
"""
_SHARED_WORKERS = 3
"""The number of processes for concurrent calls.

A hostile file occupies one process until its limit of processor time, which may take minutes on a
busy machine. Meanwhile the other processes can work.
"""
MEMORY_BYTES = 1_500_000_000
"""The number of bytes by which the address space of a worker may grow after its start.

A forked worker starts with the address space of its parent, which can be larger than the limit. A
worker needs 400 MB with numpy and the embedding model loaded. A file of 2 MB takes up to 300 MB
more.
"""
IDLE_SECONDS = 600.0
"""A worker ends after this many seconds without a call."""
_MAX_WORKERS = 8
_AHEAD = 8
"""The maximum number of finished tasks of each worker.

These tasks wait until their results are written.
"""
_OUT_OF_MEMORY = 77
"""The exit status of a worker that reached `MEMORY_BYTES`.

Such a worker could not answer later calls either.
"""
_MAX_STARTS = 3
"""After this many starts without an answer, a worker counts as unable to run."""


class Answer(NamedTuple):
    """The value of one call, or the reason why the call has no value."""

    value: Any = None
    failure: str = ""


class CallFailedError(Exception):
    """A call has no result.

    The process of the call crashed or exceeded a limit, or the function raised an exception.
    """


class _Prepared(NamedTuple):
    """Prepared calls for a worker, with the folders that they read."""

    calls: Calls
    folders: Folders

    @classmethod
    def of(cls, task: list[C], prepare: Prepare[C]) -> "_Prepared":
        prepared = [prepare(call) for call in task]
        return cls(
            [call for call, _ in prepared], frozenset().union(*(each for _, each in prepared))
        )


class Worker:
    """One process for calls. The process starts at the first call and again after a crash.

    Only one thread may use a worker.
    """

    def __init__(self) -> None:
        self._process: Process | None = None
        self._answered = 0
        self._readable: Folders = frozenset()
        self._stopped = False

    def answers(
        self,
        function: Callable[..., object],
        calls: Calls,
        folders: Folders = frozenset(),
        *,
        seconds: float | None = None,
    ) -> Iterator[Answer]:
        """Yield the answer of each call, in order.

        The calls may read only files below `folders`. Each call may take `seconds` of processor
        time, `CPU_SECONDS` by default. If a process ends during a call, the call is repeated in a
        new process. Therefore a call fails only if it ends a process that has not answered another
        call. Raises `OSError` if no process can be started or the worker was stopped.
        """
        seconds = CPU_SECONDS if seconds is None else seconds
        waiting = deque(calls)
        starts = 0
        self._make_readable(folders)
        try:
            while waiting:
                process = self._running()
                try:
                    named = (function.__module__, function.__qualname__)
                    _send(process, (*named, self._readable, list(waiting), seconds))
                    while waiting:
                        answer = _receive(process)
                        self._answered += 1
                        starts = 0
                        waiting.popleft()
                        yield answer
                except (OSError, EOFError, pickle.UnpicklingError):
                    alone = self._answered == 0
                    failure = _why(self._end(), seconds)
                    starts += 1
                    if alone and failure:
                        waiting.popleft()
                        yield Answer(failure=failure)
                    elif starts >= _MAX_STARTS:
                        raise OSError(0, "the worker process ends without an answer") from None
        finally:
            if waiting:  # otherwise later calls would get the answers of these calls
                self.close()

    def stop(self) -> None:
        """End the process for good, from another thread than the one that uses the worker.

        That thread gets no further answer. It then closes the worker.
        """
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _make_readable(self, folders: Folders) -> None:
        """End a process that was confined without access to one of the folders."""
        if not folders <= self._readable:
            self.close()
            self._readable |= folders

    def _running(self) -> Process:
        if self._process is not None and self._process.ended():
            self._end()
        if self._stopped:
            raise OSError(0, "the worker was stopped")
        if self._process is None:
            self._process = process = _start()
            if self._stopped:  # in the meantime
                process.kill()
            self._answered = 0
            try:
                _receive(process)  # the worker sends one message before any request
            except (EOFError, pickle.UnpicklingError):
                self._end()
                raise OSError(0, "the worker process did not start") from None
            return process
        return self._process

    def _end(self) -> int:
        """Wait for the process. Returns its exit status, or the negative number of a signal."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.requests, process.results):
            with suppress(OSError):
                pipe.close()
        return process.wait()


def _why(status: int, seconds: float) -> str:
    """Return why a process ended, or "" for a normal end. `seconds` is its time limit."""
    if status == 0:
        return ""
    if status == _OUT_OF_MEMORY:
        return f"needs more than {MEMORY_BYTES / 1e9:.1f} GB of memory"
    if status == -_signal("SIGPROF"):
        return f"took more than {seconds:.0f} s of processor time"
    if status < 0:
        names = {each.value: each.name for each in signal.Signals}
        return f"crashed its parser ({names.get(-status, f'signal {-status}')})"
    return f"crashed its parser (status {status})"


def _signal(name: str) -> int:
    return int(getattr(signal, name, 0))


class _SharedWorkers:
    """Workers that any thread can borrow.

    The first returned worker stays running for later calls. Other returned workers are ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._warm: Worker | None = None
        self._free = threading.Semaphore(_SHARED_WORKERS)

    @contextmanager
    def borrowed(self) -> Iterator[Worker]:
        """Yield a worker for this thread. Waits while all workers are in use."""
        with self._free:
            with self._lock:
                worker, self._warm = self._warm or Worker(), None
            try:
                yield worker
            finally:
                with self._lock:
                    surplus = worker if self._warm is not None else None
                    self._warm = self._warm or worker
                if surplus is not None:
                    surplus.close()

    def close(self) -> None:
        """End the worker that stays running."""
        with self._lock:
            if self._warm is not None:
                self._warm.close()


_shared = _SharedWorkers()
atexit.register(_shared.close)


def call_apart(function: Callable[..., T], *arguments: object, folders: Folders = frozenset()) -> T:
    """Return the result of a function of this package, called in a shared worker process.

    Arguments and results are plain values, enumerations, and named tuples of this package. The
    function may read files below `folders`. The call waits while all shared workers are in use.
    Raises `CallFailedError` if the call has no result, or `OSError` if no process can be started.
    """
    with _shared.borrowed() as worker:
        (answer,) = worker.answers(function, [arguments], folders, seconds=SHARED_CPU_SECONDS)
    if answer.failure:
        raise CallFailedError(answer.failure)
    result: T = answer.value
    return result


def answers_of_one(
    function: Callable[..., object], tasks: deque[list[C]], prepare: Prepare[C]
) -> Iterator[tuple[list[C], list[Answer]]]:
    """Yield tasks with their answers from one shared worker.

    The worker may already be running, which is fast for small changes. `prepare` reads files that a
    worker cannot read.
    """
    while tasks:
        prepared = _Prepared.of(tasks[0], prepare)
        with _shared.borrowed() as worker:
            answers = list(worker.answers(function, *prepared))
        yield tasks.popleft(), answers


def answers_of_many(
    function: Callable[..., object], tasks: deque[list[C]], prepare: Prepare[C]
) -> Generator[tuple[list[C], list[Answer]], None, None]:
    """Yield tasks with their answers, in order, using one worker for each processor.

    Threads prepare the calls and communicate with the workers, so that workers continue while
    results are written. The workers are at most `_AHEAD` tasks ahead, so that memory stays bounded.
    Raises `OSError` if a worker cannot be started. In that case the remaining tasks have no answer.
    """
    # imported late, since a small change does not need it
    from concurrent.futures import ThreadPoolExecutor

    count = min(os.cpu_count() or 1, _MAX_WORKERS, len(tasks))
    workers = [Worker() for _ in range(count)]
    idle = SimpleQueue[Worker]()
    for worker in workers:
        idle.put(worker)

    def answer(task: list[C]) -> list[Answer]:
        prepared = _Prepared.of(task, prepare)
        worker = idle.get()  # never waits: each thread has a worker
        try:
            return list(worker.answers(function, *prepared))
        finally:
            idle.put(worker)

    results: deque[Future[list[Answer]]] = deque()
    threads = ThreadPoolExecutor(max(count, 1))
    try:
        while tasks:
            for task in islice(tasks, len(results), count * _AHEAD):
                results.append(threads.submit(answer, task))
            answers = results.popleft().result()
            yield tasks.popleft(), answers
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.stop()
        threads.shutdown()  # the threads end, since their workers do not start again
        for worker in workers:
            worker.close()


def _start() -> Process:
    return start(_serve)


def _send(process: Process, request: object) -> None:
    pickle.dump(request, process.requests, pickle.HIGHEST_PROTOCOL)
    process.requests.flush()


def _receive(process: Process) -> Answer:
    answer = _Values(process.results).load()
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise pickle.UnpicklingError("no answer")
    return Answer(*answer)


class _Values(pickle.Unpickler):
    """Unpickles only plain values. A hijacked worker cannot make this process call a function."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("treadle."):
            found = getattr(import_module(module), name, None)
            if isinstance(found, type) and issubclass(found, (tuple, Enum)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not a value")


def _serve(requests: BinaryIO, results: BinaryIO) -> None:
    gc.set_threshold(1_000_000)  # few objects in this process are part of a cycle
    _take_signals()
    size = _size_reader()
    size_at_start = size()
    _limit("RLIMIT_AS", size_at_start + MEMORY_BYTES)
    _limit("RLIMIT_CORE", 0)
    enough = size_at_start + MEMORY_BYTES // 2
    pickle.dump((None, ""), results)
    results.flush()
    confined = False
    while _wait_for_request(requests):
        try:
            request = pickle.load(requests)  # noqa: S301  (the request is from the parent process)
        except EOFError:
            return
        module, name, folders, calls, seconds = request
        function = getattr(import_module(module), name)
        if not confined:  # earlier imports could still write bytecode files
            sys.dont_write_bytecode = confined = True
            _limit("RLIMIT_FSIZE", 0)
            confine(folders)
        for arguments in calls:
            pickle.dump(_called(function, arguments, seconds), results, pickle.HIGHEST_PROTOCOL)
            results.flush()
            if size() > enough:  # parsers keep memory, so the next calls get a new process
                return


def _take_signals() -> None:
    """Reset signal handlers, which a fork inherits from its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives SIGINT and ends this process
    for name in ("SIGTERM", "SIGPROF", "SIGABRT"):
        if number := _signal(name):
            signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    if "faulthandler" in sys.modules:
        sys.modules["faulthandler"].disable()


def _called(
    function: Callable[..., object], arguments: tuple[object, ...], seconds: float
) -> tuple[object, str]:
    _limit_time(seconds)
    try:
        return function(*arguments), ""
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001  (any exception is possible; only this call fails)
        return None, f"failed with {type(error).__name__}"
    finally:
        _limit_time(0)


def _wait_for_request(requests: BinaryIO) -> bool:
    """Wait for a request. Returns false after `IDLE_SECONDS`."""
    if os.name != "posix":
        return True
    import select

    return bool(select.select([requests], [], [], IDLE_SECONDS)[0])


def _limit_time(seconds: float) -> None:
    """End this process by a signal after `seconds` of processor time, even in C code."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _size_reader() -> Callable[[], int]:
    """Return a function that reads the address space of this process in bytes.

    The function returns 0 if the size is unknown. A confined process cannot open files below /proc,
    so the file with the size stays open.
    """
    try:
        shown = os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return lambda: 0
    page = os.sysconf("SC_PAGE_SIZE")
    return lambda: int(os.pread(shown, 256, 0).split()[0]) * page


def _limit(name: str, most: int) -> None:
    try:
        import resource
    except ImportError:
        return
    with suppress(ValueError, OSError):  # a lower limit already applies, or the system has none
        resource.setrlimit(getattr(resource, name), (most, most))


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
