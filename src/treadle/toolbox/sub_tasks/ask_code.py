"""ask_code: hands questions about the code to fresh sessions that only read."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from treadle.events.types import ErrorKind, ToolView
from treadle.tools.contract import (
    Arguments,
    Result,
    Tool,
    ToolClass,
    ToolContext,
    ToolEffect,
    ToolError,
)

MAX_QUESTIONS = 8


class AskCodeArguments(Arguments):
    """The questions."""

    questions: list[Annotated[str, Field(min_length=1, max_length=4_000)]] = Field(
        min_length=1,
        max_length=MAX_QUESTIONS,
        description="Each must be complete in itself: its session sees nothing else.",
    )


class SubTaskAnswer(BaseModel):
    """The answer to one question.

    `sources` are the cited lines that the session received. `unverified` are cited lines that it
    did not receive. If a limit ended the session, `stopped` is the limit, and the answer is
    incomplete. `error` is the reason why there is no answer.
    """

    model_config = ConfigDict(frozen=True)

    question: str
    answer: str = ""
    sources: list[str] = []
    unverified: list[str] | None = None
    stopped: str | None = None
    error: str | None = None


class AskCodeResult(Result):
    """The answers, in the order of the questions."""

    type: str = "answers"
    answers: list[SubTaskAnswer]


AnswerQuestions = Callable[[Sequence[str], ToolContext], Awaitable[list[SubTaskAnswer]]]
"""The type of functions that answer questions in fresh sessions."""


class AskCode(Tool[AskCodeArguments, AskCodeResult]):
    """Answers all questions of a call, several at once, and returns all answers together."""

    name = "ask_code"
    description = (
        "Hand independent questions about the code to fresh sessions that only read, several at "
        "once. You get short answers with path:lines, and your own context stays small. Use it for "
        "broad searches, not for a file that you can read yourself."
    )
    tool_class = ToolClass.BACKGROUND
    effect = ToolEffect.SPENDS
    arguments = AskCodeArguments
    result = AskCodeResult

    def __init__(self, answer_questions: AnswerQuestions | None = None) -> None:
        """Without `answer_questions`, the tool can be listed but not called."""
        self._answer_questions = answer_questions

    async def run(self, arguments: AskCodeArguments, context: ToolContext) -> AskCodeResult:
        if self._answer_questions is None:
            raise ToolError(
                ErrorKind.UNAVAILABLE,
                "ask_code works only in a conversation with the assistant.",
                hint="Ask with `treadle ask`, or call the tools that read the code.",
            )
        answers = await self._answer_questions(arguments.questions, context)
        if all(each.error is not None for each in answers):
            raise ToolError(
                ErrorKind.UNAVAILABLE,
                f"No question was answered: {answers[0].error}",
                hint="Look for the answers with the other tools.",
            )
        return AskCodeResult(answers=answers)

    def view(self, arguments: AskCodeArguments, result: AskCodeResult) -> ToolView:  # noqa: ARG002
        answered = sum(each.error is None for each in result.answers)
        details = "\n\n".join(
            f"{each.question}\n{each.answer or each.error}" for each in result.answers
        )
        return ToolView(f"{answered} of {len(result.answers)} questions answered", details=details)
