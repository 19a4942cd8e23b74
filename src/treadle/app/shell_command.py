"""Runs a command of the person in their shell."""

import os
from collections.abc import Callable
from pathlib import Path

from treadle.clock import Clock
from treadle.processes.running import running


async def run_shell(
    command: str, root: Path, *, clock: Clock, add_line: Callable[[str], None]
) -> int:
    """Run a command in the folder `root`, and return its exit status.

    `add_line` receives each line of the output, without colours. The command has no input. When
    this function ends or is cancelled, all processes that the command started are ended. The status
    is negative if a signal ended the shell. Raises TreadleError if the shell cannot be started.
    """
    shell = os.environ.get("SHELL") or "/bin/sh"
    words = (shell, "-c", command)
    async with running(shell, words, root, os.environ, clock=clock, add_line=add_line) as process:
        return await process.wait()
