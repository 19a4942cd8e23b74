"""The tools that a model call offered, as far as the attributes of its span tell."""

from collections.abc import Mapping

from treadle.diagnosis.field_paths import parsed
from treadle.spans.span import Span

Offered = dict[str, Mapping[str, object] | None]
"""JSON schemas of arguments by the name of the tool; None where the schema is unknown."""

_LISTS = ("gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools")
_INSIDE = (("model_request_parameters", "function_tools"), ("request_data", "tools"))
_SCHEMAS = ("parameters", "inputSchema", "input_schema", "parameters_json_schema")
_MOST = 256


def offered_tools(span: Span) -> Offered:
    """The tools that the call offered; empty where nothing tells, or it offered none."""
    attributes = span.attributes
    offered: Offered = {}
    for key in _LISTS:
        _collect(attributes.get(key), offered, depth=0)
    for key, inside in _INSIDE:
        _collect(_within(attributes.get(key), inside), offered, depth=0)
    for number in range(_MOST):  # some instrumentations write an attribute for each
        one = attributes.get(f"llm.tools.{number}.tool.json_schema")
        name = attributes.get(f"llm.request.functions.{number}.name")
        if one is None and name is None:
            break
        _collect(one, offered, depth=0)
        if isinstance(name, str):
            parameters = _loaded(attributes.get(f"llm.request.functions.{number}.parameters"))
            offered[name] = parameters if isinstance(parameters, Mapping) else None
    return offered


def _within(value: object, key: str) -> object:
    value = _loaded(value)
    return value.get(key) if isinstance(value, Mapping) else None


def _loaded(value: object) -> object:
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return parsed(value)
        except ValueError:
            return None
    return value


def _collect(value: object, offered: Offered, depth: int) -> None:
    value = _loaded(value)
    if isinstance(value, list) and depth < 2:
        for each in value[:_MOST]:
            _collect(each, offered, depth + 1)
    elif isinstance(value, Mapping):
        function = value.get("function", value)
        if isinstance(function, Mapping) and isinstance(name := function.get("name"), str):
            schemas = [_loaded(function[key]) for key in _SCHEMAS if key in function]
            offered[name] = next((each for each in schemas if isinstance(each, Mapping)), None)
