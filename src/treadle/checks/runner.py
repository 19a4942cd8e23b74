"""Runs a check in its own process session, keeps its output, and ends all its processes."""

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from asyncio.subprocess import Process
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from treadle.checks.diagnostics import OutputReader, parser_for
from treadle.checks.model import Check, CheckRun, CheckStatus, Output
from treadle.checks.processes import MARK, complete, end_all, process_watcher
from treadle.clock import Clock, wait_within
from treadle.errors import NotFoundError, TreadleError
from treadle.ids import new_id

MAX_LINE_BYTES = 1 << 18
"""The maximum size of a line in bytes.

The rest of a longer line is dropped. Most lines with JSON diagnostics are smaller than a tenth of
this size.
"""

HEAD_LINES = 60
TAIL_LINES = 300
SHOWN_CHARACTERS = 600
"""The maximum number of characters of a line that are shown."""

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|[@-Z\\^_]?)"
)
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), 127))
"""A translation table that removes all control characters except the tab."""


def plain(line: str) -> str:
    """`line` without colours, control characters and text that a carriage return overwrites."""
    if line.isprintable():
        return line
    line = _ESCAPES.sub("", line).rstrip("\r")
    return line.rpartition("\r")[2].translate(_CONTROLS)


class LineSplitter:
    """Splits a stream of bytes into plain lines. Lines are cut to `MAX_LINE_BYTES`."""

    def __init__(self) -> None:
        self._incomplete = b""
        self._dropping = False

    def feed(self, data: bytes) -> Iterator[str]:
        """Add `data`, and yield the lines that are now complete."""
        first, *others = data.split(b"\n")
        self._append(first)
        for part in others:
            yield plain(self._incomplete.decode("utf-8", "replace"))
            self._incomplete, self._dropping = b"", False
            self._append(part)

    def end(self) -> Iterator[str]:
        """Yield the last line of the stream if it has no line end."""
        if self._incomplete:
            yield plain(self._incomplete.decode("utf-8", "replace"))
            self._incomplete = b""

    def _append(self, part: bytes) -> None:
        if not self._dropping:
            self._incomplete += part
        if len(self._incomplete) > MAX_LINE_BYTES:
            self._incomplete, self._dropping = self._incomplete[:MAX_LINE_BYTES], True


class KeptOutput:
    """Keeps the first and the last lines of an output."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._lines = 0

    @property
    def lines(self) -> int:
        """The number of lines that were added."""
        return self._lines

    def add(self, line: str) -> None:
        """Add a line. It is cut to `SHOWN_CHARACTERS`."""
        if len(line) > SHOWN_CHARACTERS:
            line = f"{line[:SHOWN_CHARACTERS]}…"
        self._lines += 1
        (self._head if len(self._head) < HEAD_LINES else self._tail).append(line)

    def output(self) -> Output:
        """Return the kept lines, and the number of lines that were added."""
        head, tail = tuple(self._head), tuple(self._tail)
        if self._lines == len(head) + len(tail):
            return Output((), head + tail, self._lines)
        return Output(head, tail, self._lines)


Progress = Callable[[str], Awaitable[None]]
"""A function that receives a text about the progress of a check."""

TakeLine = Callable[[str], None]
"""A function that receives each line of a check's output in the form in which it is shown."""

PROGRESS_SECONDS = 1.0
"""The minimum number of seconds between two progress reports."""

SILENT_SECONDS = 10.0
"""Seconds between two progress reports while the check prints nothing."""

_BLOCK = 1 << 14
"""The number of bytes of one read.

Parsing a larger block would block the event loop for too long.
"""

_DRAIN = 1.0
"""The maximum number of seconds to wait for the rest of the output after all processes ended."""


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
    mark = str(new_id())
    marked_environment = {
        **environment,
        "PWD": str(cwd),
        MARK: f"{environment.get(MARK, '')} {mark}".strip(),
    }
    parser = parser_for(check.argv) if check.parser == "auto" else check.parser
    reader = OutputReader(parser, original or cwd, cwd)
    output_task = _OutputTask(reader, clock, progress, str(cwd), str(original or cwd))
    output_task.take_line = take_line
    started = clock.monotonic()
    timed_out = False
    async with process_watcher(mark) as watch:
        process, output, pipe = await start(program, words, cwd, marked_environment)
        watch(process.pid)
        tasks = (
            asyncio.create_task(output_task.read(output)),
            asyncio.create_task(output_task.report_progress()),
        )
        try:
            await wait_within(process.wait(), check.timeout, clock)
        except TimeoutError:
            timed_out = True
        finally:
            await complete(_end_run(process, mark, *tasks, clock))
            pipe.close()
    seconds = clock.monotonic() - started
    status, reason = _status(check, process.returncode, timed_out=timed_out)
    return CheckRun(
        check=check,
        command=check.command(paths),
        status=status,
        exit_status=None if timed_out or (process.returncode or 0) < 0 else process.returncode,
        seconds=seconds,
        reading=output_task.reader.reading(),
        output=output_task.kept.output(),
        reason=reason,
        scratch=original is not None,
    )


def find_program(name: str, cwd: Path, environment: Mapping[str, str]) -> str | None:
    """The path of the program `name` for the folder `cwd`, or None if it is missing.

    A name with a slash is a path relative to `cwd`. Other names are searched in PATH.
    """
    if "/" in name:
        path = cwd / name
        return str(path) if path.is_file() and os.access(path, os.X_OK) else None
    return shutil.which(name, path=environment.get("PATH", ""))


class _OutputTask:
    """Reads the output of a running process and reports progress."""

    def __init__(
        self,
        reader: OutputReader,
        clock: Clock,
        progress: Progress,
        folder: str,
        original: str,
    ) -> None:
        """Create the task. In the output, the path `folder` is replaced by `original`."""
        self.reader = reader
        self.kept = KeptOutput()
        self.take_line: TakeLine | None = None
        self._clock = clock
        self._progress = progress
        self._folder, self._original = folder, original
        self._last = ""

    async def read(self, output: asyncio.StreamReader) -> None:
        """Read until the end of the output."""
        splitter = LineSplitter()
        while block := await output.read(_BLOCK):
            for line in splitter.feed(block):
                self._add_line(line)
            await asyncio.sleep(0)  # lets other tasks run, as `read` may not wait
        for line in splitter.end():
            self._add_line(line)

    def _add_line(self, line: str) -> None:
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


async def start(
    program: str, words: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> tuple[Process, asyncio.StreamReader, asyncio.ReadTransport]:
    """Start the process. One pipe receives the output of the process and its children.

    Raises TreadleError if the program cannot be started.

    This function creates the pipe itself. With a pipe that asyncio creates, asyncio reports the end
    of the process only after its last child has closed the pipe.
    """
    receiving, sending = os.pipe()
    output = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(output), os.fdopen(receiving, "rb", buffering=0)
    )
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *words[1:],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sending,
            stderr=sending,
            start_new_session=True,
        )
    except BaseException as error:
        pipe.close()
        if isinstance(error, OSError | ValueError):  # not executable, arguments too long, or a NUL
            raise _not_started(words[0], error) from error
        raise
    finally:
        os.close(sending)
    return process, output, pipe


def _not_started(name: str, error: OSError | ValueError) -> TreadleError:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return TreadleError(
        f"{name} cannot be started: {why}.",
        hint="Check that the command runs in a terminal, or set it in [checks.commands].",
    )


async def _end_run(
    process: Process,
    mark: str,
    reading: asyncio.Task[None],
    reporting: asyncio.Task[None],
    clock: Clock,
) -> None:
    """End all processes of the run, then the tasks that read and report its output."""
    await end_all(process.pid, mark, clock)
    await process.wait()
    await asyncio.wait({reading}, timeout=_DRAIN)  # a child may survive and keep the pipe open
    reading.cancel()
    reporting.cancel()
    for ended in await asyncio.gather(reading, reporting, return_exceptions=True):
        if isinstance(ended, Exception):
            raise ended


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
