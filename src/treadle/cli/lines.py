"""Lines that a person types, read while an event loop goes on."""

import asyncio
import contextlib
import sys
import threading


class Lines:
    """Lines of standard input, read in a thread that no Ctrl-C has to wait for."""

    def __init__(self) -> None:
        self._reading: asyncio.Future[str] | None = None

    async def next(self) -> str:
        """The next line that is typed from now on, without its end; EOFError where none comes."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().create_future()
            threading.Thread(target=_read, args=(self._reading,), daemon=True).start()
        line = await asyncio.shield(self._reading)
        if not line:
            raise EOFError
        return line.rstrip("\r\n")


def _read(reading: "asyncio.Future[str]") -> None:
    try:
        line = sys.stdin.readline()
    except (OSError, ValueError):
        line = ""

    def hand_over() -> None:
        if not reading.done():
            reading.set_result(line)

    with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
        reading.get_loop().call_soon_threadsafe(hand_over)
