"""Messages as JSON text for the conversation store, and back."""

import json
from base64 import b64decode, b64encode
from dataclasses import asdict
from typing import Any

from treadle.errors import StoreError
from treadle.events.types import CallKey
from treadle.llm.messages import (
    AssistantMessage,
    AttachedText,
    Image,
    InstructionText,
    Message,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.secrets import redact

_KINDS: dict[type[Message], str] = {
    SystemMessage: "system",
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolMessage: "tool",
    NoteMessage: "note",
}

_EXACT = frozenset({"opaque", "call_id"})
"""Fields that are sent back to a provider unchanged, so secrets in them are not redacted."""


def encode(message: Message) -> tuple[str, str]:
    """Return the kind of `message`, and its fields as JSON in ASCII.

    JSON in ASCII can contain lone surrogates, as escapes. Secrets are redacted, as in all stored
    text. The header of a snippet states its length. If a secret in the snippet was redacted, the
    length differs. To get the exact bytes in a resumed conversation, read the file again.
    """
    fields = asdict(message)
    if isinstance(message, NoteMessage) and not message.instructions:
        del fields["instructions"]  # as in cassettes and conversations of earlier versions
    return _KINDS[type(message)], json.dumps(_redacted(fields), separators=(",", ":"))


def decode(kind: str, body: str) -> Message:
    """Return the message that was passed to `encode`. Raises `StoreError` for invalid JSON."""
    try:
        return _decode(kind, json.loads(body))
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"A saved {kind} message cannot be read: {error}.",
            hint="Start a new conversation; this one is damaged or was written by a newer version.",
        ) from error


def _redacted(value: Any, name: str = "") -> Any:
    if isinstance(value, bytes):  # an image
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {inner: _redacted(each, inner) for inner, each in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(each, name) for each in value]
    return redact(value) if isinstance(value, str) and name not in _EXACT else value


def _decode(kind: str, fields: dict[str, Any]) -> Message:
    match kind:
        case "system":
            return SystemMessage(**fields)
        case "user":
            attached = tuple(AttachedText(**each) for each in fields.get("attached", ()))
            images = tuple(
                Image(each["name"], each["media_type"], b64decode(each["data"], validate=True))
                for each in fields.get("images", ())
            )
            return UserMessage(**{**fields, "attached": attached, "images": images})
        case "assistant":
            calls = tuple(
                ToolCall(**{**call, "key": CallKey(**call["key"])}) for call in fields["calls"]
            )
            return AssistantMessage(**{**fields, "calls": calls})
        case "tool":
            return ToolMessage(**{**fields, "key": CallKey(**fields["key"])})
        case "note":
            files = tuple(InstructionText(**each) for each in fields.get("instructions", ()))
            return NoteMessage(**{**fields, "instructions": files})
    raise ValueError(f"there is no message of kind {kind!r}")
