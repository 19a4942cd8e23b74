"""A program in a pseudo-terminal, and the times at which it wrote its output."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 120.0
COLUMNS, LINES = 100, 30


class Screen:
    """The person's side of the pseudo-terminal. A thread reads the output as it arrives."""

    def __init__(self, side: int, process: subprocess.Popen[bytes]) -> None:
        self._side = side
        self.process = process
        self._output = bytearray()
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def size(self) -> int:
        """The number of bytes that the program wrote so far."""
        return len(self._output)

    def type(self, text: str) -> float:
        """Press keys. Returns the time."""
        os.write(self._side, text.encode())
        return time.perf_counter()

    def wait_for(self, text: str, *, after: int = 0) -> float:
        """The time at which the text was in the output. Raises TimeoutError."""
        wanted = text.encode()
        until = time.perf_counter() + PATIENCE
        with self._changed:
            while wanted not in self._output[after:]:
                if not self._changed.wait(until - time.perf_counter()):
                    raise TimeoutError(f"{text!r} did not appear")
            return self._at

    def output_after(self, position: int) -> bytes:
        """What the program wrote after a position."""
        with self._changed:
            return bytes(self._output[position:])

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._side, 1 << 16)
            except OSError:
                return
            with self._changed:
                self._at = time.perf_counter()
                self._output += data
                self._changed.notify_all()


@contextmanager
def screen(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> Iterator[tuple[Screen, float]]:
    """Start a program in a pseudo-terminal, with the time of its start. At the end it is killed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    flags = termios.tcgetattr(theirs)
    flags[3] &= ~termios.ECHO  # only the program shows keys
    termios.tcsetattr(theirs, termios.TCSANOW, flags)
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, start_new_session=True,
        env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Screen(ours, process), began
    finally:
        process.kill()
        process.wait()
        os.close(ours)
