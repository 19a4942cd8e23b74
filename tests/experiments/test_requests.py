"""Requests: merge patches (RFC 7396), errors by field, variables."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.experiments.requests import body_of, patched, problems, unused_variables

REQUEST: dict[str, Any] = {
    "model": "fake/m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is {{ topic }}, in {{lines}} lines? {{other}}"},
    ],
    "parameters": {"temperature": 0.5},
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [  # RFC 7396, appendix A, below one field of a request
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_follows_rfc_7396(target: object, patch: object, result: object) -> None:
    assert patched({"parameters": target}, {"parameters": patch})["parameters"] == result


@given(st.dictionaries(st.text(max_size=4), JSON))
def test_patch_is_idempotent(patch: dict[str, Any]) -> None:
    once = patched(REQUEST, {"parameters": patch})
    assert patched(once, {"parameters": patch}) == once


@given(JSON)
def test_any_patch_results_in_a_request_or_errors_with_fields(patch: Any) -> None:
    document = patched(REQUEST, {"messages": patch, "tools": patch, "headers": patch})
    for problem in problems(document):
        assert problem.field
        assert problem.message


def test_system_message_is_changed_or_inserted_first() -> None:
    changed = patched(REQUEST, {"system": "Be long."})
    assert changed["messages"] == [
        {"role": "system", "content": "Be long."},
        REQUEST["messages"][1],
    ]
    without = {**REQUEST, "messages": REQUEST["messages"][1:]}
    assert patched(without, {"system": "Be long."}) == {**changed}


@pytest.mark.parametrize(
    ("patch", "field", "message"),
    [
        ({"mesages": []}, "mesages", "There is no such field. Did you mean messages?"),
        ({"messages": None}, "messages", "It is missing."),
        ({"messages": []}, "messages", "List should have at least 1 item"),
        ({"messages": [{"role": "usr"}]}, "messages[0].role", "Input should be 'system'"),
        (
            {"messages": [{"role": "user", "content": 3}]},
            "messages[0].content",
            "It should be a text, a list of parts, or null.",
        ),
        (
            {"messages": [{"role": "tool", "content": "x"}]},
            "messages[0]",
            "A message of the role tool needs the tool_call_id",
        ),
        ({"model": " "}, "model", "Name a model, such as PROVIDER/MODEL."),
        ({"parameters": {"temperature": 3}}, "parameters.temperature", "Input should be less"),
        ({"parameters": {"n": 2}}, "parameters.n", "Input should be less"),
        (
            {"parameters": {"messages": []}},
            "parameters",
            "Messages is set separately from the parameters",
        ),
        (
            {"headers": {"Authorization": "Bearer x"}},
            "headers.Authorization",
            "An experiment cannot set this header.",
        ),
        ({"headers": {"x-a": "a\nb"}}, "headers.x-a", "A header contains only printable ASCII."),
        ({"tools": [3]}, "tools[0]", "It should be an object."),
        ({"tools": [{"function": {"name": "a b"}}]}, "tools[0].function.name", "String should"),
        (
            {"tools": [{"function": {"name": "a"}}, {"function": {"name": "a"}}]},
            "tools",
            "Two tools are named a.",
        ),
        ({"variables": {"topic": 3}}, "variables.topic", "It should be a text."),
    ],
)
def test_errors_name_their_field(patch: dict[str, Any], field: str, message: str) -> None:
    found = problems(patched(REQUEST, patch))
    assert [each.field for each in found] == [field]
    assert found[0].message.startswith(message)


def test_recorded_messages_are_valid() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{no json"}}]
    odd = [
        {"role": "user", "content": None},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "content": "", "reasoning_content": "hm"},
    ]
    document = patched(REQUEST, {"messages": odd})
    assert problems(document) == ()
    assert body_of(document)["messages"] == odd


def test_variables_are_replaced_only_in_texts_of_messages() -> None:
    document = patched(REQUEST, {"variables": {"topic": "a {{lines}}", "lines": "2"}})
    body = body_of(document, "other/x")
    assert body == {
        "model": "other/x",
        "messages": [
            {"role": "system", "content": "Be brief."},
            # A value is not expanded again, and a placeholder without a value stays.
            {"role": "user", "content": "What is a {{lines}}, in 2 lines? {{other}}"},
        ],
        "temperature": 0.5,
    }


def test_variable_that_no_call_uses_is_an_error() -> None:
    used = patched(REQUEST, {"variables": {"topic": "x", "tpoic": "y"}})
    assert [each.field for each in unused_variables([used])] == ["variables.tpoic"]
    other = patched(used, {"messages": [{"role": "user", "content": "{{tpoic}}"}]})
    assert unused_variables([used, other]) == ()
