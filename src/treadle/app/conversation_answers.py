"""Conversations with all their messages as JSON, for the command line and the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from treadle.events.types import CallKey
from treadle.json_values import JsonField
from treadle.llm.messages import AssistantMessage, ToolMessage, UserMessage
from treadle.session import Conversation, Entry

EXPORT_VERSION = 1
"""The version of the JSON format."""

_Entry = Annotated[Entry, JsonField(inline=True)]


@dataclass(frozen=True, slots=True)
class SavedUserMessage:
    """A message of the user. `context` was sent in front of it.

    A message that `steers` arrived while an earlier one was answered. `stop_reason` is the end of
    the turn that answers it; null while the turn runs, and if its process was killed.
    """

    entry: _Entry
    text: str
    context: str
    steers: bool
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
        case UserMessage(text=text, context=context, steers=steers):
            return SavedUserMessage(entry, text, context, steers)
        case AssistantMessage(text=reply, calls=calls):
            saved = tuple(SavedCall(call.key, call.name, call.arguments) for call in calls)
            return SavedReply(entry, reply, saved)
        case ToolMessage(key=key, content=content, ok=ok):
            return SavedResult(entry, key, ok, content)
        case note:
            return SavedNote(entry, note.text)
