"""Tools of the tests: one that reads, one that writes, and one that asks for approval.

Each run writes a line to a file, so that a test can count the runs of all processes.
"""

import asyncio
import os
from pathlib import Path

from treadle.events.types import ToolView
from treadle.tools.approvals.question import Policy, Question, Subject
from treadle.tools.contract import (
    AnyTool,
    Arguments,
    Result,
    Tool,
    ToolClass,
    ToolContext,
    ToolEffect,
    ToolError,
)

POLL_SECONDS = 0.01


async def appearance(path: Path) -> None:
    """Wait until the file exists."""
    while not path.exists():  # noqa: ASYNC110, ASYNC240  (another process creates it)
        await asyncio.sleep(POLL_SECONDS)


class NoteArguments(Arguments):
    text: str = ""
    until: str | None = None
    """The path of a file. The run ends when the file exists."""
    seconds: float = 0.0
    """The minimum time of the run."""
    size: int = 0
    """The length of the text in the result."""


class NoteResult(Result):
    type: str = "note"
    text: str
    filler: str = ""
    process: int = 0


class _Noting(Tool[NoteArguments, NoteResult]):
    tool_class = ToolClass.BACKGROUND
    timeout = 60.0
    arguments = NoteArguments
    result = NoteResult

    def __init__(self, log: Path) -> None:
        self._log = log

    def is_portable(self, arguments: NoteArguments) -> bool:
        return arguments.text != "local"

    async def run(self, arguments: NoteArguments, context: ToolContext) -> NoteResult:
        self._note(f"begin {self.name} {arguments.text}")
        await context.report(f"working on {arguments.text}")
        if arguments.seconds:
            await context.clock.sleep(arguments.seconds)
        if arguments.until is not None:
            await appearance(Path(arguments.until))
        self._note(f"end {self.name} {arguments.text}")
        return NoteResult(text=arguments.text, filler="x" * arguments.size, process=os.getpid())

    def view(self, arguments: NoteArguments, result: NoteResult) -> ToolView:
        return ToolView(f"noted {result.text} for {arguments.text}")

    def _note(self, line: str) -> None:
        with self._log.open("a") as log:
            log.write(f"{line} {os.getpid()}\n")


class Reading(_Noting):
    name = "reading"
    description = "Reads."


class Writing(_Noting):
    name = "writing"
    description = "Writes."
    effect = ToolEffect.WRITE
    policy = Policy.ALLOW

    def writes(self, arguments: NoteArguments) -> frozenset[str]:
        return frozenset()


class Asking(_Noting):
    name = "asking"
    description = "Asks for approval of a command before it runs."
    effect = ToolEffect.WRITE
    policy = Policy.ASK

    def subjects(self, arguments: NoteArguments) -> tuple[Subject, ...]:
        return ()

    async def run(self, arguments: NoteArguments, context: ToolContext) -> NoteResult:
        question = Question((Subject(command=f"run {arguments.text}"),), Policy.ASK, "run it")
        decision = await context.approve(question)
        if not decision.allowed:
            raise ToolError.of(decision.failure(question.summary))
        return await super().run(arguments, context)


def noting_tools(log: Path) -> list[AnyTool]:
    return [Reading(log), Writing(log), Asking(log)]
