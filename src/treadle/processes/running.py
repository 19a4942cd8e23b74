"""Runs a program in its own process session, reads its output, and ends all its processes."""

import asyncio
import os
import shutil
import subprocess
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from treadle.clock import Clock
from treadle.errors import TreadleError
from treadle.ids import new_id
from treadle.processes.groups import MARK, complete, end_all, process_watcher
from treadle.processes.output import LineSplitter

_BLOCK = 1 << 14
"""The number of bytes of one read.

Parsing a larger block would block the event loop for too long.
"""

_DRAIN = 1.0
"""The maximum number of seconds to wait for the rest of the output after all processes ended."""

AddLine = Callable[[str], None]
"""A function that receives each line of the output, without colours and line end."""

AddBlock = Callable[[bytes], None]
"""A function that receives the output in blocks of bytes. It must not block for long."""


def find_program(name: str, cwd: Path, environment: Mapping[str, str]) -> str | None:
    """The path of the program `name` for the folder `cwd`, or None if it is missing.

    A name with a slash is a path relative to `cwd`. Other names are searched in PATH.
    """
    if "/" in name:
        path = cwd / name
        return str(path) if path.is_file() and os.access(path, os.X_OK) else None
    return shutil.which(name, path=environment.get("PATH", ""))


@asynccontextmanager
async def running(
    program: str,
    words: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    *,
    clock: Clock,
    add_line: AddLine,
    add_block: AddBlock | None = None,
) -> AsyncIterator[Process]:
    """Yields the running process of `program`, and passes its output to `add_line`.

    `add_block` receives the same output as it was written, before the lines.

    `environment` is the complete environment of the program. The program has no input. When the
    context ends or is cancelled, every process of the program is ended, first with SIGTERM and
    then with SIGKILL, and the rest of the output is read. Raises TreadleError if the program cannot
    be started, and the errors of
    `add_line` and `add_block`.
    """
    mark = str(new_id())
    marked = {
        **environment,
        "PWD": str(cwd),
        MARK: f"{environment.get(MARK, '')} {mark}".strip(),
    }
    async with process_watcher(mark) as watch:
        process, output, pipe = await _start(program, words, cwd, marked)
        watch(process.pid)
        reading = asyncio.create_task(_read(output, add_line, add_block))
        try:
            yield process
        finally:
            await complete(_end(process, mark, reading, clock))
            pipe.close()


async def _read(
    output: asyncio.StreamReader, add_line: AddLine, add_block: AddBlock | None
) -> None:
    splitter = LineSplitter()
    while block := await output.read(_BLOCK):
        if add_block is not None:
            add_block(block)
        for line in splitter.feed(block):
            add_line(line)
        await asyncio.sleep(0)  # lets other tasks run, since `read` may return without waiting
    for line in splitter.end():
        add_line(line)


async def _end(process: Process, mark: str, reading: asyncio.Task[None], clock: Clock) -> None:
    """End all processes of the program, then the task that reads their output."""
    await end_all(process.pid, mark, clock)
    await process.wait()
    await asyncio.wait({reading}, timeout=_DRAIN)  # a child may survive and keep the pipe open
    reading.cancel()
    (ended,) = await asyncio.gather(reading, return_exceptions=True)
    if isinstance(ended, Exception):
        raise ended


async def _start(
    program: str, words: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> tuple[Process, asyncio.StreamReader, asyncio.ReadTransport]:
    """Start the process. One pipe receives the output of the process and its children.

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
        f"{name} cannot be started: {why}.", hint="Check that the command runs in a terminal."
    )
