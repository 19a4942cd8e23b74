"""Runs functions on foreign text in separate processes, with limits of time and memory.

A parser written in C can crash on a small file, or ask for gigabytes. Here that costs one process
and one answer. `multiprocessing` is not used: its workers import the main module of the program
that uses the index, which may run the program again.
"""

import atexit
import gc
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
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
"""Prepares the arguments of a function from a call, and returns the folders that it reads."""

CPU_SECONDS = 20.0
"""Processor time of one call. A parse may take three seconds (`limits.PARSE_SECONDS`). Its queries,
which nothing else can stop, take less than that on real files of 2 MB."""
SHARED_CPU_SECONDS = 8.0
"""Processor time of a call of `call_apart`, for which an edit waits: two parses and some
queries."""
_SHARED_WORKERS = 3
"""Processes for concurrent calls. A hostile file occupies one until its limit of processor time,
which may be minutes on a busy machine. The others continue meanwhile."""
MEMORY_BYTES = 1_500_000_000
"""Address space of a worker. It needs 400 MB with numpy and the embedding loaded; a file of 2 MB
takes up to 300 MB more."""
IDLE_SECONDS = 600.0
"""A worker ends after this many seconds without a call."""
_MAX_WORKERS = 8
_AHEAD = 8
"""Tasks per worker whose results may wait during a transaction of the writer."""
_OUT_OF_MEMORY = 77
"""Exit status of a worker that reached `MEMORY_BYTES`; it could not answer later calls either."""
_MAX_STARTS = 3
"""Starts without an answer after which a worker counts as unable to run."""


class Answer(NamedTuple):
    """The value of one call, or the reason why it has none."""

    value: Any = None
    failure: str = ""


class CallFailedError(Exception):
    """A call has no result: its process crashed or exceeded a limit, or the function raised."""


class _Prepared(NamedTuple):
    """Calls for a worker, with the folders that they read."""

    calls: Calls
    folders: Folders

    @classmethod
    def of(cls, task: list[C], prepare: Prepare[C]) -> "_Prepared":
        prepared = [prepare(call) for call in task]
        return cls(
            [call for call, _ in prepared], frozenset().union(*(each for _, each in prepared))
        )


class Worker:
    """One process, started at the first call and again after a crash. For one thread."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._answered = 0
        self._readable: Folders = frozenset()

    def answers(
        self,
        function: Callable[..., object],
        calls: Calls,
        folders: Folders = frozenset(),
        *,
        seconds: float | None = None,
    ) -> Iterator[Answer]:
        """The answer of each call, in order. The calls may read only files below `folders`.

        Each may take `seconds` of processor time, `CPU_SECONDS` by default.

        A call whose process ends is repeated in a new process, so that only a call that ends a
        process by itself fails. Raises `OSError` if no process can be started.
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
            if waiting:  # the next calls would receive their answers
                self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _make_readable(self, folders: Folders) -> None:
        """End a process that was confined without one of the folders."""
        if not folders <= self._readable:
            self.close()
            self._readable |= folders

    def _running(self) -> Process:
        if self._process is not None and self._process.ended():
            self._end()
        if self._process is None:
            self._process = process = _start()
            self._answered = 0
            try:
                _receive(process)  # the greeting
            except (EOFError, pickle.UnpicklingError):
                self._end()
                raise OSError(0, "the worker process did not start") from None
            return process
        return self._process

    def _end(self) -> int:
        """Wait for the process; returns its exit status, or the negative number of a signal."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.requests, process.results):
            with suppress(OSError):
                pipe.close()
        return process.wait()


def _why(status: int, seconds: float) -> str:
    """Why a process ended; empty if it ended by itself. `seconds` is its time limit."""
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
    """Workers that any thread can borrow. The first returned one stays warm; others are ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._warm: Worker | None = None
        self._free = threading.Semaphore(_SHARED_WORKERS)

    @contextmanager
    def borrowed(self) -> Iterator[Worker]:
        """A worker for this thread; it waits while all of them are in use."""
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
        """End the warm worker."""
        with self._lock:
            if self._warm is not None:
                self._warm.close()


_shared = _SharedWorkers()
atexit.register(_shared.close)


def call_apart(function: Callable[..., T], *arguments: object, folders: Folders = frozenset()) -> T:
    """The result of a function of this package, called in a shared worker process.

    Arguments and result are plain values, named tuples of this package and enumerations. The
    function may read below `folders`. It waits while all shared workers are in use. Raises
    `CallFailedError`, or `OSError` if there is no process.
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
    """Yield tasks with the answers of a shared worker, which is warm for small changes.

    `prepare` reads files that a worker cannot read.
    """
    while tasks:
        prepared = _Prepared.of(tasks[0], prepare)
        with _shared.borrowed() as worker:
            answers = list(worker.answers(function, *prepared))
        yield tasks.popleft(), answers


def answers_of_many(
    function: Callable[..., object], tasks: deque[list[C]], prepare: Prepare[C]
) -> Iterator[tuple[list[C], list[Answer]]]:
    """Yield tasks with their answers, in order, using a worker for each processor.

    Threads prepare the calls and talk to the workers, so that workers continue while results are
    written. They are at most `_AHEAD` tasks ahead, so that memory stays bounded. Raises `OSError`
    like `Worker`; the remaining tasks have no answer yet.
    """
    from concurrent.futures import ThreadPoolExecutor  # not needed for a small change

    count = min(os.cpu_count() or 1, _MAX_WORKERS, len(tasks))
    workers = [Worker() for _ in range(count)]
    idle = SimpleQueue[Worker]()
    for worker in workers:
        idle.put(worker)

    def answer(task: list[C]) -> list[Answer]:
        prepared = _Prepared.of(task, prepare)
        worker = idle.get()  # there is a worker for each thread
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
            worker.close()
        threads.shutdown()  # nobody reads the pipes any more


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
    """Reads only values, so that a hijacked process cannot name a function to call here."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("treadle."):
            found = getattr(import_module(module), name, None)
            if isinstance(found, type) and issubclass(found, (tuple, Enum)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not a value")


def _serve(requests: BinaryIO, results: BinaryIO) -> None:
    gc.set_threshold(1_000_000)  # few objects here are part of a cycle
    _take_signals()
    _limit("RLIMIT_AS", MEMORY_BYTES)
    _limit("RLIMIT_CORE", 0)
    size = _size_reader()
    enough = (size() + MEMORY_BYTES) // 2
    pickle.dump((None, ""), results)
    results.flush()
    confined = False
    while _wait_for_request(requests):
        try:
            request = pickle.load(requests)  # noqa: S301  (from our own parent)
        except EOFError:
            return
        module, name, folders, calls, seconds = request
        function = getattr(import_module(module), name)
        if not confined:  # modules imported before this could still write their bytecode
            sys.dont_write_bytecode = confined = True
            _limit("RLIMIT_FSIZE", 0)
            confine(folders)
        for arguments in calls:
            pickle.dump(_called(function, arguments, seconds), results, pickle.HIGHEST_PROTOCOL)
            results.flush()
            if size() > enough:  # parsers keep memory; a new process starts without it
                return


def _take_signals() -> None:
    """Reset signal handlers, which a fork inherits from its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives it and ends this process
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
    except Exception as error:  # noqa: BLE001  (whatever a text brings about costs that text alone)
        return None, f"failed with {type(error).__name__}"
    finally:
        _limit_time(0)


def _wait_for_request(requests: BinaryIO) -> bool:
    """Wait for a request; false after `IDLE_SECONDS`."""
    if os.name != "posix":
        return True
    import select

    return bool(select.select([requests], [], [], IDLE_SECONDS)[0])


def _limit_time(seconds: float) -> None:
    """End this process by a signal, even in C code, after so much processor time."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _size_reader() -> Callable[[], int]:
    """Returns a function for the address space of this process in bytes; 0 if it is unknown.

    A confined process cannot open files below /proc, so the file stays open.
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
