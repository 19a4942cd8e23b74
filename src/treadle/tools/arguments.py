"""Parses the arguments of a call from the JSON text that the model wrote."""

import json
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from treadle.events.types import ErrorKind
from treadle.tools.contract import Arguments, ToolError
from treadle.tools.schemas import JsonSchema, branches_of, in_words, schema_at, schema_of

A = TypeVar("A", bound=Arguments)

MAX_ENCODINGS = 4
"""The maximum number of times that a value is decoded from JSON text.

Some models encode a value several times.
"""

SHOWN_CHARACTERS = 100
"""The number of characters of an invalid value that an error shows."""


_known_schema = lru_cache(maxsize=512)(schema_of)
"""A cache of schemas. Building one takes longer than the rest of parsing the arguments."""


def parse_arguments(tool: str, model: type[A], raw: str) -> A:
    """Parse the arguments of a call of `tool` from the text that the model wrote.

    The function corrects two mistakes of models (see `corrected`). Empty text and null mean an
    empty object. Unescaped line breaks and tabs in strings are accepted. Raises ToolError of kind
    `parsing` or `validation`.
    """
    schema = _known_schema(model)
    value = corrected(_load(tool, raw), schema)
    if value is None or (isinstance(value, str) and not value.strip()):
        value = {}
    if not isinstance(value, dict):
        raise ToolError(
            ErrorKind.VALIDATION,
            f"The arguments of {tool} must be a JSON object.",
            expected="a JSON object",
            received=_shorten_json(value),
            hint=_known_arguments(schema),
        )
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _readable(tool, schema, error) from error


def _load(tool: str, raw: str) -> Any:
    if not raw.strip():
        return {}
    try:
        return json.loads(raw, strict=False)
    except (ValueError, RecursionError) as error:
        where = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        early = isinstance(error, json.JSONDecodeError) and (
            error.pos >= len(raw.rstrip()) or error.msg.startswith("Unterminated string")
        )
        raise ToolError(
            ErrorKind.PARSING,
            f"The arguments of {tool} are not valid JSON: {where}.",
            expected="a JSON object",
            received=_shorten(raw),
            hint="They are incomplete: send the whole object."
            if early
            else "Send one JSON object, with double quotes and escaped line breaks.",
        ) from error


def corrected(value: Any, schema: JsonSchema) -> Any:
    """Return `value` without two mistakes that models make.

    First, an object or a list may be encoded as JSON text. It is decoded if the schema does not
    allow a string in its position. Second, the value of an optional field may be null. The field is
    removed if the schema does not allow null.
    """
    branches = branches_of(schema)
    kinds = _kinds(schema)
    if isinstance(value, str) and kinds & {"object", "array"} and not kinds & {"string", None}:
        value = _decoded(value)
    if not isinstance(value, dict | list):
        return value
    kind = "object" if isinstance(value, dict) else "array"
    fitting = [branch for branch in branches if branch.get("type") == kind]
    if len(fitting) != 1:
        return value
    inner = fitting[0]
    if isinstance(value, list):
        return [
            corrected(each, schema_at(inner, (index,)) or {}) for index, each in enumerate(value)
        ]
    return {
        name: corrected(each, schema_at(inner, (name,)) or {})
        for name, each in value.items()
        if each is not None or not _may_be_left_out(inner, name)
    }


def _kinds(schema: JsonSchema) -> set[str | None]:
    """Return the JSON types that `schema` allows. None is in the set if every type is allowed."""
    return {branch.get("type") for branch in branches_of(schema)}


def _may_be_left_out(schema: JsonSchema, name: str) -> bool:
    field = schema.get("properties", {}).get(name)
    optional = field is not None and name not in schema.get("required", [])
    return optional and not _kinds(field) & {"null", None}


def _decoded(text: str) -> Any:
    """Decode an object, a list or null that was encoded as JSON once or several times.

    Returns any other `text` unchanged.
    """
    value: Any = text
    for _ in range(MAX_ENCODINGS):
        try:
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return text
        if not isinstance(value, str):
            return value if value is None or isinstance(value, dict | list) else text
        if not value.strip():
            return value
    return text


def _readable(tool: str, schema: JsonSchema, error: ValidationError) -> ToolError:
    errors = error.errors(include_url=False)
    # An unknown name comes first, because it usually explains why another argument is missing.
    errors.sort(key=lambda each: each["type"] != "extra_forbidden")
    first, rest = errors[0], len(errors) - 1
    more = f" ({rest} more problem{'s' if rest > 1 else ''})" if rest else ""
    field = ".".join(str(part) for part in first["loc"])
    field_schema = schema_at(schema, first["loc"])
    expected = in_words(field_schema) if field_schema else _own_words(first)
    match first["type"]:
        case "extra_forbidden":
            return _unknown_argument(tool, schema, first, more)
        case "missing":
            message, received = f"{tool} needs the argument `{field}`{more}.", "nothing"
        case "value_error":
            message, received = f"{_own_words(first)}{more}.", _shorten_json(first["input"])
            expected = in_words(field_schema) if field and field_schema else ""
        case "string_unicode":
            expected = "text in valid Unicode, without an unpaired surrogate"
            received = _shorten_json(first["input"])
            message = f"`{field}` of {tool} is not valid Unicode{more}."
        case _:
            received = _shorten_json(first["input"])
            message = f"`{field}` of {tool} must be {expected}, not {received}{more}."
    return ToolError(
        ErrorKind.VALIDATION,
        message,
        field=field or None,
        expected=expected or None,
        received=received,
        hint=field_schema.get("description") if field_schema else None,
    )


def _unknown_argument(tool: str, schema: JsonSchema, error: ErrorDetails, more: str) -> ToolError:
    *parents, name = error["loc"]
    owner = schema_at(schema, tuple(parents)) or {}
    known = {_bare(each): each for each in owner.get("properties", {})}
    nearest = get_close_matches(_bare(str(name)), known, n=1)
    hint = _known_arguments(owner)
    if nearest:
        hint = f"Did you mean `{known[nearest[0]]}`? {hint}"
    where = f" in `{'.'.join(str(part) for part in parents)}`" if parents else ""
    return ToolError(
        ErrorKind.VALIDATION,
        f"{tool} has no argument `{_shorten(str(name))}`{where}{more}.",
        field=".".join(str(part) for part in error["loc"]),
        received=_shorten_json(error["input"]),
        hint=hint,
    )


def _known_arguments(schema: JsonSchema) -> str:
    fields = schema.get("properties", {})
    required = schema.get("required", [])
    named = [f"`{name}`{'' if name in required else ' (optional)'}" for name in fields]
    return f"The arguments are {', '.join(named)}." if named else "The tool takes no arguments."


def _own_words(error: ErrorDetails) -> str:
    return error["msg"].removeprefix("Value error, ").rstrip(".")


def _bare(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _shorten_json(value: object) -> str:
    return _shorten(json.dumps(value, ensure_ascii=False, default=str))


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
