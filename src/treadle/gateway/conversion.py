"""Converts messages of the Responses API to chat messages, which spans store."""

from collections.abc import Mapping, Sequence
from typing import Any

Message = dict[str, Any]

_PARTS = {"input_text": "text", "output_text": "text", "summary_text": "text"}


def messages_of_request(values: Mapping[str, object]) -> list[Message]:
    """Convert a request to `/responses` to chat messages."""
    instructions = values.get("instructions")
    first: list[Message] = []
    if isinstance(instructions, str):
        first.append({"role": "system", "content": instructions})
    given = values.get("input")
    if isinstance(given, str):
        return [*first, {"role": "user", "content": given}]
    return [*first, *messages_of_items(given if isinstance(given, list) else [])]


def messages_of_items(items: Sequence[object]) -> list[Message]:
    """Convert items of the Responses API to chat messages.

    An item of an unknown type is kept unchanged inside a message.
    """
    messages: list[Message] = []
    for item in items:
        if not isinstance(item, Mapping):
            messages.append({"role": "user", "content": item})
            continue
        kind = item.get("type", "message")
        if kind == "message" or "role" in item:
            role = str(item.get("role", "user"))
            messages.append({"role": role, "content": _content(item.get("content"))})
        elif kind == "function_call":
            _of_assistant(messages).setdefault("tool_calls", []).append(_call(item))
        elif kind == "function_call_output":
            content = _content(item.get("output"))
            call_id = item.get("call_id")
            messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
        elif kind == "reasoning":
            _of_assistant(messages)["reasoning_content"] = _thought(item)
        else:
            messages.append({"role": "assistant", "content": None, "item": dict(item)})
    return messages


def _of_assistant(messages: list[Message]) -> Message:
    """Return the assistant message at the end of `messages`.

    If the last message is not an assistant message, or contains an item of an unknown type, an
    assistant message is added.
    """
    if not messages or messages[-1]["role"] != "assistant" or "item" in messages[-1]:
        messages.append({"role": "assistant", "content": None})
    return messages[-1]


def merge_assistant_messages(messages: Sequence[Message]) -> list[Message]:
    """Merge the reasoning, the text and the tool calls of consecutive assistant messages."""
    result: list[Message] = []
    for message in messages:
        last = result[-1] if result else None
        mergeable = last is not None and last["role"] == message["role"] == "assistant"
        if last is None or not mergeable or last["content"] or "item" in message | last:
            result.append(dict(message))
        else:
            calls = [*last.get("tool_calls", ()), *message.get("tool_calls", ())]
            last.update(message)
            if calls:
                last["tool_calls"] = calls
    return result


def _call(item: Mapping[str, object]) -> Message:
    function = {"name": item.get("name"), "arguments": item.get("arguments")}
    return {"id": item.get("call_id"), "type": "function", "function": function}


def _thought(item: Mapping[str, object]) -> str:
    parts = [item.get(name) for name in ("summary", "content")]
    content_parts = [part for each in parts if isinstance(each, list) for part in each]
    texts = (part.get("text") for part in content_parts if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


def _content(content: object) -> object:
    """Convert content to a text or to the parts of a chat request. Several texts are joined."""
    if not isinstance(content, list):
        return content
    parts = [_part(part) for part in content]
    texts = [p["text"] for p in parts if isinstance(p, dict) and p.get("type") == "text"]
    if len(texts) == len(parts) and all(isinstance(text, str) for text in texts):
        return "".join(texts)
    return parts


def _part(part: object) -> object:
    if not isinstance(part, Mapping):
        return part
    kind = part.get("type")
    if kind in _PARTS:
        return {"type": "text", "text": part.get("text")}
    if kind == "refusal":
        return {"type": "text", "text": part.get("refusal")}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return dict(part)
