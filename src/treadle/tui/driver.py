"""Extends Textual's driver of the terminal, so that it survives a terminal that closes."""

import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key, Paste
from textual.message import Message

from treadle.tui.input_parser import InputParser

_LINE_FEED = "ctrl+j"


class TerminalDriver(LinuxDriver):
    """Writes to standard output, and ends the application when the terminal is closed.

    Textual's own driver writes to standard error, which may be redirected to a file. It also drops
    keys that the person presses before the first screen. This driver holds these keys until
    `take_keys` is called.
    """

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        linux_driver.XTermParser = InputParser  # type: ignore[attr-defined]  # Textual has no hook for it
        assert sys.__stdout__ is not None
        self._file: Any = _Output(sys.__stdout__, self._lost)
        self._lock = threading.Lock()
        self._held: list[Message] | None = []

    def process_message(self, message: Message) -> None:
        """Pass on a message of the input thread. Keys and pastes are held until `take_keys`."""
        with self._lock:
            if self._held is not None and isinstance(message, Key | Paste):
                self._held.append(message)
                return
        super().process_message(message)

    def take_keys(self) -> None:
        """Pass on the keys that were held, and from now on hold no more keys.

        Until this process sets its mode, a terminal sends a line feed for Enter. So a line feed
        at the end is passed on as Enter.
        """
        with self._lock:
            held, self._held = self._held or [], None
            if held and isinstance(held[-1], Key) and held[-1].key == _LINE_FEED:
                held[-1] = Key("enter", "\r")
            for message in held:
                super().process_message(message)

    def _lost(self) -> None:
        self._loop.call_soon_threadsafe(self._app.exit)


class _Output:
    """A file whose writes never fail. It calls `lost` once at the first failure.

    An exception would end Textual's writing thread, and the event loop would wait for this thread
    forever. A character that the encoding lacks is replaced by a question mark.
    """

    def __init__(self, file: TextIO, lost: Callable[[], None]) -> None:
        self._file = file
        self._lost = lost
        self._open = True

    def write(self, text: str) -> None:
        """Write `text`, unless the terminal is closed."""
        encoding = self._file.encoding
        self._run(self._file.write, text.encode(encoding, "replace").decode(encoding))

    def flush(self) -> None:
        """Flush the file, unless the terminal is closed."""
        self._run(self._file.flush)

    def fileno(self) -> int:
        """The descriptor of the file."""
        return self._file.fileno()

    def _run(self, action: Callable[..., object], *arguments: Any) -> None:
        if not self._open:
            return
        try:
            action(*arguments)
        except (OSError, ValueError):
            self._open = False
            self._lost()
