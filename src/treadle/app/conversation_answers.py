"""Conversations as JSON: what the command line and the server both answer with."""

from collections.abc import Sequence
from typing import Literal

from typing_extensions import TypedDict

from treadle.events.types import StopReason
from treadle.llm.messages import AssistantMessage, ToolMessage, UserMessage
from treadle.session import Conversation, ConversationSummary, Entry
from treadle.session.conversation import MessageState

EXPORT_VERSION = 1
"""Of the JSON form."""


class ListedSession(TypedDict):
    """A conversation of a list.

    `stop_reason` is that of the last turn; null while it runs or when it was killed, or there is
    none.
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
    """What the person said. `context` was sent in front of it.

    One that `steers` was said while an earlier one was served. `stop_reason` says how the turn that
    served it ended; null while that runs, and for ever when it was killed.
    """

    role: Literal["user"]
    text: str
    context: str
    steers: bool


class SavedCall(TypedDict):
    """A call that a model made, by its place. `arguments` is its raw JSON text."""

    turn: int
    slot: int
    name: str
    arguments: str


class SavedReply(_Saved):
    """A model's reply."""

    role: Literal["assistant"]
    text: str | None
    calls: list[SavedCall]


class SavedResult(_Saved):
    """The one result of the call at that position, as the model received it."""

    role: Literal["tool"]
    turn: int
    slot: int
    ok: bool
    content: str


class SavedNote(_Saved):
    """A remark of ours to the model."""

    role: Literal["note"]
    text: str


SavedMessage = SavedUserMessage | SavedReply | SavedResult | SavedNote


class Session(TypedDict):
    """Every message of every branch; `branch` holds the numbers of the branch in use."""

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
    """One conversation of a list."""
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
    """Every message of every branch; `branch` holds the numbers of the branch in use."""
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
            made: list[SavedCall] = [
                {"turn": c.key.turn, "slot": c.key.slot, "name": c.name, "arguments": c.arguments}
                for c in calls
            ]
            return {**saved, "role": "assistant", "text": reply, "calls": made}
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
