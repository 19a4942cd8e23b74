"""run_command: runs a shell command after each of its parts is approved."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from treadle.checks.environment import program_of
from treadle.commands.runner import CommandState
from treadle.commands.service import Commands
from treadle.commands.weighing import Part, Weighed
from treadle.config.commands import MAX_COMMAND_SECONDS
from treadle.errors import StoreError, UsageError
from treadle.events.types import ErrorKind, ToolView
from treadle.secrets import redact
from treadle.toolbox.answers import DEFAULT_TOKENS, MaxTokens, written
from treadle.toolbox.commands.results import CommandResult, command_result
from treadle.tools.approvals.question import Policy, Program, Question
from treadle.tools.contract import (
    Arguments,
    Tool,
    ToolClass,
    ToolContext,
    ToolEffect,
    ToolError,
)
from treadle.visible import in_line, printable

_ENDING_SECONDS = 60.0
"""Seconds that are added to the longest time limit, for the end of all processes."""

_BACKGROUND_START_SECONDS = 1.0
"""Seconds for which a background command runs before its first output is returned."""

_SUMMARY_CHARACTERS = 200


class RunCommandArguments(Arguments):
    """The command, and how to run it."""

    command: str = Field(min_length=1, max_length=20_000, description="For bash, without input.")
    folder: str | None = Field(default=None, description="Relative to the root (default).")
    seconds: float | None = Field(
        default=None, gt=0, le=MAX_COMMAND_SECONDS, description="Time limit."
    )
    background: bool = Field(
        default=False, description="Return at once; see read_output and stop_command."
    )
    max_tokens: MaxTokens = DEFAULT_TOKENS


class RunCommand(Tool[RunCommandArguments, CommandResult]):
    """Runs a shell command. A command that fails is a result, not a tool error."""

    name = "run_command"
    description = (
        "Run a shell command in the repository, with the user's approval. No terminal and no "
        "input; all its processes end with it. Prefer plain commands without variables, $( ) and "
        "here-documents, which always ask. Use the edit tools to change files, and run_check for "
        "checks."
    )
    tool_class = ToolClass.BACKGROUND
    effect = ToolEffect.WRITE
    timeout = MAX_COMMAND_SECONDS + _ENDING_SECONDS
    policy = Policy.ASK
    arguments = RunCommandArguments
    result = CommandResult

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def subjects(self, arguments: RunCommandArguments) -> tuple[()]:  # noqa: ARG002
        return ()  # `run` asks for approval of each part

    async def run(self, arguments: RunCommandArguments, context: ToolContext) -> CommandResult:
        commands = self._commands
        if not arguments.command.strip():
            raise ToolError(ErrorKind.VALIDATION, "The command is empty.", field="command")
        try:
            folder = await asyncio.to_thread(commands.folder, arguments.folder)
        except UsageError as error:
            raise ToolError(
                ErrorKind.VALIDATION, error.message, field="folder", hint=error.hint
            ) from error
        limit = arguments.seconds or (
            MAX_COMMAND_SECONDS if arguments.background else commands.settings.timeout
        )
        script = await self._approved(arguments, folder, limit, context)
        try:
            listed = await commands.run(
                arguments.command,
                script,
                folder,
                context.session_id,
                limit=limit,
                background=arguments.background,
                clock=context.clock,
                progress=lambda text: context.report(redact(text)),
            )
        except (UsageError, StoreError) as error:
            raise ToolError(ErrorKind.UNAVAILABLE, error.message, hint=error.hint) from error
        if arguments.background:
            await commands.wait(listed, _BACKGROUND_START_SECONDS, context.clock)
        if listed.run.state is CommandState.FAILED and listed.run.error is not None:
            failed = listed.run.error
            raise ToolError(ErrorKind.UNAVAILABLE, failed.message, hint=failed.hint)
        return await asyncio.to_thread(command_result, listed, arguments.max_tokens)

    def content(self, result: CommandResult) -> str:
        return written(result, without_none=True)

    def view(self, arguments: RunCommandArguments, result: CommandResult) -> ToolView:
        state = result.state.replace("_", " ")
        status = "" if result.exit_status is None else f" with status {result.exit_status}"
        command = _shown(arguments.command)
        return ToolView(
            f"{command}: {state}{status}, {result.seconds:.1f} s", details=result.output
        )

    async def _approved(
        self, arguments: RunCommandArguments, folder: Path, limit: float, context: ToolContext
    ) -> str:
        """Ask for approval, and return the text that the shell gets. Raises ToolError."""
        weighed = await asyncio.to_thread(self._commands.weigh, arguments.command, folder)
        programs = await asyncio.to_thread(self._programs, weighed, folder)
        where = folder.relative_to(self._commands.root).as_posix()
        background = ", in the background" if arguments.background else ""
        question = Question(
            tuple(
                part.subject(program) for part, program in zip(weighed.parts, programs, strict=True)
            ),
            self.asks,
            f"run {_shown(arguments.command)}",
            preview=(
                f"{printable(redact(arguments.command))}\n\n"
                f"in the folder {where}{background}, for at most {limit:g} seconds, "
                "without a sandbox"
            ),
            effect="It runs with your rights, without a sandbox.",
        )
        decision = await context.approve(question)
        if not decision.allowed:
            raise ToolError.of(decision.failure(question.summary))
        after = await asyncio.to_thread(self._programs, weighed, folder)
        if after != programs:
            raise ToolError(
                ErrorKind.CONFLICT,
                "A program of the command changed while a person was asked.",
                hint="Call run_command again.",
            )
        return weighed.rendered

    def _programs(self, weighed: Weighed, folder: Path) -> list[Program | None]:
        variables = self._commands.environment().variables
        return [self._program(part, folder, variables) for part in weighed.parts]

    def _program(self, part: Part, folder: Path, variables: Mapping[str, str]) -> Program | None:
        """Return the program of a part, or None for a builtin or a missing program."""
        if not part.words or not part.words[0]:
            return None
        name = part.words[0]
        if "/" in name:
            name = str(folder / name)
        try:
            return program_of(name, self._commands.root, variables)
        except OSError:
            return None


def _shown(command: str) -> str:
    text = in_line(redact(" ".join(command.split())))
    return text if len(text) <= _SUMMARY_CHARACTERS else f"{text[:_SUMMARY_CHARACTERS]}…"
