"""read_output: reads the output of a command, and the state of a command in the background."""

import asyncio
from typing import Literal

from pydantic import Field

from treadle.commands.service import Commands
from treadle.events.types import ToolView
from treadle.processes.output import plain
from treadle.secrets import redact
from treadle.tokens import estimate
from treadle.toolbox.answers import DEFAULT_TOKENS, MaxTokens, most_that_fit, written
from treadle.toolbox.commands.results import listed_run
from treadle.tools.contract import Arguments, Result, Tool, ToolContext

_MAX_BYTES = 200_000


class ReadOutputArguments(Arguments):
    """The command, and the part of its output."""

    id: str = Field(description="Id that run_command returned.")
    offset: int | None = Field(
        default=None, ge=0, description="First byte; default: the newest output."
    )
    wait: float = Field(
        default=0, ge=0, le=60, description="Seconds to wait for the end of a running command."
    )
    max_tokens: MaxTokens = DEFAULT_TOKENS


class OutputResult(Result):
    """A part of the output, as byte offsets, and the state of the command."""

    type: str = "command_output"
    id: str
    state: Literal["running", "exited", "killed", "timed_out", "stopped", "output_limit", "failed"]
    exit_status: int | None = None
    output: str
    start: int
    end: int
    bytes: int


class ReadOutput(Tool[ReadOutputArguments, OutputResult]):
    """Reads a part of the output of a command of the same conversation."""

    name = "read_output"
    description = (
        "Read the output of run_command by byte offset, or the state and newest output of a "
        "background command."
    )
    timeout = 120.0
    arguments = ReadOutputArguments
    result = OutputResult

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def run(self, arguments: ReadOutputArguments, context: ToolContext) -> OutputResult:
        listed = listed_run(self._commands, arguments.id, context)
        if arguments.wait:
            await self._commands.wait(listed, arguments.wait, context.clock)
        length = min(_MAX_BYTES, arguments.max_tokens * 8)
        size = listed.run.file.size
        start = max(0, size - length) if arguments.offset is None else arguments.offset
        part = await asyncio.to_thread(self._commands.read, listed, start, length)

        def result(number: int) -> OutputResult:
            newest = arguments.offset is None
            data = part.data[len(part.data) - number :] if newest else part.data[:number]
            first = part.end - number if newest else part.start
            text = "\n".join(map(plain, data.decode("utf-8", "replace").split("\n")))
            return OutputResult(
                id=listed.name,
                state=listed.run.state.value,
                exit_status=listed.run.exit_status,
                output=redact(text),
                start=first,
                end=first + number,
                bytes=part.size,
            )

        def fitted() -> OutputResult:
            return result(
                most_that_fit(
                    len(part.data),
                    lambda number: estimate(written(result(number))),
                    arguments.max_tokens,
                )
            )

        return await asyncio.to_thread(fitted)

    def content(self, result: OutputResult) -> str:
        return written(result, without_none=True)

    def view(self, arguments: ReadOutputArguments, result: OutputResult) -> ToolView:
        return ToolView(
            f"{arguments.id}: bytes {result.start:,} to {result.end:,} of {result.bytes:,}",
            details=result.output,
        )
