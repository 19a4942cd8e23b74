"""Detectors of `Layer.SIGNALS` for tool calls, such as invalid arguments and unknown tools."""

import json
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from treadle.diagnosis.detectors.finding import Detector, Hit, Kind, Layer, Severity
from treadle.diagnosis.field_paths import parsed
from treadle.diagnosis.span_messages import Call, Message, Role
from treadle.spans.span import Span
from treadle.traces.fencing import inline

OfferedTools = dict[str, Mapping[str, object] | None]
"""Maps each offered tool to the JSON schema of its arguments, or to None if it is unknown."""

_LISTS = ("gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools")
_INSIDE = (("model_request_parameters", "function_tools"), ("request_data", "tools"))
_SCHEMAS = ("parameters", "inputSchema", "input_schema", "parameters_json_schema")
_MOST = 256


def offered_tools(span: Span) -> OfferedTools:
    """Return the tools that a model call offered.

    The result is empty if the call offered no tools, or if they were not recorded.
    """
    attributes = span.attributes
    offered: OfferedTools = {}
    for key in _LISTS:
        _collect(attributes.get(key), offered, depth=0)
    for key, inside in _INSIDE:
        _collect(_within(attributes.get(key), inside), offered, depth=0)
    for number in range(_MOST):  # some instrumentations write an attribute for each tool
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


def _collect(value: object, offered: OfferedTools, depth: int) -> None:
    value = _loaded(value)
    if isinstance(value, list) and depth < 2:
        for each in value[:_MOST]:
            _collect(each, offered, depth + 1)
    elif isinstance(value, Mapping):
        function = value.get("function", value)
        if isinstance(function, Mapping) and isinstance(name := function.get("name"), str):
            schemas = [_loaded(function[key]) for key in _SCHEMAS if key in function]
            offered[name] = next((each for each in schemas if isinstance(each, Mapping)), None)


ARGUMENTS = Detector("call-arguments", 2, Layer.SIGNALS)
SCHEMA = Detector("call-schema", 1, Layer.SIGNALS)
UNKNOWN = Detector("unknown-tool", 1, Layer.SIGNALS)
UNANSWERED = Detector("unanswered-call", 1, Layer.SIGNALS)

SCHEMA_CHARACTERS = 100_000
_STEPS = 20_000
"""The maximum number of schema keywords that one validation processes.

A schema in a trace may refer to itself without end.
"""
_UNTRIED = ("pattern", "format", "uniqueItems")
"""Keywords that are ignored, since the limit of steps does not bound their run time."""
_BEYOND = ('"patternProperties"', '"unevaluated')
"""Keywords that make a schema unusable, since they match its patterns against property names."""


def arguments_hit(text: str, path: str, tool: str) -> Hit | None:
    """Return the fault of the arguments of a tool call, or None.

    Empty text means no arguments. A list contains arguments by position, which is not a fault.
    """
    if not text.strip():
        return None
    try:
        value = parsed(text)
    except ValueError as error:
        error_position = error.pos if isinstance(error, json.JSONDecodeError) else 0
        message = f"The arguments of {inline(tool)} are not JSON: {error.args[0]}."
        begin = max(0, min(error_position, len(text)) - 60)
        return Hit(
            ARGUMENTS, Kind.INVALID_ARGUMENTS, Severity.HIGH, 0.99, message, path, begin, None
        )
    if isinstance(value, dict | list):
        return None
    if isinstance(value, str) and value.lstrip().startswith("{"):
        message = f"The arguments of {inline(tool)} are JSON inside of JSON text."
        return Hit(ARGUMENTS, Kind.INVALID_ARGUMENTS, Severity.LOW, 0.9, message, path)
    message = f"The arguments of {inline(tool)} are not a JSON object."
    return Hit(ARGUMENTS, Kind.INVALID_ARGUMENTS, Severity.HIGH, 0.95, message, path)


def call_hits(call: Call, offered: OfferedTools) -> Iterator[Hit]:
    """Yield the faults of a tool call. `offered` contains the tools that the model could call."""
    if offered and call.name and call.name not in offered:
        message = f"There was no tool {inline(call.name)} among the {len(offered)} offered."
        yield Hit(UNKNOWN, Kind.UNKNOWN_TOOL, Severity.HIGH, 0.98, message, call.name_path)
    if call.arguments is None:
        return
    invalid = arguments_hit(call.arguments, call.path, call.name)
    if invalid is not None:
        yield invalid
        return
    schema = offered.get(call.name)
    if schema is not None:
        wrong = mismatch(json.loads(call.arguments or "{}"), schema)
        if wrong is not None:
            message = f"The arguments of {inline(call.name)} do not fit its schema: {wrong}."
            yield Hit(SCHEMA, Kind.SCHEMA_MISMATCH, Severity.HIGH, 0.97, message, call.path)


def unanswered(history: tuple[Message, ...]) -> Iterator[tuple[Call, Hit]]:
    """Yield the tool calls without a result in the history of a request.

    If call ids are empty or repeated, the calls and the results are matched by their order.
    """
    for number, message in enumerate(history):
        if not message.calls:
            continue
        answers = []
        for following in history[number + 1 :]:
            if following.role is not Role.TOOL:
                break
            answers.append(following.call_id)
        ids = [call.call_id for call in message.calls]
        if len(answers) >= len(ids):
            continue
        have_unique_ids = all(ids) and len(set(ids)) == len(ids) and set(answers) <= set(ids)
        open_calls = (
            [call for call in message.calls if call.call_id not in answers]
            if have_unique_ids
            else list(message.calls[len(answers) :])
        )
        for call in open_calls:
            shown_name = inline(call.name)
            yield (
                call,
                Hit(
                    UNANSWERED,
                    Kind.UNANSWERED_CALL,
                    Severity.MEDIUM,
                    0.95,
                    f"The call of {shown_name} has no result, and the conversation continues.",
                    call.name_path,
                ),
            )


def mismatch(value: object, schema: Mapping[str, object]) -> str | None:
    """Return why `value` does not match `schema`, or None if it matches or cannot be validated.

    The schema is untrusted. Therefore the validation fetches nothing, ignores patterns, and ends
    after a limited number of steps.

    """
    try:
        text = json.dumps(schema, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None
    if len(text) > SCHEMA_CHARACTERS or any(keyword in text for keyword in _BEYOND):
        return None
    try:
        return _validated(value, text)
    except (_TooMuchError, RecursionError):
        return None


class _TooMuchError(Exception):
    """Raised when a validation needs more than `_STEPS` steps."""


class _Steps(threading.local):
    left = 0


_steps = _Steps()


def _validated(value: object, schema: str) -> str | None:
    from jsonschema.exceptions import best_match  # type: ignore[import-untyped]  # ships no types
    from referencing.exceptions import Unresolvable

    validator = _validator(schema)
    if validator is None:
        return None
    _steps.left = _STEPS
    try:
        error = best_match(validator.iter_errors(value))
    except (Unresolvable, TypeError, ValueError, AttributeError, KeyError):
        return None  # the schema is invalid
    if error is None:
        return None
    at = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path)
    return inline(f"{at.lstrip('.')}: {error.message}" if at else error.message, limit=200)


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    """Return a validator for the JSON text of a schema.

    The result is None if the schema is invalid or requires nothing.
    """
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # ships no types
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import extend  # type: ignore[import-untyped]
    from referencing import Registry

    value = json.loads(schema)
    if not value.get("properties") and value.get("type") != "object":
        return None  # the schema requires nothing
    try:
        Draft202012Validator.check_schema(value)
    except (SchemaError, RecursionError):
        return None
    counted = {
        keyword: _counted(check)
        for keyword, check in Draft202012Validator.VALIDATORS.items()
        if keyword not in _UNTRIED
    }
    ignored = dict.fromkeys(_UNTRIED, _ignored)
    kind = extend(Draft202012Validator, {**counted, **ignored})
    return kind(value, registry=Registry())


def _counted(check: Any) -> Any:
    def within_bounds(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _steps.left -= 1
        if _steps.left < 0:
            raise _TooMuchError
        return check(validator, value, instance, schema)

    return within_bounds


def _ignored(_validator: Any, _value: Any, _instance: Any, _schema: Any) -> tuple[()]:
    return ()
