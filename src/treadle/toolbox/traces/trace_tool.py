"""The base of the tools over spans, and of their answers."""

from abc import abstractmethod
from typing import Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from treadle.spans.span import Span
from treadle.toolbox.answers import written
from treadle.tools.contract import Arguments, Result, Tool, ToolContext
from treadle.traces.fencing import quotable
from treadle.traces.query.moments import write_moment
from treadle.traces.store.span_reader import SpanReader


class TraceReader(SpanReader, Protocol):
    """A reader of spans, such as `SqliteTraceStore`. Its methods block: call them in threads."""

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """The whole span, exactly as it was written; None if it does not exist."""
        ...


NAME_CHARACTERS = 120


class AnswerPart(BaseModel):
    """Base of rows. An unknown figure is null or left out, never 0."""

    model_config = ConfigDict(frozen=True)


class TraceResult(Result):
    """Base of the answers of this area."""

    success: Literal[True] = True


A = TypeVar("A", bound=Arguments)
R = TypeVar("R", bound=TraceResult)


class TraceTool(Tool[A, R], Generic[A, R]):
    """A tool that reads spans. Equal calls over equal spans give equal bytes."""

    def __init__(self, reader: TraceReader) -> None:
        self._reader = reader

    async def run(self, arguments: A, context: ToolContext) -> R:
        now_us = context.clock.now_us()
        return await context.in_thread(lambda: self.answer(arguments, now_us))

    @abstractmethod
    def answer(self, arguments: A, now_us: int) -> R:
        """The answer, in a thread. Ages and periods count back from `now_us`."""

    def content(self, result: R) -> str:
        return written(result)


def short(text: str | None, limit: int) -> str | None:
    """Recorded text as a value; None without text or for a limit of 0."""
    return quotable(text, limit=limit) if text and limit else None


def named(text: str) -> str:
    """A recorded name, cut if it is very long."""
    return quotable(text, limit=NAME_CHARACTERS)


def milliseconds(microseconds: int | None) -> float | None:
    """Microseconds as milliseconds with decimals."""
    return None if microseconds is None else microseconds / 1_000


def moment(at_us: int | None) -> str | None:
    """The time in ISO format, UTC."""
    return None if at_us is None else write_moment(at_us)
