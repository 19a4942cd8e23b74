"""The end of a turn as JSON, for the command line and the server."""

from dataclasses import dataclass
from typing import Annotated, Literal

from treadle.errors import TreadleError
from treadle.events.types import SourceRange, StopReason, Usage
from treadle.json_values import JsonField
from treadle.session import SessionOutcome
from treadle.session.sources import Quote


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """The tokens of all model calls of a turn; `cached` is a part of `input`."""

    input: int | None
    output: int | None
    cached: int | None
    reasoning: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a turn failed, and what to do."""

    message: str
    hint: str | None

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """The message and hint of an error."""
        if isinstance(error, TreadleError):
            return cls(error.message, error.hint)
        return cls(f"Unexpected {type(error).__name__}.", None)


_NO_USAGE = Usage()


def _turn_tokens(usage: Usage) -> TurnTokens:
    return TurnTokens(usage.input, usage.output, usage.cached, usage.reasoning)


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """The end of a turn. A failed turn has an `error`, a completed one the other optional keys.

    `sources` are the lines that the model received. `quotes` is the code in the answer, compared
    with the files on disk.
    """

    type: Literal["final"] = "final"
    text: str = ""
    usage: Annotated[Usage, JsonField(write=_turn_tokens)] = _NO_USAGE
    cost: float | None = None
    tool_calls: int = 0
    stop_reason: StopReason
    error: Annotated[Failure | None, JsonField(optional=True)] = None
    trace_id: Annotated[str | None, JsonField(optional=True)] = None
    sources: Annotated[tuple[SourceRange, ...] | None, JsonField(optional=True)] = None
    quotes: Annotated[tuple[Quote, ...] | None, JsonField(optional=True)] = None

    @classmethod
    def of(cls, outcome: SessionOutcome, trace_id: str) -> "Final":
        """The end of a completed turn."""
        return cls(
            text=outcome.text,
            usage=outcome.usage,
            cost=outcome.cost,
            tool_calls=outcome.tool_calls,
            stop_reason=outcome.stop_reason,
            trace_id=trace_id,
            sources=outcome.sources,
            quotes=outcome.quotes,
        )
