"""Conversations and the outcomes of turns as JSON, for the command line and the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from treadle.errors import TreadleError
from treadle.events.types import CallKey, SourceRange, StopReason, Usage
from treadle.json_values import JsonField
from treadle.llm.messages import AssistantMessage, AttachedText, ToolMessage, UserMessage
from treadle.session import Conversation, Entry, SessionOutcome
from treadle.session.sources import Quote

EXPORT_VERSION = 1
"""The version of the JSON format."""

_Entry = Annotated[Entry, JsonField(inline=True)]


@dataclass(frozen=True, slots=True)
class SavedUserMessage:
    """A message of the user. `context` and the `attached` texts were sent in front of it.

    A message that `steers` arrived while an earlier one was answered. `stop_reason` is the end of
    the turn that answers it; null while the turn runs, and if its process was killed.
    """

    entry: _Entry
    text: str
    context: str
    steers: bool
    attached: tuple[AttachedText, ...]
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class SavedCall:
    """A tool call of a model. `arguments` is its raw JSON text."""

    key: Annotated[CallKey, JsonField(inline=True)]
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class SavedReply:
    """A reply of the model."""

    entry: _Entry
    text: str | None
    calls: tuple[SavedCall, ...]
    role: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class SavedResult:
    """The result of the call at that turn and slot, as the model received it."""

    entry: _Entry
    key: Annotated[CallKey, JsonField(inline=True)]
    ok: bool
    content: str
    role: Literal["tool"] = "tool"


@dataclass(frozen=True, slots=True)
class SavedNote:
    """A note of Treadle to the model."""

    entry: _Entry
    text: str
    role: Literal["note"] = "note"


@dataclass(frozen=True, slots=True)
class Session:
    """Every message of every branch; `branch` has the message numbers of the current branch."""

    conversation: Annotated[Conversation, JsonField(inline=True)]
    branch: list[int]
    messages: list[SavedUserMessage | SavedReply | SavedResult | SavedNote]
    version: int = EXPORT_VERSION

    @classmethod
    def of(cls, conversation: Conversation, tree: Sequence[Entry]) -> "Session":
        """Add the messages of all branches to a conversation."""
        branch = [entry.number for entry in conversation.entries]
        return cls(conversation, branch, [_saved(entry) for entry in tree])


def _saved(entry: Entry) -> SavedUserMessage | SavedReply | SavedResult | SavedNote:
    match entry.message:
        case UserMessage(text=text, context=context, steers=steers, attached=attached):
            return SavedUserMessage(entry, text, context, steers, attached)
        case AssistantMessage(text=reply, calls=calls):
            saved = tuple(SavedCall(call.key, call.name, call.arguments) for call in calls)
            return SavedReply(entry, reply, saved)
        case ToolMessage(key=key, content=content, ok=ok):
            return SavedResult(entry, key, ok, content)
        case note:
            return SavedNote(entry, note.text)


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """The tokens of all model calls of a turn; `cached` is a part of `input`."""

    input: int | None
    output: int | None
    cached: int | None
    reasoning: int | None


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a turn failed, and what to do."""

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
