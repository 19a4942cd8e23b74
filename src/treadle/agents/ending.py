"""`final`: the tool with which an agent gives its answer and ends."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, StringConstraints

from treadle.agents.definitions import FINAL
from treadle.diagnosis.report.verifying import SpanSource, VerifiedAnswer, verify_answer
from treadle.events.types import ErrorKind
from treadle.tools.contract import Arguments, Result, Tool, ToolContext, ToolError
from treadle.traces.fencing import inline

LINES_TOLD = 3
"""Of an answer that does not hold, so many lines are repeated."""


def with_note(verified: VerifiedAnswer) -> str:
    """The lines that hold, and how many do not."""
    lines = len(verified.dropped)
    if not lines:
        return verified.text
    what = "1 line is" if lines == 1 else f"{lines} lines are"
    return f"{verified.text.rstrip()}\n\n({what} omitted: the record does not confirm it.)"


class FinalArguments(Arguments):
    """The answer, or whose answer is passed on."""

    answer: Annotated[str, StringConstraints(max_length=200_000)] = Field(
        "", description="The whole answer for the person, in Markdown."
    )
    pass_on: str | None = Field(
        None,
        description="Instead of an answer: the agent whose last answer is passed on unchanged.",
    )


class FinalResult(Result):
    """The answer that the session ends with."""

    type: str = FINAL
    answer: str


class Final(Tool[FinalArguments, FinalResult]):
    """Ends the session of an agent."""

    name = FINAL
    description = (
        "Give the answer and end. Call it once, alone, when you are done. With pass_on, the "
        "last answer of an agent that you called becomes your answer, unchanged."
    )
    arguments = FinalArguments
    result = FinalResult

    def __init__(
        self, answer_of: Callable[[str], str | None], source: SpanSource | None = None
    ) -> None:
        """`answer_of` gives the last answer of a sub-agent by its name.

        An answer is held against the spans of `source`: what it quotes wrongly is told once, and
        left out of the answer that follows.
        """
        self._answer_of = answer_of
        self._source = source
        self._told = False

    async def run(self, arguments: FinalArguments, context: ToolContext) -> FinalResult:
        if arguments.pass_on is not None:
            answer = self._answer_of(arguments.pass_on.removeprefix("call_"))
            if answer is None:
                raise ToolError(
                    ErrorKind.VALIDATION,
                    "That agent has no answer to pass on.",
                    field="pass_on",
                    received=arguments.pass_on,
                    hint="Call the agent first, or give the answer yourself.",
                )
            return FinalResult(answer=answer)
        if not arguments.answer.strip():
            raise ToolError(
                ErrorKind.VALIDATION,
                "The answer is empty.",
                field="answer",
                hint="Say what you found, or that you found nothing.",
            )
        return FinalResult(answer=await self._held(arguments.answer, context))

    async def _held(self, answer: str, context: ToolContext) -> str:
        """The answer without lines that quote or link what is not recorded."""
        source = self._source
        if source is None:
            return answer
        verified = await context.in_thread(lambda: verify_answer(answer, source))
        if verified.dropped and not self._told:
            self._told = True
            lines = "; ".join(inline(line) for line in verified.dropped[:LINES_TOLD])
            raise ToolError(
                ErrorKind.VALIDATION,
                "The answer links spans that are not recorded, or quotes text that is not in "
                f"the linked span: {lines}.",
                field="answer",
                hint="Quote exactly, link the span that contains the quote, or remove the line.",
            )
        return with_note(verified)

    def content(self, result: FinalResult) -> str:
        """The answer as it is."""
        return result.answer
