"""Converts a valid history to OpenAI chat messages.

The module `valid_history` makes the history valid. This module then converts each message to one
message in wire format.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from treadle.llm.image_parts import image_part
from treadle.llm.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from treadle.llm.reply_assembler import REASONING_FIELDS
from treadle.llm.strictness import MissingText, Strictness
from treadle.llm.valid_history import Dialect, valid_history, with_results

WireMessage = dict[str, object]

_MISSING_TEXT = {MissingText.NULL: None, MissingText.EMPTY: "", MissingText.FILLER: "(no text)"}


def encode(messages: Sequence[Message], dialect: Dialect) -> list[WireMessage]:
    """Return the messages of a request that may offer tools, in wire format."""
    wire: list[WireMessage] = []
    for message, results_of_calls in with_results(valid_history(messages, dialect)):
        match message:
            case SystemMessage(text=text):
                wire.append({"role": "system", "content": text})
            case UserMessage():
                wire.append({"role": "user", "content": _content(message)})
            case AssistantMessage():
                wire.append(_assistant(message, dialect.strictness))
                wire += [_result(*pair, dialect.strictness) for pair in results_of_calls]
            case _:
                raise AssertionError(f"{message!r} is not in a valid history")
    return wire


def encode_flat(messages: Sequence[Message], dialect: Dialect | None = None) -> list[WireMessage]:
    """Return the messages for a model without tools, in wire format.

    Calls and results become text.
    """
    dialect = dialect or Dialect("", "")
    return encode(messages, replace(dialect, strictness=replace(dialect.strictness, tools=False)))


def encode_tools(tools: Sequence[ToolSpec]) -> list[WireMessage]:
    """Return the tools of a request in wire format."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]


def _content(message: UserMessage) -> object:
    """Return the text of a message, or a list of content parts if the message has images."""
    if not message.images:
        return message.text
    return [{"type": "text", "text": message.text}, *map(image_part, message.images)]


def _assistant(message: AssistantMessage, strictness: Strictness) -> WireMessage:
    missing = _MISSING_TEXT[strictness.missing_text]
    wire: WireMessage = {"role": "assistant", "content": message.text or missing}
    for name, value in _parse_object(message.opaque).items():
        # If a reasoning field in `opaque` is null, its value is the text in `message.reasoning`.
        # The text is thus stored only once.
        wire[name] = message.reasoning if name in REASONING_FIELDS and value is None else value
    if message.calls:
        wire["tool_calls"] = [_call(call) for call in message.calls]
    return wire


def _call(call: ToolCall) -> WireMessage:
    function: WireMessage = {"name": call.name, "arguments": call.arguments}
    wire: WireMessage = {"id": call.call_id, "type": "function", "function": function}
    opaque = _parse_object(call.opaque)
    inner = opaque.pop("function", None)
    if isinstance(inner, dict):
        function.update(inner)
    return {**wire, **opaque}


def _result(call: ToolCall, result: ToolMessage, strictness: Strictness) -> WireMessage:
    wire: WireMessage = {"role": "tool", "tool_call_id": call.call_id, "content": result.content}
    return {**wire, "name": call.name} if strictness.named_results else wire


def _parse_object(text: str | None) -> dict[str, object]:
    value = json.loads(text) if text else {}
    return dict(value) if isinstance(value, Mapping) else {}
