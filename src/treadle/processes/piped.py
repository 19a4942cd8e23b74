"""Runs a program that answers on its standard output, and ends all its processes."""

import asyncio
import os
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from treadle.clock import Clock
from treadle.errors import TreadleError
from treadle.ids import new_id
from treadle.processes.groups import MARK, complete, end_all, process_watcher

_CLOSING = 0.5
"""The seconds in which a program can end by itself after its input was closed."""

_POLL = 0.02


@dataclass(frozen=True, slots=True)
class PipedProcess:
    """A running program with its three streams."""

    process: Process
    input: asyncio.StreamWriter
    output: asyncio.StreamReader
    errors: asyncio.StreamReader


@asynccontextmanager
async def piped(
    program: str,
    words: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    *,
    clock: Clock,
) -> AsyncIterator[PipedProcess]:
    """Yields the running process of `program`.

    `environment` is the complete environment of the program. When the context ends, the input of
    the program is closed. Every process of the program that has not ended soon after is ended,
    first with SIGTERM and then with SIGKILL. The same happens if this process is killed. Raises
    TreadleError if the program cannot be started.
    """
    mark = str(new_id())
    marked = {
        **environment,
        "PWD": str(cwd),
        MARK: f"{environment.get(MARK, '')} {mark}".strip(),
    }
    async with process_watcher(mark) as watch:
        with ExitStack() as pipes:
            started = await _start(program, words, cwd, marked, pipes)
            watch(started.process.pid)
            try:
                yield started
            finally:
                await complete(_end(started, mark, clock))


async def _end(started: PipedProcess, mark: str, clock: Clock) -> None:
    started.input.close()
    until = clock.monotonic() + _CLOSING
    while started.process.returncode is None and clock.monotonic() < until:
        await clock.sleep(_POLL)
    await end_all(started.process.pid, mark, clock)
    await started.process.wait()


async def _start(
    program: str,
    words: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    pipes: ExitStack,
) -> PipedProcess:
    """Start the process. `pipes` closes its pipes.

    This function creates the pipes itself. With pipes that asyncio creates, asyncio reports the end
    of the process only after its last child has closed the pipes.
    """
    with ExitStack() as ends_of_program:
        stdin, sending = os.pipe()
        ends_of_program.callback(os.close, stdin)
        writer = await _writer(sending, pipes)
        receiving, stdout = os.pipe()
        ends_of_program.callback(os.close, stdout)
        output = await _reader(receiving, pipes)
        receiving, stderr = os.pipe()
        ends_of_program.callback(os.close, stderr)
        errors = await _reader(receiving, pipes)
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *words[1:],
                cwd=cwd,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # not executable, arguments too long, or a NUL
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise TreadleError(
                f"{words[0]} cannot be started: {why}.",
                hint="Check that the command runs in a terminal.",
            ) from error
    return PipedProcess(process, writer, output, errors)


async def _writer(sending: int, pipes: ExitStack) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
        os.fdopen(sending, "wb", buffering=0),
    )
    pipes.callback(_close, transport)
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _reader(receiving: int, pipes: ExitStack) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(receiving, "rb", buffering=0)
    )
    pipes.callback(_close, transport)
    return reader


def _close(transport: asyncio.BaseTransport) -> None:
    with suppress(OSError, RuntimeError):
        transport.close()
