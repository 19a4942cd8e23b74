"""Runs the terminal application: opens its repository, handles signals, and returns the status."""

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

from treadle.tui.app import OpenWorkbench, TerminalApp
from treadle.tui.workbench import Workbench

_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_SIGNAL_STATUS = 128
"""If a signal ended a program, a shell reports this number plus the number of the signal as the
exit status.
"""
_FULL_COLLECTION = 100
"""The number of collections of younger objects before a full garbage collection.

A full collection delays a key by 80 ms in a conversation of 5,000 messages. With Python's default
of 10, there is one every 4 seconds while an answer arrives.
"""


def local_workbench(root: Path, model: str | None, *, debug: bool = False) -> OpenWorkbench:
    """Return a function that opens the repository at `root` in this process.

    With `debug`, the log file contains every step, and a warning states the path of this file.

    The modules and the settings are loaded in a thread, so that the screen can already react to
    keys.
    """

    @asynccontextmanager
    async def opened() -> AsyncIterator[Workbench]:
        await asyncio.to_thread(import_module, "treadle.tui.local_workbench")
        from treadle.app.stores import log_path
        from treadle.config.loader import load
        from treadle.tui.local_workbench import LocalWorkbench

        flags = {"model": model, "logs.level": "info" if debug else None}
        loaded = await asyncio.to_thread(load, root, os.environ, flags)
        log = [f"The log of this session is in {log_path()}."] if debug else []
        async with LocalWorkbench.open(
            root, loaded.settings, warnings=[*loaded.warnings, *log]
        ) as workbench:
            yield workbench

    return opened


def remote_workbench(address: str) -> OpenWorkbench:
    """Return a function that uses the server at `address`.

    The terminal uses the person's settings on this machine, not those of the server.
    """

    @asynccontextmanager
    async def opened() -> AsyncIterator[Workbench]:
        await asyncio.to_thread(import_module, "treadle.tui.remote_workbench")
        from treadle.config.loader import load
        from treadle.tui.remote_workbench import RemoteWorkbench
        from treadle.tui.server_client import TOKEN_VARIABLE

        loaded = await asyncio.to_thread(load, Path.cwd(), os.environ, {})
        token = os.environ.get(TOKEN_VARIABLE)
        async with RemoteWorkbench.open(
            address, token, terminal=loaded.settings.terminal
        ) as workbench:
            yield workbench

    return opened


async def served_root(address: str) -> str:
    """Return the path of the repository that a server serves.

    Raises TreadleError if the server does not answer.
    """
    from treadle.tui.server_client import TOKEN_VARIABLE, ServerClient

    async with ServerClient.open(address, os.environ.get(TOKEN_VARIABLE)) as server:
        return str((await server.get("/health"))["root"])


async def run_terminal(app: TerminalApp, *, mouse: bool) -> int:
    """Run `app` until the person quits or a signal comes, and return the exit status.

    The terminal is restored to its earlier state before the repository closes. Raises the error
    that ended the application.
    """
    gc.set_threshold(*gc.get_threshold()[:2], _FULL_COLLECTION)
    received: list[int] = []

    def stop(number: int) -> None:
        if received:  # an earlier signal has not ended the process
            os._exit(_SIGNAL_STATUS + number)
        received.append(number)
        app.exit()

    for number in _ENDING_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    await app.run_async(mouse=mouse)
    await app.close_workbench()
    if app.failure is not None:
        raise app.failure
    return _SIGNAL_STATUS + received[0] if received else app.return_code or 0
