"""Changes the schema of a foreign tool so that every provider accepts it.

Providers refuse many valid JSON schemas, and one refused schema makes a whole request fail. The
changed schema allows at least the arguments that the original schema allows. The server checks the
arguments against the original schema.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from treadle.tools.schemas import JsonSchema
from treadle.visible import printable

MAX_SCHEMA_CHARACTERS = 30_000
"""The maximum length of a changed schema as JSON. A larger one would fill the window of a model."""

_MAX_PARTS = 1_500
_MAX_DEPTH = 12
_DESCRIPTION_CHARACTERS = 1_000
_MAX_BRANCHES = 20
_MAX_NUMBER = 2**53

_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_UNIONS = ("anyOf", "oneOf")
_PYTHON: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


class UnusableSchemaError(ValueError):
    """A schema cannot be changed so that providers accept it. The text states the reason."""


@dataclass(frozen=True, slots=True)
class CorrectedSchema:
    """A schema that providers accept. `renamed` maps changed names of arguments to the original."""

    schema: JsonSchema
    renamed: Mapping[str, str]


def corrected_schema(schema: object) -> CorrectedSchema:
    """Change `schema` so that providers accept it. Raises UnusableSchemaError."""
    if not isinstance(schema, dict):
        raise UnusableSchemaError("its schema is not a JSON object")
    try:
        return _Corrector(schema).whole()
    except RecursionError as error:
        raise UnusableSchemaError("its schema is nested too deeply") from error


class _Corrector:
    def __init__(self, root: JsonSchema) -> None:
        self._root = root
        self._parts = 0

    def whole(self) -> CorrectedSchema:
        schema = self._merged(self._root, ())
        declared = schema.get("type", "object")
        if declared != "object" and not (isinstance(declared, list) and "object" in declared):
            raise UnusableSchemaError(f"its arguments have the type {str(declared)[:40]!r}")
        renamed: dict[str, str] = {}
        properties: JsonSchema = {}
        for name, each in _properties(schema):
            usable = name if _KEY.fullmatch(name) else _usable_key(name)
            if usable != name:
                renamed[usable] = name
            properties[usable] = self._part(each, 1, ())
        offered = {original: name for name, original in renamed.items()}
        required = [offered.get(name, name) for name in _required(schema)]
        result: JsonSchema = {
            "type": "object",
            "properties": properties,
            "additionalProperties": not properties and schema.get("additionalProperties") is True,
        }
        if kept := [name for name in dict.fromkeys(required) if name in properties]:
            result["required"] = kept
        size = len(json.dumps(result, ensure_ascii=False))
        if size > MAX_SCHEMA_CHARACTERS:
            raise UnusableSchemaError(f"its schema has {size:,} characters")
        return CorrectedSchema(result, renamed)

    def _count(self) -> None:
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise UnusableSchemaError(f"its schema has more than {_MAX_PARTS:,} parts")

    def _merged(self, schema: JsonSchema, seen: tuple[str, ...]) -> JsonSchema:
        """Return the top of a schema without unions, since providers refuse unions there.

        All properties of all alternatives are allowed. A property is required if all alternatives
        require it.
        """
        self._count()
        schema = self._resolved(schema, seen) or {}
        properties = dict(_properties(schema))
        required = list(_required(schema))
        for key in (*_UNIONS, "allOf"):
            branches = [
                self._merged(branch, (*seen, key))
                for branch in _list(schema.get(key))[:_MAX_BRANCHES]
                if isinstance(branch, dict) and len(seen) < _MAX_DEPTH
            ]
            for branch in branches:
                properties = dict(_properties(branch)) | properties
            if key == "allOf":
                required += [name for branch in branches for name in _required(branch)]
            elif branches:
                first, *others = (_required(branch) for branch in branches)
                required += [name for name in first if all(name in each for each in others)]
        rest = {key: value for key, value in schema.items() if key not in {*_UNIONS, "allOf"}}
        return rest | {"properties": properties, "required": required}

    def _part(self, schema: object, depth: int, seen: tuple[str, ...]) -> JsonSchema:
        self._count()
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return {}
        reference = schema.get("$ref")
        resolved = self._resolved(schema, seen)
        if resolved is None:  # the schema contains itself, or names another document
            return _described({}, schema)
        if isinstance(reference, str):
            seen = (*seen, reference)
        result = _described({}, resolved)
        kinds = _kinds(resolved)
        if not kinds and (branches := self._branches(resolved, depth, seen)):
            return branches[0] | result if len(branches) == 1 else result | {"anyOf": branches}
        if len(kinds) > 1:
            each = [self._of_kind(kind, resolved, depth, seen) for kind in kinds]
            return result | {"anyOf": each}
        return result | self._of_kind(kinds[0] if kinds else None, resolved, depth, seen)

    def _branches(self, schema: JsonSchema, depth: int, seen: tuple[str, ...]) -> list[JsonSchema]:
        branches: list[JsonSchema] = []
        for key in (*_UNIONS, "allOf"):
            given = [b for b in _list(schema.get(key)) if isinstance(b, dict)]
            given = [b for b in given if b.get("type") != "null" and b.get("enum") != [None]]
            if key == "allOf" and len(given) != 1:
                continue  # all must hold, so omitting them allows more
            for branch in given[:_MAX_BRANCHES]:
                part = self._part(branch, depth + 1, seen)
                if part not in branches:
                    branches.append(part)
            if len(given) > _MAX_BRANCHES:
                return []
        return branches

    def _of_kind(
        self, kind: str | None, schema: JsonSchema, depth: int, seen: tuple[str, ...]
    ) -> JsonSchema:
        result: JsonSchema = {} if kind is None else {"type": kind}
        if values := _enum(kind, schema):
            result["enum"] = values
        for key in _NUMBERS:
            if kind in {"integer", "number"} and _is_number(schema.get(key)):
                result[key] = schema[key]
        for key in _COUNTS:
            value = schema.get(key)
            fits = kind == ("string" if key.endswith("Length") else "array")
            if fits and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                result[key] = value
        if kind == "array":
            items = schema.get("items", {})
            result["items"] = self._part(items, depth + 1, seen)
        if kind == "object":
            result |= self._object(schema, depth, seen)
        default = schema.get("default")
        if isinstance(default, str | bool) or _is_number(default):
            result["default"] = default
        return result

    def _object(self, schema: JsonSchema, depth: int, seen: tuple[str, ...]) -> JsonSchema:
        properties = dict(_properties(schema))
        if not all(map(_KEY.fullmatch, properties)):
            return {}  # the object may contain anything, and the server checks it
        result: JsonSchema = {
            "properties": {
                name: self._part(each, depth + 1, seen) for name, each in properties.items()
            }
        }
        if required := [name for name in dict.fromkeys(_required(schema)) if name in properties]:
            result["required"] = required
        if isinstance(schema.get("additionalProperties"), bool):
            result["additionalProperties"] = schema["additionalProperties"]
        return result

    def _resolved(self, schema: JsonSchema, seen: tuple[str, ...]) -> JsonSchema | None:
        """Follow the references of `schema`. Returns None if there is no such part."""
        for _ in range(_MAX_DEPTH):
            reference = schema.get("$ref")
            if reference is None:
                return schema
            target = self._target(reference)
            if target is None or reference in seen:
                return None
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = target | rest
            seen = (*seen, str(reference))
        return None

    def _target(self, reference: object) -> JsonSchema | None:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found: Any = self._root
        for part in filter(None, reference[1:].split("/")):
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            else:
                return None
        return found if isinstance(found, dict) else None


def _usable_key(name: str) -> str:
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)[:50]}_{digest}"


def _properties(schema: JsonSchema) -> Iterator[tuple[str, object]]:
    properties = schema.get("properties")
    for name, each in properties.items() if isinstance(properties, dict) else ():
        if isinstance(each, dict) or each is True:
            yield name, each


def _required(schema: JsonSchema) -> list[str]:
    """Return the required properties. Some servers write the list among the properties."""
    given = schema.get("required")
    properties = schema.get("properties")
    if not isinstance(given, list) and isinstance(properties, dict):
        given = properties.get("required")
    return [name for name in _list(given) if isinstance(name, str)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _kinds(schema: JsonSchema) -> list[str]:
    declared = schema.get("type")
    kinds = declared if isinstance(declared, list) else [declared]
    found = [kind for kind in kinds if isinstance(kind, str) and kind in _TYPES]
    if not found and isinstance(schema.get("properties"), dict):
        return ["object"]
    return list(dict.fromkeys(found))


def _enum(kind: str | None, schema: JsonSchema) -> list[Any]:
    given = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    expected = _PYTHON.get(kind or "string")
    if expected is None:
        return []
    kept = [
        value
        for value in given
        if isinstance(value, expected) and (kind == "boolean") == isinstance(value, bool)
    ]
    others = [value for value in given if value is not None and value not in kept]
    return [] if others and kind is None else kept


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= _MAX_NUMBER
        and math.isfinite(value)
    )


def _described(result: JsonSchema, schema: JsonSchema) -> JsonSchema:
    text = schema.get("description")
    if isinstance(text, str) and text.strip():
        result["description"] = printable(text.strip()[:_DESCRIPTION_CHARACTERS])
    return result
