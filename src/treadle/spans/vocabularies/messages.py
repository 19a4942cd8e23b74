"""Converts messages of all vocabularies to the form of OpenAI's chat requests.

Messages in that form stay unchanged. Tool arguments become JSON text, unless they already are a
text.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from treadle.spans.span import JsonValue
from treadle.spans.vocabularies.message_forms import (
    choice_message,
    generated_messages,
    is_part_list,
    known_form,
    result_content,
)
from treadle.spans.vocabularies.values import parse_json, to_json

Message = dict[str, Any]

_ROLES = {
    "model": "assistant", "ai": "assistant", "human": "user",
    "tool-call": "assistant", "tool-response": "user",  # of smolagents, which sends calls as text
}  # fmt: skip
_CALLS = frozenset({"tool_call", "tool-call", "tool_use", "function_call"})
_RESULTS = frozenset({"tool_call_response", "tool-result", "tool_result", "function_call_output"})
_THOUGHTS = frozenset({"reasoning", "thinking"})
_IMAGES = frozenset({"image", "image-url", "blob", "uri", "file", "binary", "input_image"})
_TEXTS = frozenset({"text", "input_text", "output_text"})
_ITEMS = _CALLS | _RESULTS | _THOUGHTS
_RESPONSE_ITEMS = frozenset({"function_call", "reasoning"})
_FOREIGN = _ITEMS | _IMAGES | (_TEXTS - {"text"})


def messages_json(value: JsonValue, role: str, system: JsonValue = None) -> str | None:
    """Return the messages in `value` as JSON text, or None if there are no messages.

    Messages without a role get `role`. `system` contains separate instructions.

    """
    given = parse_json(value)
    messages = read_messages(given, role)
    if not messages and system is None:
        return None
    if messages == given and isinstance(value, str) and "\\u" not in value and system is None:
        return value  # it already is JSON text in OpenAI's form, without escapes
    if system is not None and not (messages and messages[0].get("role") == "system"):
        messages = [*_instructions(system), *messages]
    return (to_json(messages) or _plain(value, role)) if messages else None


def read_messages(value: Any, role: str) -> list[Message]:
    """Return the messages in a text, JSON text, message, list of messages, request or response."""
    value = parse_json(value)
    if value is None:
        return []
    if isinstance(value, dict):
        return _of_object(value, role)
    if isinstance(value, list):
        return _of_list(value, role)
    return [{"role": role, "content": value if isinstance(value, str) else to_json(value)}]


def tool_call(call_id: Any, name: Any, arguments: Any) -> Message:
    """Return a tool call. Arguments that are neither None nor a text become JSON text."""
    if arguments is not None and not isinstance(arguments, str):
        arguments = to_json(arguments)
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _plain(value: JsonValue, role: str) -> str | None:
    """Return one message with the whole text, for values that are nested too deeply."""
    return to_json([{"role": role, "content": value}]) if isinstance(value, str) else None


def _instructions(system: JsonValue) -> list[Message]:
    value = parse_json(system)
    if isinstance(value, list):  # the instructions may be parts without a message around them
        return _of_parts({"role": "system", "parts": value})
    return read_messages(value, "system")


def _of_object(value: Mapping[str, Any], role: str) -> list[Message]:
    if isinstance(choices := value.get("choices"), list):
        replies = [choice_message(each) for each in choices if isinstance(each, dict)]
        return [message for reply in replies for message in read_messages(reply, role)]
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return read_messages(value["output"], role)  # a response of OpenAI's Responses API
    if "generations" in value:
        return read_messages(generated_messages(value), role)
    for name in ("messages", "prompt", "input"):
        if name in value and "role" not in value:
            messages = read_messages(value[name], role)
            system = value.get("system") or value.get("instructions")
            return [*_instructions(system), *messages] if system else messages
    return _message(value, role)


def _of_list(value: Sequence[Any], role: str) -> list[Message]:
    if value and all(isinstance(each, dict) and "event.name" in each for each in value):
        return read_event_messages((str(each["event.name"]), each) for each in value)
    value = [
        each if isinstance(each, dict) and "role" in each else known_form(each) for each in value
    ]
    if value and all(_is_part(each) for each in value):
        return _of_parts({"role": role, "parts": list(value)})
    found: list[Message] = []
    for each in value:
        if isinstance(each, dict):
            messages = _message(each, role)
            if not _join_calls(found, messages):
                found += messages
        elif isinstance(each, list):
            found += _of_list(each, role)  # some programs send one list for each prompt
        else:
            found += read_messages(each, role)
    return _join_thoughts(found)


def _join_calls(found: list[Message], messages: list[Message]) -> bool:
    """Add the tool calls of `messages` to the reply before them. Returns whether this was possible.

    OpenAI's Responses API returns each tool call of a reply as a separate item. Some programs send
    each of these items as a separate message.
    """
    calls = messages[0].get("tool_calls") if len(messages) == 1 else None
    if not calls or not found or found[-1].get("role") != "assistant":
        return False
    if messages[0].get("content") or messages[0].get("reasoning_content"):
        return False
    before = found[-1].get("tool_calls") or []
    if isinstance(before, list):
        found[-1]["tool_calls"] = [*before, *calls]
    return isinstance(before, list)


def _join_thoughts(messages: list[Message]) -> list[Message]:
    """Return the messages, with thoughts added to the reply that follows them.

    OpenAI's Responses API returns the reasoning of a reply as a separate item before it.
    """
    joined: list[Message] = []
    for message in messages:
        before = joined[-1] if joined else {}
        if _is_thought(before) and message.get("role") == "assistant":
            joined.pop()
            thoughts = [before["reasoning_content"], message.get("reasoning_content")]
            message["reasoning_content"] = "\n\n".join(filter(None, thoughts))
        joined.append(message)
    return joined


def _is_thought(message: Message) -> bool:
    """Return whether a message of the assistant consists only of reasoning."""
    return (
        message.get("role") == "assistant"
        and not message.get("content")
        and not message.get("tool_calls")
        and bool(message.get("reasoning_content"))
    )


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and "type" in value and "role" not in value


def read_event_messages(events: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Message]:
    """Return the messages in events such as `gen_ai.user.message` and `gen_ai.choice`."""
    found: list[Message] = []
    for name, attributes in events:
        role = EVENT_ROLES.get(name)
        if role is None:
            continue
        body = parse_json(attributes.get("gen_ai.event.content"))
        content = attributes.get("content")
        if isinstance(content, str) and content.startswith(_BODIES):
            # Semantic Kernel sends the whole message as the text of a log record.
            body = parse_json(content)
        values = {**attributes, "content": None, **body} if isinstance(body, dict) else attributes
        inner = parse_json(values.get("message"))
        if isinstance(inner, dict):  # the message of a choice is nested
            values = {**values, **inner}
        elif isinstance(inner, str | list):
            values = {**values, "content": inner}
        message: Message = {"role": values.get("role") or role, "content": values.get("content")}
        if role == "tool" and (call_id := values.get("tool_call_id") or values.get("id")):
            message["tool_call_id"] = call_id
        if calls := parse_json(values.get("tool_calls")):
            message["tool_calls"] = calls
        found += _message(message, role)
    return found


_BODIES = ('{"role":', '{"message":')
EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}


def _message(value: Mapping[str, Any], role: str) -> list[Message]:
    """Return the messages of one object. Each tool result becomes a separate message."""
    if isinstance(value.get("parts"), list):
        return _of_parts(value)
    if "role" not in value and _kind(value) in _ITEMS:  # an item of OpenAI's Responses API
        if _kind(value) in _THOUGHTS and not _thought(value):
            return []  # the provider does not show the reasoning
        return _of_parts({"role": "assistant", "parts": [value]})
    if "role" not in value and "content" not in value and "tool_calls" not in value:
        return [{"role": role, "content": to_json(value)}]
    content = value.get("content")
    if isinstance(content, str) and content.startswith('[{"'):
        parts = parse_json(content)
        content = parts if is_part_list(parts) else content
    if isinstance(content, dict) or (
        isinstance(content, list) and any(_is_foreign(each) for each in content)
    ):
        return _of_parts({**value, "parts": content if isinstance(content, list) else [content]})
    message = {"role": role, "content": None, **value}
    message["role"] = _role(message["role"])
    if isinstance(content, list):
        message["content"] = content
    calls = parse_json(message.get("tool_calls"))
    if isinstance(calls, list):
        message["tool_calls"] = [_call(each) for each in calls]
    return [message]


def _call(value: Any) -> Any:
    """Return a tool call in OpenAI's form.

    The given call may be a flat object with `name` and `arguments`.
    """
    if not isinstance(value, dict) or "function" in value or "name" not in value:
        return value
    return tool_call(value.get("id"), value["name"], _arguments(value))


def _of_parts(value: Mapping[str, Any]) -> list[Message]:
    """Return the messages in a message with parts. Each tool result becomes a separate message.

    OpenTelemetry, Vercel and Anthropic send messages with parts.
    """
    message: Message = {"role": _role(value.get("role") or "user"), "content": None}
    message |= {name: value[name] for name in ("name", "tool_call_id") if name in value}
    if (text := _only_text(value)) is not None:
        return [{**message, "content": text}]
    shown: list[Any] = []
    calls: list[Any] = []
    results: list[Message] = []
    for given in value["parts"]:
        part = _part_in_text(given) if message["role"] == "assistant" else known_form(given)
        kind = _kind(part)
        if kind in _CALLS:
            _add_call(calls, _call_of_part(part))
        elif kind in _RESULTS:
            results.append(_result(part))
        elif kind in _THOUGHTS:
            if thought := _thought(part):
                message["reasoning_content"] = message.get("reasoning_content", "") + thought
        else:
            shown.append(_part(part))
    if isinstance(more := parse_json(value.get("tool_calls")), list):  # in addition to the parts
        for each in more:
            _add_call(calls, _call(each))
    message["content"] = _content(shown, with_calls=bool(calls))
    if calls:
        message["tool_calls"] = calls
    has_more = shown or calls or "reasoning_content" in message
    return results if results and not has_more else _ordered(message, results)


def _only_text(value: Mapping[str, Any]) -> str | None:
    """Return the text of a message whose only part is plain text, or None for other messages.

    The result is also None for a text that begins with `{`, which may be an item in JSON
    (`_part_in_text`).
    """
    parts = value["parts"]
    if len(parts) != 1 or _kind(parts[0]) != "text" or "tool_calls" in value:
        return None
    text = _first(parts[0], "text", "content")
    return text if isinstance(text, str) and not text.startswith("{") else None


def _content(shown: list[Any], *, with_calls: bool) -> Any:
    """Return the content of a message with these parts. A single text part becomes its text."""
    texts = [each["text"] for each in shown if is_plain_text(each)]
    if not shown or len(texts) < len(shown):
        return shown or None
    # If a reply has only tool calls, some exporters add an empty text.
    return None if with_calls and not any(texts) else texts[0] if len(texts) == 1 else shown


def _add_call(calls: list[Any], call: Any) -> None:
    """Add a tool call, unless it is empty or `calls` has a call with the same id.

    Some programs send a call twice, in two forms, or send an additional empty part.
    """
    if not isinstance(call, dict):
        calls.append(call)
        return
    call_id, function = call.get("id"), call.get("function")
    is_empty = call_id is None and isinstance(function, dict) and function.get("name") is None
    known = call_id is not None and any(_call_id(each) == call_id for each in calls)
    if not (is_empty or known):
        calls.append(call)


def _call_of_part(part: Mapping[str, Any]) -> Message:
    called = _first(part, "call_id", "id", "toolCallId")
    return tool_call(called, _first(part, "name", "toolName"), _arguments(part))


def _call_id(call: Any) -> Any:
    return call.get("id") if isinstance(call, dict) else None


def _part_in_text(part: Any) -> Any:
    """Return a part in a known form. A text that is an item in JSON becomes this item.

    Some programs send the items of OpenAI's Responses API as such texts.
    """
    part = known_form(part)
    if _kind(part) == "text":
        text = _first(part, "text", "content")
        if isinstance(text, str) and text.startswith("{") and '"type"' in text:
            item = parse_json(text)
            if isinstance(item, dict) and _kind(item) in _RESPONSE_ITEMS and "id" in item:
                return item
    return part


def _ordered(message: Message, results: list[Message]) -> list[Message]:
    """Return a message and the tool results that were sent with it, in the order of a chat.

    Anthropic's clients send the results of tools and the next words of the user in one message. The
    results come before the words of a user, and after a message with another role.
    """
    return [*results, message] if message["role"] == "user" else [message, *results]


def _thought(part: Mapping[str, Any]) -> str:
    """Return the text of a part with reasoning.

    OpenAI's Responses API has a list of summaries in place of a text. The list may be JSON text.
    """
    given = parse_json(_first(part, "content", "text", "thinking", "summary"))
    if isinstance(given, list):
        texts = [each.get("text") if isinstance(each, dict) else each for each in given]
        return "\n\n".join(each for each in texts if isinstance(each, str))
    return "" if given is None else str(given)


def _arguments(value: Mapping[str, Any]) -> Any:
    """Return the arguments of a tool call, or None."""
    return _first(value, "arguments", "input", "args")


def _result(part: Mapping[str, Any]) -> Message:
    result = _first(part, "response", "result", "output", "content")
    if isinstance(result, dict) and set(result) == {"type", "value"}:  # the form of Vercel
        result = result["value"]
    elif isinstance(result, list):
        result = result_content(result)
    plain = result is None or isinstance(result, str)
    call_id = _first(part, "call_id", "id", "toolCallId", "tool_use_id")
    return {
        "role": "tool",
        "tool_call_id": call_id,
        "content": result if plain else to_json(result),
    }


def _part(part: Any) -> Any:
    """Return a part of a message's content in OpenAI's form. Unknown parts stay unchanged."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        return part
    if _kind(part) in _TEXTS:
        content = _first(part, "text", "content")
        return {"type": "text", "text": content if isinstance(content, str) else to_json(content)}
    if _kind(part) in _IMAGES and (url := _image_url(part)):
        return {"type": "image_url", "image_url": {"url": url}}
    return part


def _image_url(part: Mapping[str, Any]) -> str | None:
    """Return the address of an image, which may be a `data:` URL, or None for other parts."""
    source = part.get("source")
    inner = source if isinstance(source, dict) else part
    media = str(_first(inner, "mime_type", "media_type", "mediaType", "mimeType") or "")
    modality = _first(part, "modality", "kind")
    if not (media.startswith("image/") or modality == "image" or "image" in str(part["type"])):
        return None
    url = _first(inner, "uri", "url", "image", "image_url", "data", "content")
    if not isinstance(url, str):
        return None
    if url.startswith("data:") or "://" in url[:40]:
        return url
    return f"data:{media or 'image/png'};base64,{url}"


def is_plain_text(part: Any) -> bool:
    """Return whether a part of a message's content consists only of text."""
    return isinstance(part, dict) and part.get("type") == "text" and set(part) == {"type", "text"}


def _is_foreign(part: Any) -> bool:
    """Return whether a part of a message's content is not in OpenAI's form."""
    kind = part.get("type") if isinstance(part, dict) else None
    return kind in _FOREIGN if isinstance(kind, str) else known_form(part) is not part


def _kind(part: Any) -> str:
    """Return the type of a part, or an empty text."""
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def _role(role: Any) -> Any:
    """Return the role in OpenAI's form. Unknown roles stay unchanged."""
    return _ROLES.get(role, role) if isinstance(role, str) else role


def _first(values: Mapping[str, Any], *names: str) -> Any:
    """Return the first value under `names` that is not None, or None."""
    return next((values[name] for name in names if values.get(name) is not None), None)
