"""Paths address every text of a span."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from treadle.diagnosis.evidence import Evidence, SpanReference, holds
from treadle.diagnosis.field_paths import as_text, step, text_at
from treadle.spans.span import JsonValue, Span, SpanEvent, SpanKind

NAMES = st.one_of(
    st.text(max_size=6), st.sampled_from(["attributes", "resource", "a.b", "a[0]", '"', "\\", "0"])
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)


def span(**fields: object) -> Span:
    values: dict[str, object] = {
        "trace_id": "t",
        "span_id": "s",
        "kind": SpanKind.TOOL,
        "operation": "execute_tool",
        "name": "x",
        "start_us": 1,
    }
    return Span(**cast("dict[str, str]", values | fields))  # type: ignore[arg-type]  # by name


def places(path: str, value: object) -> list[tuple[str, object]]:
    found = [(path, value)]
    if isinstance(value, Mapping):
        for name, inner in value.items():
            found += places(step(path, name), inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, inner in enumerate(value):
            found += places(step(path, number), inner)
    return found


@given(VALUES, st.dictionaries(NAMES, VALUES, max_size=4))
def test_every_place_of_a_span_has_a_path_that_reads_it(
    content: JsonValue, attributes: dict[str, JsonValue]
) -> None:
    event = SpanEvent(1, "exception", attributes)
    one = span(output=json.dumps(content), attributes=attributes, events=(event,))
    assert text_at(one, "output") == one.output
    for name, value in (("attributes", attributes), ("events", [{"attributes": attributes}])):
        for path, inner in places(name, value)[1:]:
            if path != "events[0]":
                assert text_at(one, path) == as_text(inner), path
    for path, inner in places("output", content)[1:]:
        assert text_at(one, path) == as_text(inner), path


def test_paths_are_readable() -> None:
    one = span(
        attributes={"http.response.status_code": 404, "a": {"b.c": [True]}},
        output='[{"content": "no", "tool_calls": [{"function": {"name": "f"}}]}]',
        events=(SpanEvent(1, "exception", {"exception.message": "gone"}),),
    )
    assert text_at(one, "attributes.http.response.status_code") == "404"
    assert text_at(one, 'attributes.a["b.c"][0]') == "true"
    assert text_at(one, "output[0].content") == "no"
    assert text_at(one, "output[0].tool_calls[0].function.name") == "f"
    assert text_at(one, "events[0].attributes.exception.message") == "gone"
    assert text_at(one, "name") == "x"


@given(st.text(max_size=30))
def test_invalid_path_is_none(path: str) -> None:
    found = text_at(span(output="[[[[1]]]]"), path)
    assert found is None or isinstance(found, str)


def test_path_into_a_text_that_is_not_json_is_none() -> None:
    deep = "[" * 100_000
    assert text_at(span(output=deep), "output[0]") is None
    assert text_at(span(output="plain"), "output.error") is None
    assert text_at(span(output="{}"), "output.error") is None
    assert text_at(span(), "output") is None
    assert text_at(span(), "__class__.__name__") is None


def test_quote_holds_only_at_its_position() -> None:
    one = span(output='{"error": "disk is full"}')
    good = Evidence(SpanReference("t", "s"), "output.error", 0, 4, "disk")
    assert holds(good, one)
    for evidence in (
        Evidence(SpanReference("t", "other"), "output.error", 0, 4, "disk"),
        Evidence(SpanReference("t", "s"), "output.error", 1, 5, "disk"),
        Evidence(SpanReference("t", "s"), "output.reason", 0, 4, "disk"),
        Evidence(SpanReference("t", "s"), "output.error", -12, -8, "disk"),
        Evidence(SpanReference("t", "s"), "output.error", 0, 400, "disk is full"),
    ):
        assert not holds(evidence, one)
