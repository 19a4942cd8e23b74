"""Foreign text is parsed in processes of their own: a crash or a limit costs one file, once."""

import mmap
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from treadle.code import CodeIndex
from treadle.code.sandbox import processes, workers
from treadle.code.sandbox.processes import Process, StartedProcess
from treadle.code.sandbox.workers import CallFailedError, Worker, answers_of_many, call_apart

SOUND = "def sound_{0}():\n    return {0}\n"


def nested_python(depth: int = 520) -> str:
    """The scanner of Python keeps its indents in a buffer of fixed size."""
    lines = [" " * level + "if x:\n" for level in range(depth)]
    return "".join(lines) + " " * depth + "y = 'a'\n"


def open_heredocs(count: int = 600) -> str:
    names = [f"{'E' * 60}{number:03d}" for number in range(count)]
    return "f(" + ", ".join(f"<<~{name}" for name in names) + ")\n" + "a\n" * 200


def hashes(count: int = 60_000) -> str:
    return "let a = " + "#" * count + "\n" + "// a\n" * 200


HOSTILE = {"nested.py": nested_python(), "heredocs.rb": open_heredocs(), "hashes.swift": hashes()}


def end_process(number: int) -> None:
    os.kill(os.getpid(), number)


def loop_forever() -> None:
    while True:
        pass


def take_memory(size: int) -> int:
    return len(b"a" * size)


KEPT: list[object] = []


def keep_memory(size: int) -> int:
    KEPT.append(bytearray(size))
    return os.getpid()


def raise_recursion() -> None:
    raise RecursionError


def wait_for_writer(pipe: str) -> str:
    with Path(pipe).open() as reading:
        return reading.readline()


def double(number: int) -> int:
    return 2 * number


def double_or_loop(number: int) -> int:
    while number == 0:
        pass
    return 2 * number


def own_pid() -> int:
    return os.getpid()


def crash_at(number: int, crashing: int) -> int:
    if number == crashing:
        end_process(signal.SIGSEGV)
    return number


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(3):
        (root / f"sound_{number}.py").write_text(SOUND.format(number))
    return root


def names(index: CodeIndex) -> set[str]:
    return {
        hit.name
        for number in range(3)
        for hit in index.search(f"sound_{number}").results
        if hit.kind == "function"
    }


@pytest.mark.parametrize(
    "name", ["nested.py", "heredocs.rb", pytest.param("hashes.swift", marks=pytest.mark.slow)]
)
def test_parser_crash_skips_only_its_file(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tree / name).write_text(HOSTILE[name])
    with CodeIndex.open(tree, cache_dir=tmp_path / "cache") as index:
        report = index.refresh()
        assert names(index) == {"sound_0", "sound_1", "sound_2"}
        assert set(report.skipped) <= {name}
        if name == "nested.py":
            assert "crashed its parser (SIGSEGV)" in report.skipped[name]
        asked: list[str] = []
        monkeypatch.setattr(workers, "_start", lambda: asked.append("start"))
        assert dict(index.refresh().skipped) == dict(report.skipped)
        assert asked == []  # nothing is parsed again


def test_failed_text_is_not_parsed_again_under_another_name(tree: Path, tmp_path: Path) -> None:
    (tree / "nested.py").write_text(nested_python())
    with CodeIndex.open(tree, cache_dir=tmp_path / "cache") as index:
        reason = index.refresh().skipped["nested.py"]
        started = []
        start = workers._start

        def counted() -> Process:
            started.append(1)
            return start()

        (tree / "nested.py").rename(tree / "renamed.py")
        (tree / "copy.py").write_text(nested_python())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(workers, "_start", counted)
            report = index.refresh()
        assert dict(report.skipped) == {"renamed.py": reason, "copy.py": reason}
        assert len(started) <= 1
        (tree / "copy.py").write_text("def sound_2():\n    return 'mended'\n")
        assert dict(index.refresh().skipped) == {"renamed.py": reason}


def test_parser_crashes_skip_only_their_files(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(60):
        padding = '"""' + "padding that takes no time\n" * 2_000 + '"""'
        (root / f"sound_{number}.py").write_text(SOUND.format(number) + padding)
    for number in (3, 4, 40):
        (root / f"sound_{number}_nested.py").write_text(nested_python(530 + number))
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        report = index.refresh()
        assert set(report.skipped) == {f"sound_{number}_nested.py" for number in (3, 4, 40)}
        assert report.files == 60


@pytest.mark.usefixtures("importable_worker")
def test_crash_fails_one_call_and_the_others_are_answered() -> None:
    worker = Worker()
    try:
        answers = list(worker.answers(crash_at, [(number, 3) for number in range(6)]))
    finally:
        worker.close()
    assert [answer.value for answer in answers] == [0, 1, 2, None, 4, 5]
    assert [bool(answer.failure) for answer in answers] == [False] * 3 + [True] + [False] * 2


@pytest.mark.usefixtures("importable_worker")
def test_process_stays_warm_between_calls() -> None:
    assert call_apart(own_pid) == call_apart(own_pid) != os.getpid()


@pytest.mark.usefixtures("importable_worker")
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_signal_that_ends_the_process_is_named(number: signal.Signals) -> None:
    with pytest.raises(CallFailedError, match=number.name):
        call_apart(end_process, number)
    assert call_apart(double, 4) == 8


@pytest.mark.usefixtures("importable_worker")
def test_memory_is_bounded() -> None:
    with pytest.raises(CallFailedError, match="memory"):
        call_apart(take_memory, 4_000_000_000)
    assert call_apart(take_memory, 1_000) == 1_000


@pytest.mark.usefixtures("importable_worker")
def test_process_that_kept_memory_does_not_fail_the_calls_after_it() -> None:
    """A parser keeps the memory of earlier files, so the process must be replaced in time."""
    worker = Worker()
    sizes = [(workers.MEMORY_BYTES // 8,)] * 12
    try:
        answers = list(worker.answers(keep_memory, sizes))
    finally:
        worker.close()
    assert {answer.failure for answer in answers} == {""}
    assert len({answer.value for answer in answers}) > 1


@pytest.mark.usefixtures("importable_worker")
def test_address_space_of_the_parent_does_not_count() -> None:
    with mmap.mmap(-1, 2 * workers.MEMORY_BYTES, prot=mmap.PROT_READ):
        worker = Worker()
        try:
            answers = list(worker.answers(own_pid, [()] * 3))
        finally:
            worker.close()
    assert {answer.failure for answer in answers} == {""}
    assert len({answer.value for answer in answers}) == 1


@pytest.mark.usefixtures("importable_worker")
def test_exception_is_named_without_its_text() -> None:
    with pytest.raises(CallFailedError, match="failed with RecursionError"):
        call_apart(raise_recursion)


@pytest.mark.usefixtures("importable_worker")
def test_processor_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SHARED_CPU_SECONDS", 0.2)
    with pytest.raises(CallFailedError, match=r"of processor time"):
        call_apart(loop_forever)
    worker = Worker()
    (answer,) = worker.answers(loop_forever, [()], seconds=0.2)
    worker.close()
    assert "of processor time" in answer.failure


@pytest.mark.usefixtures("importable_worker")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are of POSIX")
def test_a_slow_call_does_not_delay_other_calls(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threads = ThreadPoolExecutor(2)
    readable = frozenset({str(tmp_path)})
    try:
        slow = threads.submit(call_apart, wait_for_writer, str(pipe), folders=readable)
        with pipe.open("w") as writing:  # opens when the worker reads
            assert threads.submit(call_apart, double, 2).result(30) == 4
            writing.write("end\n")
        assert slow.result(30) == "end\n"
    finally:
        workers._shared.close()
        threads.shutdown(cancel_futures=True)


@pytest.mark.usefixtures("importable_worker")
def test_calls_of_many_threads_are_answered() -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda at=at: found.append(call_apart(double, at)))
        for at in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [2 * at for at in range(8)]


@pytest.mark.usefixtures("importable_worker")
def test_abandoned_answers_do_not_reach_the_next_call() -> None:
    worker = Worker()
    try:
        unfinished = worker.answers(double, [(1,), (2,), (3,)])
        assert next(unfinished).value == 2
        del unfinished
        assert [answer.value for answer in worker.answers(double, [(5,)])] == [10]
    finally:
        worker.close()


@pytest.mark.usefixtures("importable_worker")
def test_tasks_are_answered_in_order_by_several_processes() -> None:
    tasks = deque([(number,), (number + 1,)] for number in range(0, 40, 2))
    answered = list(answers_of_many(double, tasks, lambda call: (call, frozenset())))
    assert [answer.value for _, answers in answered for answer in answers] == [
        2 * number for number in range(40)
    ]
    assert not tasks


@pytest.mark.usefixtures("importable_worker")
def test_processes_that_end_early_are_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Process] = []
    start = workers._start

    def count() -> Process:
        started.append(start())
        return started[-1]

    monkeypatch.setattr(workers, "_start", count)
    tasks = deque([[(1,)], *[[(0,)] for _ in range(20)]])
    answered = answers_of_many(double_or_loop, tasks, lambda call: (call, frozenset()))
    (answer,) = next(answered)[1]
    assert answer.value == 2
    running = len(started)
    answered.close()
    assert len(started) == running
    assert all(process.ended() for process in started)


def test_process_that_cannot_start_raises_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(processes, "_alone", lambda: False)
    worker = Worker()
    with pytest.raises(OSError, match="no Python"):
        list(worker.answers(double, [(1,)]))


def test_answer_cannot_call_a_function_of_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    script = "import pickle, sys, os; pickle.dump((os.getpid, ''), sys.stdout.buffer)"

    def start() -> Process:
        return StartedProcess(
            subprocess.Popen(
                [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        )

    monkeypatch.setattr(workers, "_start", start)
    with pytest.raises(OSError, match="did not start"):
        list(worker.answers(double, [(1,)]))
