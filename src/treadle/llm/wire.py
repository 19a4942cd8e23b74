"""Our messages as OpenAI chat messages, in the order and form that strict servers accept.

One leading system message (T11); all results directly after their call, notes after them (T10);
ids that are unique over the whole history (T3, T4); every call closed and no orphan result, also
when the history was cut or a turn was cancelled (T26, T28); reasoning and opaque fields only back
to the model that made them (T29, T30).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from treadle.llm.assembler import REASONING_FIELDS
from treadle.llm.messages import (
    AssistantMessage,
    Message,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

WireMessage = dict[str, object]

CLOSED = json.dumps(
    {
        "ok": False,
        "error": "The call was cancelled and has no result.",
        "kind": "cancelled",
        "effect": "unknown",
    }
)
"""What a call gets that was never answered."""

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,40}\Z")
"""Ids that are sent as they came: 40 characters is OpenAI's limit."""

_NAME_LIMIT = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a target wants: whose reasoning it knows, and how it likes a missing text (T15)."""

    provider: str
    model: str
    echo_reasoning: bool = True
    empty_content: str | None = None


def encode(messages: Sequence[Message], dialect: Dialect) -> list[WireMessage]:
    """The messages for a request that may offer tools."""
    return _finish(_with_tools(messages, dialect), messages)


def encode_flat(messages: Sequence[Message]) -> list[WireMessage]:
    """The messages for a model without tools: calls and results told as text (T13)."""
    return _finish(_without_tools(messages), messages)


def encode_tools(tools: Sequence[ToolSpec]) -> list[WireMessage]:
    """The tools of a request."""
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


def _finish(wire: Iterator[WireMessage], messages: Sequence[Message]) -> list[WireMessage]:
    """Put the instruction first and join neighbours of one role.

    Templates of several local servers refuse two messages of the user in a row.
    """
    system = _first_system(messages)
    result: list[WireMessage] = []
    if system and system.text.strip():
        result.append({"role": "system", "content": system.text})
    for role, group in groupby(wire, key=lambda message: message["role"]):
        if role == "user":
            text = "\n\n".join(str(message["content"]) for message in group)
            result.append({"role": "user", "content": text})
        else:
            result.extend(group)
    for message in result:
        if isinstance(content := message["content"], str):
            message["content"] = _encodable(content)
    return result


def _encodable(text: str) -> str:
    """`text` without lone surrogates (names that are no UTF-8, halves of emoji): JSON is UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _user_text(message: Message, first_system: SystemMessage | None) -> str | None:
    """What is said as user text; None for messages of other kinds and for blank ones."""
    match message:
        case UserMessage(text=text, context=context):
            said = f"{context}\n\n{text}" if context else text
        case NoteMessage(text=text):
            said = text
        case SystemMessage(text=text) if message is not first_system:
            said = text
        case _:
            return None
    return said if said.strip() else None


def _first_system(messages: Sequence[Message]) -> SystemMessage | None:
    return next((m for m in messages if isinstance(m, SystemMessage)), None)


def _with_tools(messages: Sequence[Message], dialect: Dialect) -> Iterator[WireMessage]:
    first_system = _first_system(messages)
    ids = _WireIds(messages)
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            named = [(call, ids.next(call)) for call in message.calls]
            if message.calls or _text(message):
                yield _assistant(message, named, dialect)
            results = _results(messages, place)
            for call, wire_id in named:
                content = results.get(call.key, CLOSED)
                yield {"role": "tool", "tool_call_id": wire_id, "content": content}
        elif (said := _user_text(message, first_system)) is not None:
            yield {"role": "user", "content": said}


def _assistant(
    message: AssistantMessage, named: Sequence[tuple[ToolCall, str]], dialect: Dialect
) -> WireMessage:
    same = (message.provider, message.model) == (dialect.provider, dialect.model)
    wire: WireMessage = {
        "role": "assistant",
        "content": _text(message) or dialect.empty_content,
    }
    if same and dialect.echo_reasoning:
        wire.update(_echo(message))
    if named:
        wire["tool_calls"] = [_call(call, wire_id, echo=same) for call, wire_id in named]
    return wire


def _text(message: AssistantMessage) -> str:
    text = message.text or ""
    return text if text.strip() else ""


def _echo(message: AssistantMessage) -> WireMessage:
    """The fields that go back as they came; a null stands for the reasoning text."""
    fields = _object(message.opaque)
    if message.reasoning and not any(name in fields for name in REASONING_FIELDS):
        fields[REASONING_FIELDS[0]] = None
    reasoning = _encodable(message.reasoning) if message.reasoning is not None else None
    return {
        name: reasoning if name in REASONING_FIELDS and value is None else value
        for name, value in fields.items()
    }


def _call(call: ToolCall, wire_id: str, *, echo: bool) -> WireMessage:
    function: WireMessage = {
        "name": _NOT_IN_NAMES.sub("_", call.name)[:_NAME_LIMIT] or "unnamed",
        "arguments": _arguments(call.arguments),
    }
    wire: WireMessage = {"id": wire_id, "type": "function", "function": function}
    opaque = _object(call.opaque) if echo else {}
    inner = opaque.pop("function", None)
    if isinstance(inner, dict):
        function.update(inner)
    return {**wire, **opaque}


def _arguments(text: str) -> str:
    """The text of a JSON object whatever the model wrote: templates of servers parse it."""
    if not text.strip():
        return "{}"
    try:
        value = json.loads(text, parse_constant=_refuse)
        if isinstance(value, str):
            text, value = value, json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        value = None
    return _encodable(text) if isinstance(value, dict) else json.dumps({"not_json": text})


def _refuse(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def _object(text: str | None) -> dict[str, object]:
    value = json.loads(_encodable(text)) if text else {}
    return dict(value) if isinstance(value, Mapping) else {}


def _results(messages: Sequence[Message], place: int) -> dict[object, str]:
    """The results of the reply at `place`: up to the next reply with calls, the first of each key.

    Keys repeat from one user message to the next, so nothing behind that reply can belong here.
    """
    results: dict[object, str] = {}
    for later in range(place + 1, len(messages)):
        message = messages[later]
        if isinstance(message, AssistantMessage) and message.calls:
            break
        if isinstance(message, ToolMessage):
            results.setdefault(message.key, message.content)
    return results


class _WireIds:
    """Gives each call the provider's own id, or a new one where that is missing, odd or taken."""

    def __init__(self, messages: Sequence[Message]) -> None:
        calls = [c for m in messages if isinstance(m, AssistantMessage) for c in m.calls]
        self._reserved = {call.call_id for call in calls}
        self._used: set[str] = set()
        self._count = 0

    def next(self, call: ToolCall) -> str:
        wire_id = call.call_id
        if not _ID.match(wire_id) or wire_id in self._used:
            wire_id = self._new()
        self._used.add(wire_id)
        return wire_id

    def _new(self) -> str:
        while True:
            self._count += 1
            wire_id = f"call_t{self._count}"
            if wire_id not in self._reserved:
                return wire_id


def _without_tools(messages: Sequence[Message]) -> Iterator[WireMessage]:
    first_system = _first_system(messages)
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            if text := _text(message):
                yield {"role": "assistant", "content": text}
            results = _results(messages, place)
            for call in message.calls:
                yield {"role": "user", "content": _told(call, results.get(call.key, CLOSED))}
        elif (said := _user_text(message, first_system)) is not None:
            yield {"role": "user", "content": said}


def _told(call: ToolCall, result: str) -> str:
    return f"Result of {call.name}({call.arguments.strip() or '{}'}):\n{result}"
