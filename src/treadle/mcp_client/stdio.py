"""The transport to a server that runs as a program: JSON messages in lines.

Lines on the standard output that are not messages are skipped. Many servers print some.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.clock import Clock
from treadle.errors import TreadleError
from treadle.processes.output import LineSplitter
from treadle.processes.piped import PipedProcess, piped
from treadle.processes.running import find_program

if TYPE_CHECKING:  # the SDK loads slowly
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

MAX_MESSAGE_BYTES = 64 << 20
"""The maximum size of a message in bytes. A longer line is skipped."""

_BLOCK = 1 << 16
_IN_THREAD_BYTES = 1 << 17
"""A longer message is parsed in a thread, since parsing it would block the event loop."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started. `words` are the program and its arguments."""

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reports:
    """What a transport reports.

    `noise` receives a sentence about output that is not a message. `error_line` receives each line
    of the standard error output. `ended` is called when the server no longer answers.
    """

    noise: Callable[[str], None]
    error_line: Callable[[str], None]
    ended: Callable[[], None]


class MessageLines:
    """Splits the output of a server into lines. Longer lines than `limit` bytes are skipped."""

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._incomplete = bytearray()
        self._skipping = False
        self.skipped = 0
        """The number of lines that were too long."""

    def feed(self, data: bytes) -> list[bytes]:
        """Add `data`, and return the lines that are now complete."""
        lines = []
        first, *others = data.split(b"\n")
        self._append(first)
        for part in others:
            if not self._skipping:
                lines.append(bytes(self._incomplete))
            self._incomplete, self._skipping = bytearray(), False
            self._append(part)
        return lines

    def _append(self, part: bytes) -> None:
        if self._skipping:
            return
        self._incomplete += part
        if len(self._incomplete) > self._limit:
            self._incomplete, self._skipping = bytearray(), True
            self.skipped += 1


@asynccontextmanager
async def stdio_streams(
    launch: Launch, reports: Reports, clock: Clock
) -> "AsyncIterator[TransportStreams]":
    """Start a server, and yield the streams of its messages. The end of the context ends it.

    Raises TreadleError if the server cannot be started.
    """
    import anyio
    from mcp.shared.message import SessionMessage

    name = launch.words[0]
    program = find_program(name, launch.folder, launch.environment)
    if program is None:
        raise TreadleError(
            f"The program {name} was not found.", hint="Install it, or write its whole path."
        )
    received, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    write_stream, to_send = anyio.create_memory_object_stream[SessionMessage](16)
    running = piped(program, launch.words, launch.folder, launch.environment, clock=clock)
    async with running as server:
        tasks = [
            asyncio.create_task(_receive(server, received, reports)),
            asyncio.create_task(_send(server, to_send)),
            asyncio.create_task(_read_errors(server, reports)),
        ]
        try:
            yield read_stream, write_stream
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (received, read_stream, write_stream, to_send):
                stream.close()


async def _receive(
    server: PipedProcess,
    received: "MemoryObjectSendStream[SessionMessage | Exception]",
    reports: Reports,
) -> None:
    """Pass the messages of the server on until its output ends."""
    import anyio

    lines = MessageLines()
    try:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while block := await server.output.read(_BLOCK):
                for line in lines.feed(block):
                    message = await _message(line)
                    if message is not None:
                        await received.send(message)
                    elif line.strip():
                        start = line[:80].decode("utf-8", "replace")
                        reports.noise(f"it printed {start!r}, which is not a message")
                if lines.skipped:
                    reports.noise(f"it printed a line of more than {MAX_MESSAGE_BYTES:,} bytes")
                    lines.skipped = 0
                await asyncio.sleep(0)  # `read` may return without waiting
    finally:
        reports.ended()
        received.close()


async def _message(line: bytes) -> "SessionMessage | None":
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    if not line.lstrip().startswith(b"{"):
        return None
    try:
        if len(line) > _IN_THREAD_BYTES:
            parsed = await asyncio.to_thread(
                jsonrpc_message_adapter.validate_json, line, by_name=False
            )
        else:
            parsed = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValueError, RecursionError):
        return None
    return SessionMessage(parsed)


async def _send(server: PipedProcess, to_send: "MemoryObjectReceiveStream[SessionMessage]") -> None:
    with suppress(OSError):  # the server has ended, which `_receive` notices
        async for message in to_send:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            server.input.write(text.encode() + b"\n")
            await server.input.drain()


async def _read_errors(server: PipedProcess, reports: Reports) -> None:
    splitter = LineSplitter()
    while block := await server.errors.read(_BLOCK):
        for line in splitter.feed(block):
            reports.error_line(line)
        await asyncio.sleep(0)
    for line in splitter.end():
        reports.error_line(line)
