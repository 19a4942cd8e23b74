"""Removes the objects that some libraries put around the arguments and the results of tools."""

from collections.abc import Mapping
from typing import Any

from treadle.spans.vocabularies.message_forms import langchain_message
from treadle.spans.vocabularies.values import as_content, parse_json, to_json

_ARGUMENTS = ({"input_str", "inputs"}, "inputs"), ({"kwargs"}, "kwargs")
"""Pairs of the keys that identify an object around arguments, and the key of the arguments.

Traceloop sends all arguments of LangChain's callback, and `inputs` is one of them. LlamaIndex sends
an object with the single key `kwargs`.
"""
_RESULTS = (
    ({"tool_name", "raw_output"}, "raw_output"),
    ({"tool_name", "tool_output"}, "tool_output"),
    ({"id", "name", "response"}, "response"),
)
"""Pairs of the keys that identify an object around a result, and the key of the result.

The first two are from LlamaIndex, and the last one is from Google's ADK.
"""


def plain_arguments(given: str) -> str | None:
    """Return the arguments of a tool without the object around them."""
    if '"inputs"' not in given and not given.startswith('{"kwargs"'):
        return given
    value = parse_json(given)
    if isinstance(value, dict):
        for keys, name in _ARGUMENTS:
            if keys <= value.keys() and isinstance(value[name], dict) and _is_around(keys, value):
                return to_json(value[name])
    return given


def plain_result(returned: str) -> str | None:
    """Return the result of a tool without the object around it."""
    if '"tool_call_id"' in returned or '"tool_name"' in returned or '"response"' in returned:
        value = parse_json(returned)
        result = _inner_result(value) if isinstance(value, dict) else value
        return returned if result is value else as_content(result)
    return returned


def _inner_result(value: Mapping[str, Any]) -> Any:
    if isinstance(output := value.get("output"), dict) and "type" in output:
        return _inner_result(output)
    message = langchain_message(value) if "type" in value else None
    if message is not None and message["role"] == "tool":
        return message["content"]
    for keys, name in _RESULTS:
        if keys <= value.keys() and _is_around(keys, value):
            inner = value[name]
            return _inner_result(inner) if isinstance(inner, dict) else inner
    return value


def _is_around(keys: set[str], value: Mapping[str, Any]) -> bool:
    """Return whether an object with these identifying keys is only an object around a value.

    With the keys `input_str` or `tool_name`, it may have further keys.
    """
    return keys == value.keys() or not {"input_str", "tool_name"}.isdisjoint(keys)
