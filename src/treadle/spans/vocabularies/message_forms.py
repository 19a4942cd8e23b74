"""Converts messages without a role, and parts without a type, which some libraries send.

LangChain sends a message in the form of its serializer, or as an object whose `type` is one of
LangChain's own roles. The parts of the APIs of Bedrock and Gemini have no `type`. The name of a key
states what such a part is.
"""

from collections.abc import Mapping
from typing import Any

_LANGCHAIN_ROLES = {
    "human": "user", "HumanMessage": "user", "HumanMessageChunk": "user",
    "ai": "assistant", "AIMessage": "assistant", "AIMessageChunk": "assistant",
    "system": "system", "SystemMessage": "system", "SystemMessageChunk": "system",
    "tool": "tool", "ToolMessage": "tool", "ToolMessageChunk": "tool",
}  # fmt: skip
_KEPT = ("content", "name", "tool_calls", "tool_call_id")
"""The fields that are copied from a message of LangChain."""


def known_form(value: Any) -> Any:
    """Return the message with a role, or the part with a type, that a value stands for.

    A value that is in none of these forms is returned unchanged.
    """
    if not isinstance(value, dict) or "role" in value:
        return value
    if "type" in value:
        return langchain_message(value) or value
    for name, read in _PARTS.items():
        if isinstance(inner := value.get(name), dict):
            return read(inner)
    if "finish_reason" in value:
        return choice_message(value) or value
    if isinstance(value.get("text"), str) and value.keys() <= _TEXT_KEYS:
        return {"type": "reasoning" if value.get("thought") else "text", "text": value["text"]}
    return value


def choice_message(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message in a choice of a reply of OpenAI's API, or None if it has none."""
    if isinstance(message := value.get("message"), dict):
        return message
    text = value.get("text")
    return {"role": "assistant", "content": text} if isinstance(text, str) else None


def is_part_list(value: Any) -> bool:
    """Return whether a value is a list whose entries are parts in a known form."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and "type" in known_form(each) for each in value)
    )


def langchain_message(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the message in an object of LangChain, or None for another object."""
    name = value["type"]
    fields: Any = value
    if name == "constructor" and isinstance(value.get("id"), list) and value["id"]:
        fields, name = value.get("kwargs"), value["id"][-1]
    elif isinstance(value.get("data"), dict):
        fields = value["data"]
    role = _LANGCHAIN_ROLES.get(name) if isinstance(name, str) else None
    if role is None or not isinstance(fields, dict) or "content" not in fields:
        return None
    message = {key: fields[key] for key in _KEPT if fields.get(key)}
    more = fields.get("additional_kwargs")
    for key in ("tool_calls", "reasoning_content"):
        if isinstance(more, dict) and more.get(key):
            message.setdefault(key, more[key])
    return {"role": role, "content": fields["content"], **message}


def generated_messages(value: Mapping[str, Any]) -> list[Any]:
    """Return the replies in the result of a LangChain model. It has a list for each prompt."""
    lists = value.get("generations")
    listed: list[Any] = []
    for each in lists if isinstance(lists, list) else ():
        listed += each if isinstance(each, list) else [each]
    return [each.get("message") or each.get("text") for each in listed if isinstance(each, dict)]


def _tool_use(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "tool_call",
        "id": value.get("toolUseId") or value.get("id"),
        "name": value.get("name"),
        "arguments": value.get("input", value.get("args")),
    }


def _tool_result(value: Mapping[str, Any]) -> dict[str, Any]:
    content = value.get("content", value.get("response"))
    return {
        "type": "tool_call_response",
        "id": value.get("toolUseId") or value.get("id"),
        "response": result_content(content),
    }


def result_content(content: Any) -> Any:
    """Return the content of a tool result.

    If the content is a list with one text or one JSON value, only this value is returned.
    """
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        only = content[0]
        if only.keys() == {"text"} or only.keys() == {"json"}:
            return next(iter(only.values()))
    return content


def _reasoning(value: Mapping[str, Any]) -> dict[str, Any]:
    inner = value.get("reasoningText")
    return {"type": "reasoning", "content": inner.get("text") if isinstance(inner, dict) else None}


def _image(value: Mapping[str, Any]) -> dict[str, Any]:
    source = value.get("source")
    data = source.get("bytes") if isinstance(source, dict) else None
    return {"type": "image", "mime_type": f"image/{value.get('format', 'png')}", "data": data}


def _inline_data(value: Mapping[str, Any]) -> dict[str, Any]:
    media = value.get("mimeType") or value.get("mime_type")
    return {"type": "blob", "mime_type": media, "data": value.get("data")}


_PARTS = {
    # the API of Bedrock
    "toolUse": _tool_use, "toolResult": _tool_result, "reasoningContent": _reasoning,
    "image": _image,
    # the API of Gemini
    "functionCall": _tool_use, "function_call": _tool_use,
    "functionResponse": _tool_result, "function_response": _tool_result,
    "inlineData": _inline_data, "inline_data": _inline_data,
}  # fmt: skip
"""Maps the key that states what a part is to the function that reads its value."""

_TEXT_KEYS = frozenset({"text", "thought", "thoughtSignature", "thought_signature"})
