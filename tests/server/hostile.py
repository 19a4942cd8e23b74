"""Requests with hostile values for every route of a server's own OpenAPI document."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]

TEXTS: tuple[str, ...] = (
    "",
    "\x00",
    "\ud800",
    "n" * 5_000,
    "../../../etc/passwd",
    "or " * 3_000 + "x",
    "(" * 2_000,
    "-" * 3_000 + "a",
    '"' * 999,
    "a:b:c>1<2",
    "9" * 400,
    "-1",
    "1e309",
    "NaN",
    "1970-13-45T99:99:99Z",
    "99999999999d",
    "{{{{",
    "%00%ff",
    "🧵" * 300,
    "0" * 64,
    "null",
)
"""Values of parameters that a parser may not expect."""
VALUES: tuple[Any, ...] = (
    None,
    [],
    {},
    True,
    -1,
    2**70,
    1e308,
    *("", "\x00", "n" * 5_000, "🧵"),
    [[]] * 50,
    {"\x00": {"a": [None]}},
)
"""Values of fields of a body."""
BODIES: tuple[bytes, ...] = (
    b"",
    b"{",
    b"null",
    b"[]",
    b'"x"',
    b"\xff\xfe\x00",
    b"[" * 20_000,
    b'{"a":' * 5_000,
    b"1" * 5_000,
    b'{"a": NaN, "a": 1}',
    b'{"\\ud800": "\\udfff"}',
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


def requests(document: Json, values: Json) -> Iterator[Asked]:
    """For each operation, requests with one hostile value each. `values` are valid ones."""
    for template, operations in sorted(document["paths"].items()):
        for method, operation in operations.items():
            yield from _of(document, template, method, operation, values)


def _of(
    document: Json, template: str, method: str, operation: Json, values: Json
) -> Iterator[Asked]:
    parameters = [_plain(document, each) for each in operation.get("parameters", [])]
    in_path = [each["name"] for each in parameters if each["in"] == "path"]
    in_query = [each for each in parameters if each["in"] == "query"]
    needed = tuple((each["name"], "1") for each in in_query if each.get("required"))
    plain = {name: str(values.get(name, "t1")) for name in in_path}
    body = _sample(document, operation, values)
    encoded = None if body is None else json.dumps(body).encode()
    for name in in_path:
        for text in TEXTS:
            yield Asked(method, _filled(template, {**plain, name: text or "%"}), needed, encoded)
    for each in in_query:
        rest = tuple(pair for pair in needed if pair[0] != each["name"])
        for text in TEXTS:
            pair = (each["name"], text.encode("utf-8", "replace").decode())
            yield Asked(method, _filled(template, plain), (*rest, pair), encoded)
    if body is None:
        return
    for raw in BODIES:
        yield Asked(method, _filled(template, plain), needed, raw)
    if isinstance(body, dict):
        for name in body:
            for value in VALUES:
                changed = json.dumps({**body, name: value}).encode()
                yield Asked(method, _filled(template, plain), needed, changed)


def _filled(template: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        written = quote(value.encode("utf-8", "replace"), safe="")
        template = template.replace(f"{{{name}}}", written).replace(f"{{{name}:path}}", written)
    return template


def _plain(document: Json, schema: Json) -> Json:
    while "$ref" in schema:
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def _sample(document: Json, operation: Json, values: Json) -> Any:
    """A body with every field of the schema. None if the operation has no body."""
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    return None if schema is None else _value(document, schema, values, 0)


def _value(document: Json, schema: Json, values: Json, depth: int) -> Any:
    schema = _plain(document, schema)
    if depth > 5:
        return None
    for branch in ("anyOf", "oneOf", "allOf"):
        if branch in schema:
            return _value(document, schema[branch][0], values, depth + 1)
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {
                name: values[name] if name in values else _value(document, each, values, depth + 1)
                for name, each in fields.items()
            } or {"x": 1}
        case "array":
            return [_value(document, schema.get("items", {}), values, depth + 1)]
        case "integer" | "number":
            return max(1, int(schema.get("minimum", 1)))
        case "boolean":
            return False
        case "null":
            return None
    return "x"
