"""Conversations as JSON, for the command line and the server."""

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from treadle.events.types import StopReason
from treadle.llm.messages import AssistantMessage, ToolMessage, UserMessage
from treadle.session import Conversation, ConversationSummary, Entry
from treadle.session.conversation import MessageState

EXPORT_VERSION = 1
"""The version of the JSON format."""


class ListedSession(TypedDict):
    """A conversation in a list.

    `stop_reason` states how the last turn ended. It is null if the turn still runs or its process
    was killed, and if there is no turn.
    """

    id: str
    root: str
    model: str
    title: str
    created_us: int
    updated_us: int
    turns: int
    stop_reason: StopReason | None


class _Saved(TypedDict):
    number: int
    parent: int | None
    state: MessageState
    at_us: int
    stop_reason: StopReason | None


class SavedUserMessage(_Saved):
    """A message of the person. `context` was sent in front of it.

    A message that `steers` arrived while an earlier message was served. `stop_reason` states how
    its turn ended. It is null if the turn still runs or its process was killed.
    """

    role: Literal["user"]
    text: str
    context: str
    steers: bool


class SavedCall(TypedDict):
    """A tool call of a model. `arguments` is the raw JSON text."""

    turn: int
    slot: int
    name: str
    arguments: str


class SavedReply(_Saved):
    """A reply of a model."""

    role: Literal["assistant"]
    text: str | None
    calls: list[SavedCall]


class SavedResult(_Saved):
    """The result of the call `turn`, `slot`, as the model received it."""

    role: Literal["tool"]
    turn: int
    slot: int
    ok: bool
    content: str


class SavedNote(_Saved):
    """A note of Treadle to the model."""

    role: Literal["note"]
    text: str


SavedMessage = SavedUserMessage | SavedReply | SavedResult | SavedNote


class Session(TypedDict):
    """All messages of all branches; `branch` has the numbers of the current branch."""

    version: int
    id: str
    root: str
    model: str
    title: str
    created_us: int
    updated_us: int
    branch: list[int]
    messages: list[SavedMessage]


def summary_answer(row: ConversationSummary) -> ListedSession:
    """A conversation in a list."""
    return {
        "id": str(row.id),
        "root": row.root,
        "model": row.model,
        "title": row.title,
        "created_us": row.created_us,
        "updated_us": row.updated_us,
        "turns": row.turns,
        "stop_reason": row.stop_reason,
    }


def conversation_answer(conversation: Conversation, tree: Sequence[Entry]) -> Session:
    """All messages of all branches; `branch` has the numbers of the current branch."""
    return {
        "version": EXPORT_VERSION,
        "id": str(conversation.id),
        "root": conversation.root,
        "model": conversation.model,
        "title": conversation.title,
        "created_us": conversation.created_us,
        "updated_us": conversation.updated_us,
        "branch": [entry.number for entry in conversation.entries],
        "messages": [_message_answer(entry) for entry in tree],
    }


def _message_answer(entry: Entry) -> SavedMessage:
    saved: _Saved = {
        "number": entry.number,
        "parent": entry.parent,
        "state": entry.state,
        "at_us": entry.at_us,
        "stop_reason": entry.stop_reason,
    }
    match entry.message:
        case UserMessage(text=text, context=context, steers=steers):
            return {**saved, "role": "user", "text": text, "context": context, "steers": steers}
        case AssistantMessage(text=reply, calls=calls):
            saved_calls: list[SavedCall] = [
                {"turn": c.key.turn, "slot": c.key.slot, "name": c.name, "arguments": c.arguments}
                for c in calls
            ]
            return {**saved, "role": "assistant", "text": reply, "calls": saved_calls}
        case ToolMessage(key=key, content=content, ok=ok):
            return {
                **saved,
                "role": "tool",
                "turn": key.turn,
                "slot": key.slot,
                "ok": ok,
                "content": content,
            }
        case note:
            return {**saved, "role": "note", "text": note.text}
