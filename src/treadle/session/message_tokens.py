"""Estimates the tokens of messages and tools, part by part."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from treadle.llm.messages import (
    AssistantMessage,
    Message,
    NoteMessage,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from treadle.tokens import estimate

MESSAGE_TOKENS = 4
CALL_TOKENS = 24
"""The tokens of a message in addition to its text, and those of a call in addition to its text.

They are for roles, separators and ids.
"""
_FENCE_TOKENS = 40
"""The tokens of the fence around foreign text.

The fence contains its name at both ends. The name has twelve hexadecimal digits.
"""


IMAGE_TOKENS = 1_600
"""The estimated tokens of an image of any size.

Providers count between about 260 tokens (Gemini, a small image) and about 1,600 (Claude, a large
one). After the first request, the calibration adjusts estimates to the count of the provider.
"""


class PartKind(StrEnum):
    """The kind of a part of a message."""

    TEXT = "text"
    """The text of a message, with its reasoning and calls."""
    RESULT = "result"
    """The result of a tool call."""
    CONTEXT = "context"
    """The automatic context of a user message."""
    PINNED = "pinned"
    """Pinned code."""
    IMAGE = "image"
    """An image that the person attached to the message."""
    ATTACHED = "attached"
    """Code or a text that the person attached to the message."""
    INSTRUCTIONS = "instructions"
    """An instruction file."""


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part of a message. `name` is the name of an attachment or instruction file, or empty."""

    kind: PartKind
    tokens: int
    name: str = ""


class TokenCounts:
    """Estimates the tokens of messages.

    Each estimate is stored, since every model request needs the tokens of the whole history.
    """

    def __init__(self) -> None:
        self._known: dict[Message, tuple[MessagePart, ...]] = {}

    def of(self, messages: Sequence[Message]) -> int:
        """Return the tokens of all `messages` together."""
        return sum(part.tokens for message in messages for part in self.parts(message))

    def parts(self, message: Message) -> tuple[MessagePart, ...]:
        """Return the parts of a message with their tokens.

        The first part includes the tokens for the role and the separators.
        """
        if message not in self._known:
            self._known[message] = tuple(_parts(message))
        return self._known[message]


def tool_tokens(tool: ToolSpec) -> int:
    """Return the estimated tokens of the name, description and schema of a tool."""
    schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
    return MESSAGE_TOKENS + estimate(tool.name + tool.description) + estimate(schema)


def tools_tokens(tools: Sequence[ToolSpec]) -> int:
    """Return the estimated tokens of the tools' names, descriptions and schemas."""
    return sum(map(tool_tokens, tools))


def _parts(message: Message) -> Iterator[MessagePart]:
    match message:
        case UserMessage(text=text, context=context, attached=attached, images=images):
            yield MessagePart(PartKind.TEXT, MESSAGE_TOKENS + estimate(text))
            if context:
                yield MessagePart(PartKind.CONTEXT, _FENCE_TOKENS + estimate(context))
            for each in attached:
                kind = PartKind.PINNED if each.pinned else PartKind.ATTACHED
                tokens = _FENCE_TOKENS + estimate(each.name + each.text)
                yield MessagePart(kind, tokens, each.name)
            for image in images:
                yield MessagePart(PartKind.IMAGE, IMAGE_TOKENS, image.name)
        case AssistantMessage():
            texts = (message.text, message.reasoning, message.opaque)
            tokens = sum(estimate(each) for each in texts if each)
            tokens += sum(
                CALL_TOKENS
                + estimate(call.name)
                + estimate(call.arguments)
                + estimate(call.opaque or "")
                for call in message.calls
            )
            yield MessagePart(PartKind.TEXT, MESSAGE_TOKENS + tokens)
        case ToolMessage(content=content):
            tokens = MESSAGE_TOKENS + CALL_TOKENS + estimate(content)
            yield MessagePart(PartKind.RESULT, tokens)
        case NoteMessage(text=text, instructions=instructions):
            yield MessagePart(PartKind.TEXT, MESSAGE_TOKENS + estimate(text))
            for file in instructions:
                tokens = _FENCE_TOKENS + estimate(file.path + file.text)
                yield MessagePart(PartKind.INSTRUCTIONS, tokens, file.path)
        case SystemMessage():
            yield MessagePart(PartKind.TEXT, MESSAGE_TOKENS + estimate(message.text))
