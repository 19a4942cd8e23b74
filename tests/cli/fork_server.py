"""A process that has loaded Treadle and forks a new process for every command.

An interpreter takes about a second of processor time to load the modules of `treadle serve`; a
fork takes 10 ms. Each command still has a process of its own with its own arguments, environment,
folder and streams, and ends as an interpreter ends. It is killed when its launcher is killed.

`tests.cli.command` starts the command through `launcher`. Tests of the start itself and of other
users start an interpreter.
"""

import atexit
import fcntl
import gc
import marshal
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal, NoReturn, TextIO

import treadle
from treadle.app.toolsets import listed_registry
from treadle.cli.main import main

_LOADED_LATE = (
    "Stemmer", "aiohttp", "anyio._backends._asyncio", "encodings.idna",
    "genai_prices.data_snapshot", "httpcore2", "jsonschema", "keyring", "numpy",
    "openai.resources.chat.chat", "referencing", "rich.markdown", "rich.progress",
)  # fmt: skip
"""Modules of others that Treadle imports inside of functions, and that take long to load."""
_LAUNCHER = Path(__file__).with_name("launcher.py")


@cache
def command() -> tuple[str, ...]:
    """The words that start `treadle` through a server, which ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="treadle-fork-")
    address = str(Path(folder.name) / "socket")
    clean = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.fork_server", address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            **clean,
            "PYTHONWARNINGS": "default",
            "OPENBLAS_NUM_THREADS": "1",  # numpy would start threads, which a fork loses
            "TREADLE_HOME": str(Path(folder.name) / "home"),
        },
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        process.communicate(timeout=60)  # closes its input: it ends
        folder.cleanup()

    atexit.register(end)
    return (sys.executable, "-I", "-S", str(_LAUNCHER), address)


@dataclass
class _Request:
    """A command to run in a process of its own."""

    words: list[str]
    environment: dict[str, str]
    folder: str
    ignores_interrupt: bool
    has_terminal: bool
    """Whether standard input becomes the controlling terminal of the process."""
    streams: list[int]

    def run(self) -> NoReturn:
        """Become a process that runs the command."""
        for stream, received in enumerate(self.streams):
            os.dup2(received, stream)
            os.close(received)
        if self.has_terminal:
            _take_terminal()
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)
        interrupt = signal.SIG_IGN if self.ignores_interrupt else signal.default_int_handler
        signal.signal(signal.SIGINT, interrupt)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _open_streams()
        sys.argv = ["treadle", *self.words]
        try:
            status = main()
        except SystemExit as ended:  # argparse has shown a help text
            status = int(ended.code or 0)
        _end(status)


def _take_terminal() -> None:
    """Lead a new session whose controlling terminal is standard input, as a shell's terminal is."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _end(status: int) -> NoReturn:
    """End as `multiprocessing` ends its forks: to take all modules apart would cost 60 ms."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # warns of files that were left open
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _open_streams() -> None:
    for name, stream in {
        "stdin": _text(0, "r", "strict"),
        "stdout": _text(1, "w", "strict"),
        "stderr": _text(2, "w", "backslashreplace"),
    }.items():
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _text(stream: int, mode: Literal["r", "w"], errors: str) -> TextIO:
    """A standard stream as the interpreter opens it."""
    buffering = 1 if stream == 2 or os.isatty(stream) else -1
    return open(stream, mode, buffering, encoding="utf-8", errors=errors, closefd=False)


def _received(connection: socket.socket) -> _Request:
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    data = b""
    while len(data) < int.from_bytes(size):
        data += connection.recv(1 << 20)
    words, environment, folder, ignores_interrupt, has_terminal = marshal.loads(data)
    return _Request(words, environment, folder, ignores_interrupt, has_terminal, streams)


def _load(folder: Path) -> None:
    """Import all of Treadle, with what it imports."""
    gc.disable()  # little of it is garbage
    for module in pkgutil.walk_packages(treadle.__path__, "treadle."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in _LOADED_LATE:
        import_module(name)
    listed_registry(folder)  # makes the schemas of all tools
    load_certificates_once()
    gc.enable()
    gc.collect()
    gc.freeze()  # a collection would copy the memory that processes share


def load_certificates_once() -> None:
    """Share the trusted certificates: each HTTP client would load them in 30 ms."""
    import httpcore2

    trusted = httpcore2.default_ssl_context()
    setattr(httpcore2, "default_ssl_context", lambda **_: trusted)  # noqa: B010


def _serve(address: str) -> _Request | None:
    """Fork for each request. Returns the request in the new process, nothing at the end."""
    with selectors.DefaultSelector() as selector, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b"ready\n")
        selector.register(0, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        while True:
            key, _ = selector.select()[0]
            if key.fd == 0:
                return None
            if key.fileobj is not listener:
                key.data()
                continue
            connection, _ = listener.accept()
            request = _received(connection)
            pid = os.fork()
            if not pid:
                _close(connection, *(each.fileobj for each in selector.get_map().values()))
                return request
            for stream in request.streams:
                os.close(stream)
            _watch(selector, connection, pid)


def _close(*connections: object) -> None:
    for each in connections:
        if isinstance(each, socket.socket):
            each.close()


def _watch(selector: selectors.BaseSelector, connection: socket.socket, pid: int) -> None:
    """Report the end of the process to its launcher, or kill it after its launcher."""
    process = os.pidfd_open(pid)

    def end() -> None:
        _, status = os.waitpid(pid, 0)
        selector.unregister(process)
        os.close(process)
        if connection in selector.get_map():
            selector.unregister(connection)
            with suppress(BrokenPipeError):  # the launcher was killed
                connection.sendall(status.to_bytes(4))
        connection.close()

    def kill() -> None:
        signal.pidfd_send_signal(process, signal.SIGKILL)
        selector.unregister(connection)

    selector.register(process, selectors.EVENT_READ, end)
    selector.register(connection, selectors.EVENT_READ, kill)
    connection.sendall(pid.to_bytes(4))


if __name__ == "__main__":
    _load(Path(sys.argv[1]).parent)
    if request := _serve(sys.argv[1]):
        request.run()
