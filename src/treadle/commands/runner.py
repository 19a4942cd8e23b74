"""Runs one shell command: with a time limit, without input and terminal, and ends all of it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from treadle.clock import Clock
from treadle.commands.kept_output import OutputFile
from treadle.errors import TreadleError
from treadle.processes.output import KeptOutput, Output
from treadle.processes.running import find_program, running

Progress = Callable[[str], Awaitable[None]]
"""A function that receives a text about the progress of a command."""

PROGRESS_SECONDS = 1.0
"""The minimum number of seconds between two progress reports."""

_PROGRESS_CHARACTERS = 200


class CommandState(StrEnum):
    """The state of a command."""

    RUNNING = "running"
    EXITED = "exited"
    """The shell ended by itself. The exit status says how."""
    KILLED = "killed"
    """A signal ended the shell, and Treadle did not send it."""
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    """A call or the end of its owner stopped it."""
    OUTPUT_LIMIT = "output_limit"
    """It printed more than the limit, so Treadle ended it."""
    FAILED = "failed"
    """It could not be started."""


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """What to run: the text for the shell, the folder, the environment and the limits."""

    script: str
    folder: Path
    environment: Mapping[str, str]
    timeout: float | None
    output_limit: int


class CommandRun:
    """One command that runs or has run, and its output so far."""

    def __init__(self, spec: CommandSpec, file: OutputFile, clock: Clock) -> None:
        self.spec = spec
        self.file = file
        self.state = CommandState.RUNNING
        self.exit_status: int | None = None
        self.signal: int | None = None
        self.error: TreadleError | None = None
        self.seconds = 0.0
        self._clock = clock
        self._kept = KeptOutput()
        self._last = ""
        self._stop = asyncio.Event()
        self._full = asyncio.Event()

    @property
    def output(self) -> Output:
        """The first and last lines of the output so far."""
        return self._kept.output()

    def stop(self) -> None:
        """Let `run` end the command."""
        self._stop.set()

    async def run(self, progress: Progress | None = None) -> None:
        """Run the command until it ends, a limit is reached, or `stop` is called.

        When this method ends or is cancelled, every process of the command has ended. Processes
        that the command left in the background are ended too.
        """
        started = self._clock.monotonic()
        reporting = asyncio.create_task(self._report(progress, started)) if progress else None
        try:
            with self.file:
                await self._run()
        except TreadleError as error:
            self.state, self.error = CommandState.FAILED, error
        except asyncio.CancelledError:
            self.state = CommandState.STOPPED
            raise
        finally:
            self.seconds = self._clock.monotonic() - started
            if reporting is not None:
                reporting.cancel()
                with suppress(asyncio.CancelledError):
                    await reporting

    async def _run(self) -> None:
        shell = find_program("bash", self.spec.folder, self.spec.environment)
        if shell is None:
            raise TreadleError("bash is not installed.", hint="Install bash to run commands.")
        if not self.spec.folder.is_dir():
            raise TreadleError(
                f"The folder {self.spec.folder} does not exist.",
                hint="Give another folder, or none for the root of the repository.",
            )
        words = ("bash", "--noprofile", "--norc", "-c", f"ulimit -c 0\n{self.spec.script}")
        async with running(
            shell,
            words,
            self.spec.folder,
            self.spec.environment,
            clock=self._clock,
            add_line=self._add_line,
            add_block=self._add_block,
        ) as process:
            ended = asyncio.ensure_future(process.wait())
            waits: dict[asyncio.Future[Any], CommandState] = {
                ended: CommandState.EXITED,
                asyncio.ensure_future(self._stop.wait()): CommandState.STOPPED,
                asyncio.ensure_future(self._full.wait()): CommandState.OUTPUT_LIMIT,
            }
            if self.spec.timeout is not None:
                timer = asyncio.ensure_future(self._clock.sleep(self.spec.timeout))
                waits[timer] = CommandState.TIMED_OUT
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                state = next(state for wait, state in waits.items() if wait.done())
                returned = process.returncode
            finally:
                for wait in waits:
                    wait.cancel()
                await asyncio.gather(*waits, return_exceptions=True)
        if self._full.is_set():
            state = CommandState.OUTPUT_LIMIT
        if state is CommandState.EXITED and returned is not None and returned < 0:
            state, self.signal = CommandState.KILLED, -returned
        elif state is CommandState.EXITED:
            self.exit_status = returned
        self.state = state

    def _add_block(self, block: bytes) -> None:
        if not self.file.write(block, self.spec.output_limit):
            self._full.set()

    def _add_line(self, line: str) -> None:
        self._kept.add(line)
        self._last = line.strip() or self._last

    async def _report(self, progress: Progress, started: float) -> None:
        """Report progress until the task is cancelled."""
        lines = 0
        while True:
            await self._clock.sleep(PROGRESS_SECONDS)
            if self._kept.lines > lines:
                lines = self._kept.lines
                seconds = self._clock.monotonic() - started
                await progress(
                    f"{seconds:.0f} s, {lines:,} lines: {self._last[:_PROGRESS_CHARACTERS]}"
                )
