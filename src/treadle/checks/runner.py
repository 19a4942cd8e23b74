"""Runs a check in its own process session, keeps its output, and ends all its processes."""

import asyncio
import json
import re
import shlex
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from treadle.checks.diagnostics import OutputReader, parser_for
from treadle.checks.model import Check, CheckRun, CheckStatus
from treadle.clock import Clock, wait_within
from treadle.errors import NotFoundError
from treadle.processes.output import KeptOutput
from treadle.processes.running import find_program, running

Progress = Callable[[str], Awaitable[None]]
"""A function that receives a text about the progress of a check."""

TakeLine = Callable[[str], None]
"""A function that receives each line of a check's output in the form in which it is shown."""

PROGRESS_SECONDS = 1.0
"""The minimum number of seconds between two progress reports."""

SILENT_SECONDS = 10.0
"""Seconds between two progress reports while the check prints nothing."""


class ProgramMissingError(NotFoundError):
    """Raised when the program of a check is not installed."""


async def run(
    check: Check,
    cwd: Path,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    progress: Progress,
    take_line: TakeLine | None = None,
    paths: Sequence[str] = (),
    original: Path | None = None,
) -> CheckRun:
    """Run `check` in the folder `cwd` and parse its output.

    `environment` is the complete environment of the program. The program is stopped when the time
    limit of the check has passed on `clock`. When this function ends or is cancelled, it ends every
    process of the check, first with SIGTERM and then with SIGKILL. If `cwd` is a copy, `original`
    is the folder that was copied. Paths of the copy in the output are then replaced by paths of
    `original`. Raises ProgramMissingError if the program is not installed. Raises TreadleError if
    the program cannot be started.
    """
    words = check.words(paths)
    program = find_program(words[0], cwd, environment)
    if program is None:
        raise _missing(check, cwd)
    parser = parser_for(check.argv) if check.parser == "auto" else check.parser
    reader = OutputReader(parser, original or cwd, cwd)
    received = _ReceivedOutput(reader, clock, progress, str(cwd), str(original or cwd))
    received.take_line = take_line
    started = clock.monotonic()
    timed_out = False
    async with (
        running(
            program, words, cwd, environment, clock=clock, add_line=received.add_line
        ) as process,
        _reporting(received.report_progress()),
    ):
        try:
            await wait_within(process.wait(), check.timeout, clock)
        except TimeoutError:
            timed_out = True
    seconds = clock.monotonic() - started
    status, reason = _status(check, process.returncode, timed_out=timed_out)
    return CheckRun(
        check=check,
        command=check.command(paths),
        status=status,
        exit_status=None if timed_out or (process.returncode or 0) < 0 else process.returncode,
        seconds=seconds,
        reading=received.reader.reading(),
        output=received.kept.output(),
        reason=reason,
        scratch=original is not None,
    )


@asynccontextmanager
async def _reporting(report: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Report progress until the context ends. Raises the errors of `report`."""
    task = asyncio.create_task(report)
    try:
        yield
    finally:
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended


class _ReceivedOutput:
    """The output of a running process so far. It reports progress."""

    def __init__(
        self,
        reader: OutputReader,
        clock: Clock,
        progress: Progress,
        folder: str,
        original: str,
    ) -> None:
        """In the output, the path `folder` is replaced by `original`."""
        self.reader = reader
        self.kept = KeptOutput()
        self.take_line: TakeLine | None = None
        self._clock = clock
        self._progress = progress
        self._folder, self._original = folder, original
        self._last = ""

    def add_line(self, line: str) -> None:
        """Add a line of the output, and pass on the lines that are shown for it."""
        line = line.replace(self._folder, self._original)
        for shown in self.reader.line(line):
            self.kept.add(shown)
            if self.take_line is not None:
                self.take_line(shown)
            self._last = shown.strip() or self._last

    async def report_progress(self) -> None:
        """Report progress until the task is cancelled."""
        started = reported = self._clock.monotonic()
        lines = 0
        while True:
            await self._clock.sleep(PROGRESS_SECONDS)
            now = self._clock.monotonic()
            if self.kept.lines > lines or now - reported >= SILENT_SECONDS:
                reported, lines = now, self.kept.lines
                last = f": {self._last[:_MAX_PROGRESS_CHARACTERS]}" if self._last else ""
                count = "1 line" if lines == 1 else f"{lines:,} lines"
                await self._progress(f"{now - started:.0f} s, {count}{last}")


_MAX_PROGRESS_CHARACTERS = 200


_PYTEST_ENDS = {
    3: "pytest failed with an internal error.",
    4: "pytest received invalid arguments.",
    5: "pytest found no tests.",
}


def _status(
    check: Check, returned: int | None, *, timed_out: bool
) -> tuple[CheckStatus, str | None]:
    if timed_out:
        return CheckStatus.TIMED_OUT, f"It was stopped after {check.timeout:g} seconds."
    if returned == 0:
        return CheckStatus.PASSED, None
    if returned is not None and returned < 0:
        return CheckStatus.ERROR, f"It was ended by {_signal_name(-returned)}."
    if check.parser == "pytest" and returned in _PYTEST_ENDS:
        return CheckStatus.ERROR, _PYTEST_ENDS[returned]
    return CheckStatus.FAILED, None


def _signal_name(number: int) -> str:
    try:
        return f"the signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def _missing(check: Check, cwd: Path) -> ProgramMissingError:
    name = check.argv[0]
    if "/" in name and (cwd / name).exists():
        return ProgramMissingError(
            f"{name}, which the check {check.name} needs, is not executable.",
            hint=f"Make it executable (`chmod +x {shlex.quote(name)}`), or put its interpreter "
            "before it in the command.",
        )
    toml_name = check.name if re.fullmatch(r"[\w-]+", check.name) else json.dumps(check.name)
    return ProgramMissingError(
        f"{name}, which the check {check.name} needs, is not installed.",
        hint="Install it in the project's environment or on PATH, or set another command: "
        f"[checks.commands.{toml_name}] in the configuration.",
    )
