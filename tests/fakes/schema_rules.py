"""The demands of strict providers on the parameters of a tool, declared once for all tests."""

import re
from collections.abc import Iterator
from typing import Any

_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
_KEYWORDS = {
    "type", "description", "properties", "required", "additionalProperties", "items", "enum",
    "anyOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength", "minItems", "maxItems", "default",
}  # fmt: skip
_TYPES = {"string", "integer", "number", "boolean", "array", "object"}


def schema_violations(parameters: Any) -> list[str]:
    """Every demand that the parameters of a tool break, in words; empty if all accept them."""
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        return ["the parameters are no object"]
    top = [f"{key} at the top" for key in ("anyOf", "oneOf", "allOf", "enum") if key in parameters]
    return [*top, *_part(parameters, "parameters")]


def _part(schema: Any, at: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"{at} is not an object"
        return
    yield from _keywords(schema, at)
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in properties:
            yield f"{at} requires {name!r}, which it does not have"
    for name, each in properties.items():
        if not _KEY.match(name):
            yield f"{at} has the property {name!r}"
        yield from _part(each, f"{at}.{name}")
    if "items" in schema:
        yield from _part(schema["items"], f"{at}[]")
    for number, each in enumerate(schema.get("anyOf", ())):
        yield from _part(each, f"{at}|{number}")


def _keywords(schema: dict[str, Any], at: str) -> Iterator[str]:
    for key in schema.keys() - _KEYWORDS:
        yield f"{at} has the keyword {key!r}"
    if "type" in schema and schema["type"] not in _TYPES:
        yield f"{at} has the type {schema['type']!r}"
    if schema.get("type") == "array" and "items" not in schema:
        yield f"{at} is an array without items"
    if "enum" in schema and (not schema["enum"] or None in schema["enum"]):
        yield f"{at} has the enum {schema['enum']!r}"
