"""JSON schemas of tool arguments and results, and their description in words for errors."""

from functools import lru_cache
from typing import Any

from pydantic import BaseModel

JsonSchema = dict[str, Any]


def schema_of(model: type[BaseModel]) -> JsonSchema:
    """Return the JSON schema of the class `model`, in a plain form.

    The form is simpler than the schema of pydantic, since not every provider accepts all of JSON
    schema. It has no titles and no references. The type of an optional argument does not include
    null. Callers share the result and must not change it. Raises ValueError for a class that
    contains itself.
    """
    return _cached_schema(model)


@lru_cache(maxsize=256)  # a schema takes 4 ms to build, and a session needs it several times
def _cached_schema(model: type[BaseModel]) -> JsonSchema:
    return plain_schema(model.model_json_schema())


def result_schema_of(model: type[BaseModel]) -> JsonSchema:
    """Return the JSON schema of what `Tool.content` returns, in the form of `schema_of`."""
    return plain_schema(model.model_json_schema(mode="serialization"))


def plain_schema(schema: JsonSchema) -> JsonSchema:
    """Convert `schema` to the form of `schema_of`. Modifies `schema`.

    Raises ValueError for a schema that contains itself, and KeyError for a reference to another
    document.
    """
    definitions = schema.pop("$defs", {})
    plain = _plain(schema, definitions, ())
    plain.pop("description", None)  # the class docstring, which is not for the model
    return plain


def _plain(schema: JsonSchema, definitions: JsonSchema, ancestors: tuple[str, ...]) -> JsonSchema:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        if name in ancestors:
            raise ValueError(f"{name} contains itself; tool arguments must be finite")
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _plain(
            _without_enum_description(definitions[name]) | rest, definitions, (*ancestors, name)
        )
    plain: JsonSchema = {}
    for key, value in schema.items():
        if key == "title" or (key == "default" and value in ([], {})):
            continue
        if key == "properties":
            plain[key] = {
                name: _plain(each, definitions, ancestors) for name, each in value.items()
            }
        elif isinstance(value, dict) and key != "default":
            plain[key] = _plain(value, definitions, ancestors)
        elif key in {"anyOf", "oneOf", "allOf", "prefixItems"}:
            plain[key] = [_plain(each, definitions, ancestors) for each in value]
        else:
            plain[key] = value
    return _without_null(plain)


def _without_enum_description(definition: JsonSchema) -> JsonSchema:
    """Remove the description of an enumeration. A field of its type has its own description."""
    return {k: v for k, v in definition.items() if k != "description" or "enum" not in definition}


def _without_null(schema: JsonSchema) -> JsonSchema:
    branches = schema.get("anyOf")
    if branches is None or "default" not in schema or schema["default"] is not None:
        return schema
    kept = [branch for branch in branches if branch.get("type") != "null"]
    rest = {key: value for key, value in schema.items() if key not in {"anyOf", "default"}}
    return kept[0] | rest if len(kept) == 1 else rest | {"anyOf": kept}


_LIMITS = frozenset({
    "additionalProperties", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum",
})  # fmt: skip
"""Keywords of a schema that models do not need.

The executor checks them, and the error for a wrong value states the allowed values.
"""
_OBVIOUS_DEFAULTS: tuple[object, ...] = (False, 0, "", ".", None)
_RARELY_USED = frozenset({
    "max_tokens", "expected_hash", "range", "include_ignored", "context_lines", "offset",
})  # fmt: skip
"""Optional arguments that a model with a small window is not offered."""


def schema_for_model(schema: JsonSchema, *, brief: bool = False) -> JsonSchema:
    """Return a copy of `schema` with only the parts that a model needs.

    `brief` also leaves out optional arguments that are rarely used.
    """
    kept: JsonSchema = {}
    required = schema.get("required", ())
    for key, value in schema.items():
        if key in _LIMITS or (key == "default" and value in _OBVIOUS_DEFAULTS):
            continue
        if key == "properties":
            kept[key] = {
                name: schema_for_model(each, brief=brief)
                for name, each in value.items()
                if not brief or name in required or name not in _RARELY_USED
            }
        elif isinstance(value, dict) and key != "default":
            kept[key] = schema_for_model(value, brief=brief)
        elif key in {"anyOf", "oneOf", "allOf", "prefixItems"}:
            kept[key] = [schema_for_model(each, brief=brief) for each in value]
        else:
            kept[key] = value
    return kept


def branches_of(schema: JsonSchema) -> list[JsonSchema]:
    """Return the alternatives that `schema` allows, or only `schema` if it has none."""
    branches: list[JsonSchema] = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return branches


def schema_at(schema: JsonSchema, location: tuple[str | int, ...]) -> JsonSchema | None:
    """Return the part of `schema` that describes the value at `location`.

    Returns None if `schema` does not have exactly one description for that location.
    """
    for part in location:
        inner = (
            schema.get("items")
            if isinstance(part, int)
            else schema.get("properties", {}).get(part, schema.get("additionalProperties"))
        )
        if not isinstance(inner, dict):
            return None
        schema = inner
    return schema


_WORDS = {"boolean": "true or false", "object": "an object", "null": "null"}


def in_words(schema: JsonSchema) -> str:
    """Describe the values that `schema` allows, for example as "an integer of at least 1"."""
    match schema:
        case {"anyOf": branches} | {"oneOf": branches}:
            words = " or ".join(in_words(branch) for branch in branches)
        case {"enum": values}:
            words = "one of " + ", ".join(str(value) for value in values)
        case {"const": value}:
            words = f"exactly {value}"
        case {"type": "integer" | "number" as kind}:
            words = ("an integer" if kind == "integer" else "a number") + _limits(schema)
        case {"type": "string"}:
            words = "a string" + _length(schema)
        case {"type": "array"}:
            count = _count(schema.get("minItems", 0), schema.get("maxItems"))
            words = f"a list{count} whose elements are each {in_words(schema.get('items', {}))}"
        case _:
            words = _WORDS.get(schema.get("type", ""), "a JSON value")
    return words


def _length(schema: JsonSchema) -> str:
    low, high = schema.get("minLength", 0), schema.get("maxLength")
    if low == 1 and high is None:
        return " that is not empty"
    if low and high is not None:
        return f" of {low} to {high:,} characters"
    if high is not None:
        return f" of at most {high:,} characters"
    pattern = f" that matches {schema['pattern']}" if "pattern" in schema else ""
    return f" of at least {low} characters" if low else pattern


def _count(low: int, high: int | None) -> str:
    if low and high is not None:
        return f" of {low} to {high}" if low != high else f" of exactly {low}"
    if low:
        return f" of at least {low}"
    return "" if high is None else f" of at most {high}"


def _limits(schema: JsonSchema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of at least {low}"
    if high is not None:
        return f" of at most {high}"
    if "exclusiveMinimum" in schema:
        return f" greater than {schema['exclusiveMinimum']}"
    return ""
