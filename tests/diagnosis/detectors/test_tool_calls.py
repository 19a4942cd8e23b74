"""Calls: arguments, untrusted schemas, and tools that were not offered."""

import json
import time
from typing import Any

import pytest

from tests.diagnosis.detectors.spans import calls, model, only, result, tool, user
from treadle.diagnosis.detectors import Kind, detect
from treadle.diagnosis.detectors.tool_calls import mismatch
from treadle.spans.span import Span

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


def asked(arguments: str, *, name: str = "weather", schema: object = None) -> Span:
    function = {"name": "weather", "parameters": WEATHER if schema is None else schema}
    tools = json.dumps([{"type": "function", "function": function}])
    attributes = {"gen_ai.tool.definitions": tools}
    return model([user("?")], [calls((name, arguments))], attributes=attributes)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ('{"city": "Oslo"', Kind.INVALID_ARGUMENTS),
        ("{'city': 'Oslo'}", Kind.INVALID_ARGUMENTS),
        ('"{\\"city\\": \\"Oslo\\"}"', Kind.INVALID_ARGUMENTS),
        ("[1]", Kind.SCHEMA_MISMATCH),
        ("[" * 100_000, Kind.INVALID_ARGUMENTS),
        ('{"town": "Oslo"}', Kind.SCHEMA_MISMATCH),
        ('{"city": 4}', Kind.SCHEMA_MISMATCH),
        ('{"city": "Oslo", "days": 0}', Kind.SCHEMA_MISMATCH),
        ("", Kind.SCHEMA_MISMATCH),
    ],
)
def test_invalid_arguments_are_found(arguments: str, kind: Kind) -> None:
    assert only(asked(arguments)).kind is kind


@pytest.mark.parametrize("arguments", ['{"city": "Oslo"}', ' {"city": "Oslo", "days": 2}\n'])
def test_valid_arguments_have_no_fault(arguments: str) -> None:
    assert not detect([asked(arguments)])


def test_empty_arguments_equal_an_empty_object() -> None:
    assert not detect([model([user("?")], [calls(("now", ""))]), tool("noon", arguments="")])


def test_arguments_by_position_are_not_faults() -> None:
    assert not detect([model([user("?")], [calls(("add", "[1, 2]"))])])
    assert not detect([tool("3", arguments="[1, 2]")])


def test_tool_that_was_not_offered_is_found() -> None:
    found = only(asked("{}", name="wether"))
    assert (found.kind, found.evidence.quote) == (Kind.UNKNOWN_TOOL, "wether")
    assert not detect([model([user("?")], [calls(("anything", "{}"))])])


@pytest.mark.parametrize(
    "attributes",
    [
        {"llm.tools.0.tool.json_schema": json.dumps({"name": "weather", "parameters": WEATHER})},
        {"ai.prompt.tools": [json.dumps({"name": "weather", "inputSchema": WEATHER})]},
        {"gen_ai.tool.definitions": [{"name": "weather", "parameters": WEATHER}]},
        {
            "llm.request.functions.0.name": "weather",
            "llm.request.functions.0.parameters": json.dumps(WEATHER),
        },
        {
            "model_request_parameters": {
                "function_tools": [{"name": "weather", "parameters_json_schema": WEATHER}]
            }
        },
    ],
)
def test_schema_of_each_instrumentation_is_found(attributes: dict[str, Any]) -> None:
    span = model([user("?")], [calls(("weather", '{"town": 1}'))], attributes=attributes)
    assert only(span).kind is Kind.SCHEMA_MISMATCH


def doubling(depth: int) -> dict[str, Any]:
    """A schema whose validation takes 2 ** depth steps."""
    definitions: dict[str, Any] = {
        f"d{number}": {"allOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 2} for number in range(depth)
    }
    definitions[f"d{depth}"] = {"type": "object"}
    return {"type": "object", "$defs": definitions, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(
    "schema",
    [
        doubling(60),
        {"type": "object", "$ref": "#"},
        {"type": "object", "$ref": "http://127.0.0.1:9/schema.json"},
        {"type": "object", "properties": {"city": {"pattern": "(a+)+$"}}},
        {"type": "object", "patternProperties": {"(a+)+$": {}}, "additionalProperties": False},
        {"type": "object", "properties": 4},
        {"type": "nonsense"},
        {"properties": {"city": {"type": "object", "required": "city"}}},
        [],
        {"type": "object", "description": "x" * 200_000},
    ],
)
def test_recorded_schema_is_bounded_and_harmless(schema: object) -> None:
    began = time.process_time()
    hostile = json.dumps({"city": "a" * 40 + "!", "a" * 40 + "!": 1})
    assert not detect([asked(hostile, schema=schema)])
    assert time.process_time() - began < 5


def test_schema_mismatch_is_reported_with_its_path() -> None:
    assert mismatch({"city": "x", "days": "2"}, WEATHER) == "\"days: '2' is not of type 'integer'\""
    assert mismatch({"city": "x"}, WEATHER) is None


@pytest.mark.parametrize(
    ("history", "open_calls"),
    [
        ([calls(("f", "{}")), result("1")], 0),
        ([calls(("f", "{}"))], 1),
        ([calls(("f", "{}"), ("g", "{}")), result("1", "call-1")], 1),
        ([calls(("f", "{}"), ("g", "{}"), ids=["", ""]), result("1", ""), result("2", "")], 0),
        ([calls(("f", "{}"), ("g", "{}"), ids=["x", "x"]), result("1", "x")], 1),
        ([calls(("f", "{}")), user("never mind"), result("1")], 1),
    ],
)
def test_calls_without_results_are_found(history: list[dict[str, Any]], open_calls: int) -> None:
    found = detect([model([user("?"), *history])])
    assert [each.kind for each in found] == [Kind.UNANSWERED_CALL] * open_calls
