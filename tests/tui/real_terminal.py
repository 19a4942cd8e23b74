"""Runs the real `treadle` in a pseudo-terminal, and shows its screen as text.

    async with terminal("chat", home=home, cwd=repo) as screen:
        await screen.shows("Ask")
        screen.type("How does it start?\r")

The pseudo-terminal is the controlling terminal of the process, so that it receives the signals of
a real one. `pyte` interprets its output.
"""

import asyncio
import codecs
import fcntl
import os
import pty
import re
import signal
import struct
import termios
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pyte

from tests.cli.command import INTERPRETER, environment, start_of

PATIENCE = 60.0
"""Seconds after which a wait fails. A busy machine is slow."""
_HISTORY = 20_000
_UNKNOWN_TO_PYTE = re.compile(r"\x1b\[(?:[<>=][0-9;]*u|\?[0-9;]*\$p)")
"""Sequences that pyte would print as text: keyboard protocols and queries of modes."""
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;<>=?$]*)?\Z")


class RealTerminal:
    """The person's side of a pseudo-terminal, and the process on the other side."""

    def __init__(self, side: int, other_side: int, columns: int, lines: int) -> None:
        self._side = side
        self._other_side = other_side
        """Stays open, so that the settings of the terminal can be read after the process."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._changed = asyncio.Event()
        self._screen = pyte.HistoryScreen(columns, lines, history=_HISTORY, ratio=0.5)
        self._stream = pyte.Stream(self._screen)
        self.process: asyncio.subprocess.Process
        self.raw = ""
        """Everything that the process wrote."""
        self.closed = False
        asyncio.get_running_loop().add_reader(side, self._read)

    @property
    def pid(self) -> int:
        """The id of the process that has the terminal; `process` may be its launcher."""
        return os.tcgetpgrp(self._side)

    @property
    def state(self) -> str:
        """The state of this process as in `/proc`: S if it waits, T if it is stopped."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]

    @property
    def text(self) -> str:
        """The lines of the screen, without spaces at their ends."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def scrollback(self) -> str:
        """The lines that left the screen at its top, and the screen."""
        above = [
            "".join(line[column].data for column in range(self._screen.columns)).rstrip()
            for line in self._screen.history.top
        ]
        return "\n".join([*above, self.text])

    def type(self, keys: str) -> None:
        """Press keys. `\\r` is Enter, `\\x1b` Escape, `\\x03` Ctrl+C."""
        os.write(self._side, keys.encode())

    async def shows(self, *texts: str) -> None:
        """Wait until the screen contains all texts."""
        await self.until(lambda: all(text in self.text for text in texts), f"{texts} to appear")

    async def hides(self, text: str) -> None:
        """Wait until the screen does not contain the text."""
        await self.until(lambda: text not in self.text, f"{text!r} to disappear")

    async def printed(self, text: str) -> None:
        """Wait until the screen or the scrollback contains the text."""
        await self.until(lambda: text in self.scrollback, f"{text!r} to be printed")

    def forget(self) -> None:
        """Clear the screen that the test sees, so that old text is not taken for new text."""
        self._screen.reset()

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until the condition is true. It is checked after each output, and twice a second."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition():
                    self._changed.clear()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._changed.wait(), 0.5)
        except TimeoutError:
            raise AssertionError(f"waited in vain for {what}:\n{self.scrollback}") from None

    async def ended(self) -> int:
        """Wait for the end of the process, and return its exit status."""
        status = await asyncio.wait_for(self.process.wait(), PATIENCE)
        self._read()
        return status

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal, as a window does."""
        self._screen.resize(lines, columns)
        _set_size(self._side, columns, lines)

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        os.kill(self.pid, number)

    def close(self) -> None:
        """Close the terminal window. The kernel sends SIGHUP to the process."""
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().remove_reader(self._side)
            os.close(self._other_side)
            os.close(self._side)

    def is_clean(self) -> bool:
        """Whether the terminal is as a shell expects it.

        Lines are edited and echoed, the cursor is visible, and the first screen is shown. The
        mouse, pasted text and the focus are not reported.
        """
        self._read()
        flags = termios.tcgetattr(self._side)[3]
        cooked = flags & termios.ICANON and flags & termios.ECHO and flags & termios.ISIG
        return bool(cooked) and not any(self._is_on(mode) for mode in _MODES) and self._is_on("25")

    def _is_on(self, mode: str) -> bool:
        """Whether the last sequence for a mode switched it on. Only the cursor is on at first."""
        found = re.findall(rf"\x1b\[\?{mode}([hl])", self.raw)
        return (found[-1] if found else "h" if mode == "25" else "l") == "h"

    def _read(self) -> None:
        while not self.closed:
            try:
                data = os.read(self._side, 65_536)
            except BlockingIOError:
                return
            text = self._rest + self._decoder.decode(data)
            self.raw += self._decoder.decode(b"") + text[len(self._rest) :]
            unfinished = _UNFINISHED.search(text)
            self._rest = unfinished[0] if unfinished else ""
            self._stream.feed(_UNKNOWN_TO_PYTE.sub("", text.removesuffix(self._rest)))
            self._changed.set()


_MODES = ("1049", "1000", "1003", "1006", "1015", "2004", "1004")
"""The other screen, reports of the mouse, pasted text in brackets, reports of the focus."""


@asynccontextmanager
async def terminal(
    *arguments: str,
    home: Path,
    cwd: Path,
    size: tuple[int, int] = (80, 24),
    words: Sequence[str] = (),
    **env: str,
) -> AsyncIterator[RealTerminal]:
    """Run `treadle` in a terminal of `size` columns and lines. At the end it is killed.

    `words` start the program, otherwise a fork runs it.
    """
    starting = words or start_of(env)
    forked = not words and starting != INTERPRETER
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    _set_size(ours, *size)
    screen = RealTerminal(ours, theirs, *size)
    screen.process = await asyncio.create_subprocess_exec(
        *(*starting, *arguments),
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd,
        env=environment(
            home, **{"TERM": "xterm-256color", "COLORTERM": "truecolor", "SHELL": "/bin/sh", **env}
        ),
        start_new_session=True,
        preexec_fn=_restore_signals if forked else _take_terminal,  # the fork takes it
    )  # fmt: skip
    try:
        yield screen
    finally:
        if screen.process.returncode is None:
            with suppress(ProcessLookupError):
                screen.process.send_signal(signal.SIGKILL)
        await screen.process.wait()
        screen.close()


def _take_terminal() -> None:
    """Make standard input the controlling terminal of this new process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    _restore_signals()


def _restore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _set_size(side: int, columns: int, lines: int) -> None:
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
