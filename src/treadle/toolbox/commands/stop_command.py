"""stop_command: ends a command that runs in the background."""

import asyncio

from pydantic import Field

from treadle.commands.service import Commands
from treadle.events.types import ToolView
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, written
from treadle.toolbox.commands.results import CommandResult, command_result, listed_run
from treadle.tools.contract import Arguments, Tool, ToolContext


class StopCommandArguments(Arguments):
    """The command to stop."""

    id: str = Field(description="Id that run_command returned.")
    max_tokens: MaxTokens = BRIEF_TOKENS


class StopCommand(Tool[StopCommandArguments, CommandResult]):
    """Ends all processes of a command that this conversation started."""

    name = "stop_command"
    description = (
        "End a background command of run_command with all its processes, and return its last "
        "output."
    )
    arguments = StopCommandArguments
    result = CommandResult

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def run(self, arguments: StopCommandArguments, context: ToolContext) -> CommandResult:
        listed = listed_run(self._commands, arguments.id, context)
        await self._commands.stop(listed)
        return await asyncio.to_thread(command_result, listed, arguments.max_tokens)

    def content(self, result: CommandResult) -> str:
        return written(result, without_none=True)

    def view(self, arguments: StopCommandArguments, result: CommandResult) -> ToolView:
        return ToolView(f"{arguments.id}: {result.state.replace('_', ' ')}", details=result.output)
