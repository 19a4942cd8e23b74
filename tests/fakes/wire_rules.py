"""The demands of a strict OpenAI-compatible server on a chat request, declared once for all
tests.
"""

import json
import re
from collections.abc import Mapping, Sequence

JsonObject = Mapping[str, object]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def violations(body: JsonObject) -> list[str]:
    """Every rule that the request body breaks, in words; empty if it is valid.

    At most one system message, at the start; exactly one tool message with the same id follows each
    tool call; ids are unique over the history; no empty turns; arguments are the text of a JSON
    object; names are such as providers accept; the model speaks next.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages is missing or empty"]
    problems = [*_order(messages), *_tools(body)]
    for number, message in enumerate(messages):
        problems.extend(f"message {number}: {text}" for text in _content(message))
    if messages[-1].get("role") not in ("user", "tool"):
        problems.append("the last message is neither the user's nor a tool's")
    return problems


def _order(messages: Sequence[JsonObject]) -> list[str]:
    problems: list[str] = []
    seen: set[str] = set()
    expected: list[str] = []
    for number, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            identifier = str(message.get("tool_call_id"))
            if identifier not in expected:
                problems.append(f"message {number}: a result for {identifier!r}, which is not open")
            else:
                expected.remove(identifier)
            continue
        if expected:
            problems.append(f"message {number}: calls {expected} were not answered before it")
            expected = []
        if role == "system" and number > 0:
            problems.append(f"message {number}: a system message that is not the first")
        for call in _calls(message):
            identifier = str(call.get("id") or "")
            if not identifier or len(identifier) > 40 or identifier in seen:
                problems.append(f"message {number}: call id {identifier!r} is empty, long or used")
            seen.add(identifier)
            expected.append(identifier)
            problems.extend(f"message {number}: {text}" for text in _call(call))
    if expected:
        problems.append(f"calls {expected} were never answered")
    return problems


def _calls(message: JsonObject) -> list[JsonObject]:
    calls = message.get("tool_calls", [])
    return calls if isinstance(calls, list) else []


def _call(call: JsonObject) -> list[str]:
    function = call.get("function")
    if call.get("type") != "function" or not isinstance(function, dict):
        return ["a call that is no function call"]
    problems = []
    if not _NAME.match(str(function.get("name"))):
        problems.append(f"a call of {function.get('name')!r}, which is no function name")
    try:
        arguments = json.loads(str(function.get("arguments")))
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        problems.append(f"arguments {function.get('arguments')!r} are not a JSON object")
    return problems


def _content(message: JsonObject) -> list[str]:
    role, content = message.get("role"), message.get("content")
    if role == "user" and isinstance(content, list):
        kinds = [part.get("type") for part in content]
        return [] if kinds[:1] == ["text"] and "image_url" in kinds else [f"parts {kinds}"]
    if role not in ("system", "user", "assistant", "tool"):
        return [f"unknown role {role!r}"]
    if "tool_calls" in message and (role != "assistant" or not message["tool_calls"]):
        return ["tool_calls is empty or not the assistant's"]
    if role == "assistant" and message.get("tool_calls"):
        return [] if content is None or isinstance(content, str) else ["content is no text"]
    if not isinstance(content, str) or (role != "tool" and not content.strip()):
        return [f"content of the {role} message is empty"]
    return []


def _tools(body: JsonObject) -> list[str]:
    if "tools" not in body:
        return ["tool_choice without tools"] if "tool_choice" in body else []
    tools = body["tools"]
    if not isinstance(tools, list) or not tools:
        return ["tools is empty"]
    problems = []
    for tool in tools:
        function = tool.get("function", {})
        if tool.get("type") != "function" or not _NAME.match(str(function.get("name"))):
            problems.append(f"a tool without a proper name: {function.get('name')!r}")
        if function.get("parameters", {}).get("type") != "object":
            problems.append(f"the parameters of {function.get('name')!r} are no object")
    return problems
