"""What the answers about code and of turns look like as JSON: the types of what `answers` makes."""

from typing import Literal

from typing_extensions import TypedDict

from treadle.events.types import StopReason
from treadle.session.sources import QuoteVerdict


class TurnTokens(TypedDict):
    """Tokens of all model calls of a turn; `cached` is a part of `input`."""

    input: int | None
    output: int | None
    cached: int | None
    reasoning: int | None


class Source(TypedDict):
    """Lines that the model was given. `stale`: they were changed by the same turn afterwards."""

    file: str
    start_line: int
    end_line: int
    name: str
    stale: bool


class QuotedCode(TypedDict):
    """Code that the answer quotes, held against the disk."""

    file: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    verdict: QuoteVerdict


class Failure(TypedDict):
    """Why a turn failed, and what to do."""

    message: str
    hint: str | None


class MoreOfFinal(TypedDict, total=False):
    """The result of a turn that ended by itself, or `error` for one that failed."""

    error: Failure
    trace_id: str
    sources: list[Source]
    quotes: list[QuotedCode]


class Final(MoreOfFinal):
    """What a turn ends with, however it ends."""

    type: Literal["final"]
    text: str
    usage: TurnTokens
    cost: float | None
    tool_calls: int
    stop_reason: StopReason
