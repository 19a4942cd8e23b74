"""Conversations as JSON: what the command line and the server both answer with."""

from collections.abc import Sequence
from typing import Any

from treadle.llm.messages import AssistantMessage, Message, ToolMessage, UserMessage
from treadle.session import Conversation, ConversationSummary, Entry

EXPORT_VERSION = 1
"""Of the JSON form."""


def summary_answer(row: ConversationSummary) -> dict[str, Any]:
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


def conversation_answer(conversation: Conversation, tree: Sequence[Entry]) -> dict[str, Any]:
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
        "messages": [
            {
                "number": entry.number,
                "parent": entry.parent,
                "state": entry.state,
                "at_us": entry.at_us,
                "stop_reason": entry.stop_reason,
                **_message_json(entry.message),
            }
            for entry in tree
        ],
    }


def _message_json(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage(text=text, context=context, steers=steers):
            return {"role": "user", "text": text, "context": context, "steers": steers}
        case AssistantMessage(text=text, calls=calls):
            made = [
                {"turn": c.key.turn, "slot": c.key.slot, "name": c.name, "arguments": c.arguments}
                for c in calls
            ]
            return {"role": "assistant", "text": text, "calls": made}
        case ToolMessage(key=key, content=content, ok=ok):
            place = {"turn": key.turn, "slot": key.slot}
            return {"role": "tool", **place, "ok": ok, "content": content}
        case _:
            return {"role": "note", "text": message.text}
