"""Schemas of foreign tools are changed so that strict providers accept them."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.schema_rules import schema_violations
from treadle.mcp_client.schemas import UnusableSchemaError, corrected_schema

SHAPES: dict[str, Any] = {
    "a union at the top": {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
        ]
    },
    "a name with other characters": {
        "type": "object",
        "properties": {"$.xgafv": {"type": "string"}},
        "required": ["$.xgafv"],
    },
    "required among the properties": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "required": ["a"]},
    },
    "null in an enumeration": {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"], "enum": ["x", None]}},
    },
    "an enumeration that is null": {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": None}},
    },
    "no type and no properties": {},
    "an array without items": {"type": "object", "properties": {"a": {"type": "array"}}},
    "a tuple": {
        "type": "object",
        "properties": {"a": {"type": "array", "items": [{"type": "string"}]}},
    },
    "a reference": {
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/A"}},
        "definitions": {"A": {"type": "integer", "minimum": 1}},
    },
    "a schema that contains itself": {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}},
        },
    },
    "required that names a missing property": {"type": "object", "required": ["gone"]},
    "a pattern that takes for ever": {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "(a+)+$"}},
    },
    "true as a schema": {"type": "object", "properties": {"a": True, "b": False}},
    "an enormous number": {
        "type": "object",
        "properties": {"a": {"type": "integer", "maximum": 10**400}},
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_strict_providers_accept_the_changed_schema(shape: str) -> None:
    schema = corrected_schema(SHAPES[shape]).schema

    assert schema_violations(schema) == []
    json.dumps(schema)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("text", "not a JSON object"),
        (None, "not a JSON object"),
        ({"type": "string"}, "the type 'string'"),
        (
            {"properties": {f"p{n}": {"description": "d" * 900} for n in range(100)}},
            "characters",
        ),
        ({"properties": {f"p{n}": {} for n in range(5_000)}}, "parts"),
    ],
)
def test_a_schema_that_cannot_be_changed_is_refused_with_the_reason(
    schema: object, reason: str
) -> None:
    with pytest.raises(UnusableSchemaError, match=reason):
        corrected_schema(schema)


def test_a_union_of_unions_does_not_expand_without_limit() -> None:
    definitions: dict[str, Any] = {"D0": {"type": "string"}}
    for number in range(1, 12):
        below = {"$ref": f"#/$defs/D{number - 1}"}
        definitions[f"D{number}"] = {"anyOf": [{"type": "object", "properties": {"a": below}}] * 19}

    with pytest.raises(UnusableSchemaError, match="parts"):
        corrected_schema({"$ref": "#/$defs/D11", "$defs": definitions})


def test_all_properties_of_a_union_are_offered_and_only_common_ones_are_required() -> None:
    one = {"properties": {"a": {"type": "string"}, "c": {}}, "required": ["a", "c"]}
    other = {"properties": {"b": {"type": "string"}, "c": {}}, "required": ["b", "c"]}

    schema = corrected_schema({"oneOf": [one, other]}).schema

    assert set(schema["properties"]) == {"a", "b", "c"}
    assert schema["required"] == ["c"]


def test_a_changed_name_is_known_with_its_original() -> None:
    result = corrected_schema(
        {"type": "object", "properties": {"$.x": {"type": "string"}, "y": {}}}
    )
    (changed,) = set(result.schema["properties"]) - {"y"}

    assert result.renamed == {changed: "$.x"}


def test_hidden_characters_in_a_description_are_shown() -> None:
    hidden = "Read\u200b it\u202e now\x00"

    schema = corrected_schema(
        {"properties": {"a": {"type": "string", "description": hidden}}}
    ).schema

    assert schema["properties"]["a"]["description"].isprintable()


_keys = st.sampled_from([
    "type", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "const", "required", "$ref",
    "$defs", "description", "minimum", "maxLength", "additionalProperties", "default", "a", "$.x",
])  # fmt: skip
_scalars = st.sampled_from([
    None, True, False, 0, -1, 1.5, "", "a", "string", "object", "array", "null", "#/$defs/a", "#",
])  # fmt: skip
_schemas = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(_keys, _schemas, max_size=6))
def test_any_json_gives_an_acceptable_schema_or_is_refused(schema: dict[str, Any]) -> None:
    with suppress(UnusableSchemaError):
        assert schema_violations(corrected_schema(schema).schema) == []
