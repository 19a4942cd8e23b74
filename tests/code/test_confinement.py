"""A worker that parses foreign text can read installed software, and do nothing else."""

import ctypes
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from treadle.code.sandbox import confinement, processes, workers
from treadle.code.sandbox.workers import Worker, call_apart
from treadle.code.syntax.problems import new_problems

ON_LINUX = sys.platform.startswith("linux")
LANDLOCK = ctypes.CDLL(None).syscall(444, None, 0, 1) if ON_LINUX else 0
"""The version of the kernel's interface; below 1 where it has none."""
SECCOMP = ON_LINUX and os.uname().machine == "x86_64"

pytestmark = pytest.mark.usefixtures("importable_worker")
needs_landlock = pytest.mark.skipif(LANDLOCK < 1, reason="the kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(not SECCOMP, reason="the filter is for Linux on x86-64")


def outcome(action: Callable[[], object]) -> str:
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"


def read(path: str) -> str:
    return outcome(Path(path).read_bytes)


def write(path: str) -> str:
    return outcome(lambda: Path(path).write_bytes(b"x"))


def remove(path: str) -> str:
    return outcome(Path(path).unlink)


def signal_parent() -> str:
    return outcome(lambda: os.kill(os.getppid(), 0))


def open_socket(family: int, kind: int) -> str:
    return outcome(lambda: socket.socket(family, kind).close())


def connect(port: int) -> str:
    return outcome(lambda: socket.create_connection(("127.0.0.1", port)).close())


def run_program() -> str:
    return outcome(lambda: subprocess.run(["/bin/true"], check=True))


def replace_process() -> str:
    return outcome(lambda: os.execv("/bin/true", ["true"]))


def fork() -> str:
    return outcome(lambda: os.fork() or os._exit(0))


def run_thread() -> bool:
    ran: list[bool] = []
    thread = threading.Thread(target=ran.append, args=(True,))
    thread.start()
    thread.join()
    return ran == [True]


def descriptors_of(path: str) -> int:
    wanted = Path(path).stat()
    found = 0
    for number in range(3, 256):
        try:
            found += os.path.samestat(os.fstat(number), wanted)
        except OSError:
            continue
    return found


@needs_landlock
def test_worker_can_read_only_installed_software(tmp_path: Path) -> None:
    private = tmp_path / "key"
    private.write_text("secret")
    assert call_apart(read, str(private)) == "PermissionError"
    assert call_apart(read, "/etc/passwd") == "PermissionError"
    assert call_apart(read, "/proc/self/environ") == "PermissionError"
    assert call_apart(read, os.__file__) == "done"
    assert "Landlock" in call_apart(confinement.means)


@needs_landlock
def test_worker_cannot_change_files(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    assert call_apart(write, str(kept)) == "PermissionError"
    assert call_apart(write, str(tmp_path / "new")) == "PermissionError"
    assert call_apart(remove, str(kept)) == "PermissionError"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert kept.read_text() == "as it was"


@needs_landlock
def test_worker_can_read_the_folders_of_a_call(tmp_path: Path) -> None:
    for name in ("model", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table").write_text("x")
    paths = [(str(tmp_path / name / "table"),) for name in ("model", "other")]
    worker = Worker()
    try:
        assert [answer.value for answer in worker.answers(read, paths)] == ["PermissionError"] * 2
        answers = worker.answers(read, paths, frozenset({str(tmp_path / "model")}))
        assert [answer.value for answer in answers] == ["done", "PermissionError"]
        (kept,) = worker.answers(read, paths[:1])
        assert kept.value == "done"
    finally:
        worker.close()


@pytest.mark.skipif(LANDLOCK < 4, reason="Landlock restricts TCP from version 4")
def test_worker_cannot_connect_to_a_port() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        assert call_apart(connect, server.getsockname()[1]) == "PermissionError"


@pytest.mark.skipif(LANDLOCK < 6, reason="Landlock restricts signals from version 6")
def test_worker_cannot_signal_other_processes() -> None:
    assert call_apart(signal_parent) == "PermissionError"


@needs_seccomp
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX])
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_worker_cannot_open_sockets(family: int, kind: int) -> None:
    assert call_apart(open_socket, int(family), int(kind)) == "PermissionError"


@needs_seccomp
def test_worker_can_start_threads_but_not_processes() -> None:
    assert call_apart(run_program) == "PermissionError"
    assert call_apart(replace_process) == "PermissionError"
    assert call_apart(fork) == "PermissionError"
    assert call_apart(run_thread)
    assert "seccomp" in call_apart(confinement.means)


@pytest.mark.skipif(not ON_LINUX, reason="other systems start a new Python")
def test_worker_does_not_inherit_open_files(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE spans (id)")
        assert descriptors_of(str(path)) == 1
        assert call_apart(descriptors_of, str(path)) == 0
        database.execute("INSERT INTO spans VALUES (1)")


@pytest.mark.skipif(os.name != "posix", reason="limits of files are of POSIX")
def test_worker_cannot_fill_a_file_that_it_could_open(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "_alone", lambda: hasattr(os, "fork"))
        patch.setattr(workers, "confine", lambda _folders: None)
        workers._shared.close()
        assert call_apart(write, str(tmp_path / "new")) == "OSError"
    workers._shared.close()


@needs_landlock
def test_packages_that_are_links_are_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As uv installs them with `--link-mode symlink`: the targets are in a folder of its own."""
    found = find_spec("tree_sitter")
    assert found is not None
    assert found.origin is not None
    shutil.copytree(Path(found.origin).parent, tmp_path / "store")
    package = tmp_path / "site" / "tree_sitter"
    package.mkdir(parents=True)
    for path in (tmp_path / "store").iterdir():
        (package / path.name).symlink_to(path)
    workers._shared.close()
    monkeypatch.setattr(processes, "_alone", lambda: False)
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), os.environ["PYTHONPATH"]])
    )
    (problem,) = call_apart(new_problems, "a.go", b"", b"package a\nfunc {\n")
    assert problem.line == 2
    assert "Landlock" not in call_apart(confinement.means)


@needs_seccomp
@needs_landlock
@pytest.mark.parametrize("lacking", ["_restrict_files", "_refuse_calls"])
def test_confinement_uses_the_mechanism_that_the_kernel_has(
    monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    def unknown(*_arguments: object) -> bool:
        raise OSError(38, "Function not implemented")

    workers._shared.close()
    monkeypatch.setattr(processes, "_alone", lambda: True)
    monkeypatch.setattr(confinement, lacking, unknown)
    expected = {"_restrict_files": ("seccomp",), "_refuse_calls": ("Landlock",)}
    assert call_apart(confinement.means) == expected[lacking]
    workers._shared.close()
