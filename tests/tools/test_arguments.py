import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.samples import EchoArguments, NeedyArguments, Piece
from treadle.events.types import ErrorKind, ToolFailure
from treadle.tools.arguments import parse_arguments
from treadle.tools.contract import ToolError


def echo(raw: str) -> EchoArguments:
    return parse_arguments("echo", EchoArguments, raw)


def failure(raw: str, model: Any = EchoArguments) -> ToolFailure:
    with pytest.raises(ToolError) as caught:
        parse_arguments("echo", model, raw)
    return caught.value.failure


@pytest.mark.parametrize("raw", ["", " \n\t", "{}", "null", '""', '"{}"', '"null"', '"\\"\\""'])
def test_no_arguments_are_an_empty_object(raw: str) -> None:
    assert echo(raw) == EchoArguments()


@pytest.mark.parametrize("raw", ["", "null", "{}"])
def test_a_missing_required_argument_is_an_error(raw: str) -> None:
    error = failure(raw, NeedyArguments)
    assert (error.kind, error.field) == (ErrorKind.VALIDATION, "token_budget")
    assert error.message == "echo needs the argument `token_budget`."
    assert error.expected == "an integer of at least 1"
    assert error.received == "nothing"
    assert error.hint == "How many tokens."


def test_arguments_encoded_several_times_are_decoded() -> None:
    raw = '{"text": "a"}'
    for _ in range(3):
        assert echo(raw).text == "a"
        raw = json.dumps(raw)


def test_a_list_or_object_encoded_as_text_is_decoded_at_any_depth() -> None:
    piece = json.dumps({"file": "a.py", "lines": json.dumps([1, 2])})
    parsed = echo(json.dumps({"pieces": json.dumps([piece]), "options": json.dumps({"a": 1})}))
    assert parsed.pieces[0].file == "a.py"
    assert parsed.pieces[0].lines == (1, 2)
    assert parsed.options == {"a": 1}


@pytest.mark.parametrize("text", ['["a"]', '{"a": 1}', '"a"', "null", "1"])
def test_a_text_field_that_looks_like_json_stays_as_it_is(text: str) -> None:
    assert echo(json.dumps({"text": text})).text == text
    wrapped = json.dumps(json.dumps({"text": text, "pieces": json.dumps([{"file": text}])}))
    assert echo(wrapped).text == text
    assert echo(wrapped).pieces[0].file == text


def test_null_for_an_optional_argument_is_its_default() -> None:
    raw = '{"text": null, "count": null, "limit": null, "pieces": [{"file": "a", "lines": null}]}'
    parsed = echo(raw)
    assert parsed == EchoArguments(pieces=(Piece(file="a"),))


@given(st.text(alphabet=st.characters(codec="utf-8")), st.integers(0, 3))
def test_text_survives_any_number_of_encodings(text: str, times: int) -> None:
    if text == "rude":
        return
    raw = json.dumps({"text": text})
    for _ in range(times):
        raw = json.dumps(raw)
    assert echo(raw).text == text


@pytest.mark.parametrize(
    ("raw", "hint"),
    [
        ('{"text": "half', "incomplete"),
        ('{"text": "a"', "incomplete"),
        ("{'text': 'a'}", "double quotes"),
        ("please", "double quotes"),
        ("{} {}", "double quotes"),
        ("[" * 100_000, "double quotes"),
        ('{"count": ' + "9" * 5000 + "}", "double quotes"),
    ],
)
def test_invalid_json_is_a_parsing_error(raw: str, hint: str) -> None:
    error = failure(raw)
    assert error.kind is ErrorKind.PARSING
    assert error.expected == "a JSON object"
    assert hint in (error.hint or "")
    assert len(error.received or "") <= 101


@pytest.mark.parametrize("raw", ["[]", "1", "true", '"hello"', '[{"text": "a"}]', '"[1]"'])
def test_json_other_than_an_object_is_a_validation_error(raw: str) -> None:
    error = failure(raw)
    assert (error.kind, error.expected) == (ErrorKind.VALIDATION, "a JSON object")
    assert "`text` (optional)" in (error.hint or "")


@pytest.mark.parametrize(
    ("arguments", "field", "expected", "received"),
    [
        ({"count": "many"}, "count", "an integer from 1 to 5", '"many"'),
        ({"count": 9}, "count", "an integer from 1 to 5", "9"),
        ({"count": 1.5}, "count", "an integer from 1 to 5", "1.5"),
        ({"limit": 0}, "limit", "an integer greater than 0", "0"),
        ({"text": 5}, "text", "a string", "5"),
        ({"pieces": [{"file": None}]}, "pieces.0.file", "a string", "null"),
        ({"pieces": [None]}, "pieces.0", "an object", "null"),
        ({"mode": "soft"}, "mode", "one of plain, loud", '"soft"'),
        ({"pieces": [{"file": 1}]}, "pieces.0.file", "a string", "1"),
        ({"pieces": "no list"}, "pieces", "a list whose elements are each an object", '"no list"'),
        ({"pieces": [{}]}, "pieces.0.file", "a string", "nothing"),
        ({"options": {"a": "x"}}, "options.a", "an integer", '"x"'),
    ],
)
def test_an_error_describes_the_allowed_values_in_words(
    arguments: dict[str, object], field: str, expected: str, received: str
) -> None:
    error = failure(json.dumps(arguments))
    assert error.kind is ErrorKind.VALIDATION
    assert (error.field, error.expected, error.received) == (field, expected, received)
    assert field in error.message


def test_an_error_of_a_validator_keeps_its_words() -> None:
    error = failure('{"text": "rude"}')
    assert error.message == "rude words are not echoed."
    assert (error.field, error.expected) == ("text", "a string")


@pytest.mark.parametrize(
    ("name", "nearest"), [("txt", "text"), ("Count", "count"), ("piece", "pieces")]
)
def test_an_unknown_argument_suggests_the_nearest_name(name: str, nearest: str) -> None:
    error = failure(json.dumps({name: 1}))
    assert error.message == f"echo has no argument `{name}`."
    assert error.field == name
    assert f"Did you mean `{nearest}`?" in (error.hint or "")


def test_a_misspelt_required_argument_is_reported_first_and_the_rest_counted() -> None:
    error = failure('{"tokenBudget": 100, "bogus": 1}', NeedyArguments)
    assert error.message == "echo has no argument `tokenBudget` (2 more problems)."
    assert error.hint == (
        "Did you mean `token_budget`? The arguments are `token_budget`, `hint` (optional)."
    )


def test_an_unknown_argument_inside_an_element_is_reported_with_its_path() -> None:
    error = failure('{"pieces": [{"file": "a", "line": 3}]}')
    assert error.message == "echo has no argument `line` in `pieces.0`."
    assert "Did you mean `lines`?" in (error.hint or "")


def test_a_long_value_is_cut() -> None:
    error = failure(json.dumps({"count": "x" * 10_000}))
    assert len(error.message) < 250


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_any_json_is_parsed_or_refused_with_an_explanation(value: object) -> None:
    for raw in (json.dumps(value), json.dumps({"pieces": value, "count": value})):
        try:
            error = None
            echo(raw)
        except ToolError as raised:
            error = raised.failure
        assert error is None or error.kind in {ErrorKind.VALIDATION, ErrorKind.PARSING}
        assert error is None or error.message.endswith(".")


@pytest.mark.parametrize(
    "raw",
    ['{"text": "a\nb\tc"}', '{"pieces": "[{\\"file\\": \\"a\nb\tc\\"}]"}'],
    ids=["text", "twice"],
)
def test_unescaped_line_breaks_and_tabs_in_strings_are_accepted(raw: str) -> None:
    """earendil-works/pi#3637, jundot/omlx#1672: models copy tabs of a file into the JSON."""
    read = echo(raw)
    assert "a\nb\tc" in {read.text, *(piece.file for piece in read.pieces)}
