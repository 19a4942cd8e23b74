"""Forms and faults that only exports in JSON have."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spans.otlp.exports import SPAN, START, TRACE, as_json, only, read_json, request, span
from treadle.spans.otlp import OtlpError, respond_json
from treadle.spans.span import SpanStatus
from treadle.spans.span_batch import SpanBatch

GOOD = span(spanId="00000000000000aa", name="good")


def attribute(value: object) -> object:
    made = span(attributes=[{"key": "k", "value": value}])
    return only(read_json(as_json(request(made)))).attributes["k"]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"intValue": "9007199254740993"}, 9007199254740993),
        ({"intValue": 9007199254740993}, 9007199254740993),
        ({"intValue": -1}, -1),
        ({"intValue": 3.0}, 3),
        ({"doubleValue": "NaN"}, "NaN"),
        ({"doubleValue": "1.5"}, 1.5),
        ({"doubleValue": 2}, 2.0),
        ({"boolValue": False}, False),
        ({"boolValue": "true"}, True),
        ({"bytesValue": "AP/+"}, {"base64": "AP/+"}),
        ({"stringValue": ""}, ""),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {}}, {}),
        ({}, None),
        (None, None),
        ("plain", "plain"),
        (1.5, 1.5),
    ],
)
def test_every_form_of_a_value_is_read(value: object, kept: object) -> None:
    assert attribute(value) == kept


@pytest.mark.parametrize(
    "attributes",
    [
        {"k": "text", "n": 7},
        [{"key": "k", "stringValue": "text"}, {"key": "n", "int_value": "7"}],
        {"k": {"stringValue": "text"}, "n": {"intValue": "7"}},
    ],
)
def test_attributes_may_be_an_object_and_values_next_to_their_keys(attributes: object) -> None:
    found = read_json(as_json(request({**span(), "attributes": attributes})))
    kept = only(found).attributes
    assert (kept["k"], kept["n"], found.damaged) == ("text", 7, 0)


def test_ids_may_be_in_capitals_and_times_may_be_numbers() -> None:
    sent = span(
        traceId=TRACE.upper(),
        spanId=SPAN.upper(),
        parentSpanId="ABCDEF0123456789",
        startTimeUnixNano=START,
        endTimeUnixNano=START + 1_000,
    )
    made = only(read_json(as_json(request(sent))))
    assert (made.trace_id, made.span_id, made.parent_id) == (TRACE, SPAN, "abcdef0123456789")
    assert (made.start_ns, made.end_ns) == (START, START + 1_000)


@pytest.mark.parametrize("code", [2, "2", "STATUS_CODE_ERROR"])
def test_an_enum_may_be_a_number_or_a_name(code: object) -> None:
    sent = span(status={"code": code}, kind="SPAN_KIND_CLIENT")
    assert only(read_json(as_json(request(sent)))).status is SpanStatus.ERROR


def test_unknown_fields_are_ignored_at_every_level() -> None:
    sent = request(span(future={"a": [1]}, events=[{"name": "e", "new": 1}]), GOOD)
    sent["schemaUrl"] = "x"
    sent["resourceSpans"][0]["newer"] = None
    assert len(read_json(as_json(sent)).spans) == 2


def test_null_counts_as_absent() -> None:
    names = ("attributes", "events", "links", "status", "parentSpanId", "droppedEventsCount")
    made = only(read_json(as_json(request(span(**dict.fromkeys(names))))))
    assert (made.attributes, made.events, made.parent_id) == ({}, (), None)


@pytest.mark.parametrize("body", [b"", b"  \n", b"{}", b'{"resourceSpans": null}'])
def test_empty_body_is_an_empty_export(body: bytes) -> None:
    assert read_json(body) == SpanBatch(())


def test_escapes_are_read_once_and_half_a_pair_is_kept() -> None:
    body = as_json(request(span(attributes={"k": "mark"}))).replace(
        b"mark", b"\\ud83c\\udf26 \\ud83d \\u0000 \\\\u00fc"
    )
    assert only(read_json(body)).attributes["k"] == "🌦 \ud83d \x00 \\u00fc"


@pytest.mark.parametrize(
    "bad",
    [
        {"spanId": 7},
        {"spanId": "not hex digits!!"},
        {"traceId": ["x"]},
        {"traceId": "0af76519-16cd-43dd-8448-eb211c80319c"},
    ],
)
def test_span_without_valid_ids_is_rejected_alone(bad: dict[str, object]) -> None:
    found = read_json(as_json(request(GOOD, span(**bad), GOOD)))
    assert [each.name for each in found.spans] == ["good", "good"]
    assert (found.rejected, len(found.reasons)) == (1, 1)


@pytest.mark.parametrize(
    "bad",
    [
        {"parentSpanId": 7},
        {"name": ["x"]},
        {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": -1},
        {"startTimeUnixNano": float("inf")},
        {"endTimeUnixNano": True},
        {"endTimeUnixNano": float("nan")},
        {"endTimeUnixNano": 1e300},
        {"events": 7},
        {"events": ["x"]},
        {"events": [{"name": 7}]},
        {"events": [{"name": "e", "timeUnixNano": "soon"}]},
        {"links": {"traceId": TRACE}},
        {"links": [None, 7]},
        {"links": [{"traceId": 7, "spanId": SPAN}]},
        {"droppedLinksCount": "many"},
        {"attributes": "text"},
        {"attributes": [7]},
        {"attributes": [{"key": 7}]},
        {"attributes": [{"key": "k", "value": ["bare"]}]},
        {"attributes": [{"key": "k", "value": {"newValue": 7}}]},
        {"attributes": [{"key": "k", "value": {"intValue": "x"}}]},
        {"attributes": [{"key": "k", "value": {"intValue": float("inf")}}]},
        {"attributes": [{"key": "k", "value": {"intValue": 10**30}}]},
        {"attributes": [{"key": "k", "value": {"doubleValue": []}}]},
        {"attributes": [{"key": "k", "value": {"doubleValue": 10**400}}]},
        {"attributes": [{"key": "k", "value": {"boolValue": 7}}]},
        {"attributes": [{"key": "k", "value": {"stringValue": 7}}]},
        {"status": "bad"},
        {"status": {"code": "NO_SUCH"}},
    ],
)
def test_malformed_field_costs_only_that_field(bad: dict[str, object]) -> None:
    given = {"k2": "kept"}
    sent = span(**({"attributes": given} | bad))
    if "attributes" in bad and isinstance(sent["attributes"], list):
        sent["attributes"].append({"key": "k2", "value": {"stringValue": "kept"}})
    found = read_json(as_json(request(GOOD, sent, GOOD)))
    assert (len(found.spans), found.rejected) == (3, 0)
    assert found.damaged == len(found.warnings) == 1
    assert SPAN in found.warnings[0]
    made = found.spans[1]
    assert made.attributes.get("k2") == (None if bad.get("attributes") == "text" else "kept")
    assert "k" not in made.attributes
    assert len(made.attributes["otel.unreadable"]) == 1  # type: ignore[arg-type]  # a list
    assert made.start_us > 0


def test_invalid_utf8_is_replaced() -> None:
    sent = request(GOOD, span(name="bad", attributes={"k": "mark"}), resource={"r": "fine"})
    found = read_json(as_json(sent).replace(b"mark", b"cut \xc3"))
    assert [each.name for each in found.spans] == ["good", "bad"]
    assert found.spans[1].attributes["k"] == "cut \ufffd"
    assert (found.rejected, found.damaged) == (0, 1)
    assert '"bad"' in found.warnings[0]
    assert "not UTF-8" in found.warnings[0]


def test_invalid_utf8_in_a_resource_does_not_reject_spans() -> None:
    body = as_json(request(GOOD, resource={"r": "mark"}, scope={"name": "mark"}))
    found = read_json(body.replace(b"mark", b"cut \xc3!"))
    assert (len(found.spans), found.rejected) == (1, 0)
    assert found.spans[0].resource["r"] == "cut \ufffd!"


@pytest.mark.parametrize("levels", [70, 200, 10_000, 100_000])
def test_value_that_is_nested_too_deeply_costs_only_that_field(levels: int) -> None:
    deep = '{"arrayValue":{"values":[' * levels + '{"intValue":1}' + "]}}" * levels
    body = as_json(request(GOOD, span(name="bad", attributes={"k": "mark"}), GOOD))
    found = read_json(body.replace(b'{"stringValue": "mark"}', deep.encode()))
    assert [each.name for each in found.spans] == ["good", "bad", "good"]
    assert found.rejected == 0
    assert "nested deeper than 64" in found.warnings[0]


def test_number_of_thousands_of_digits_costs_only_that_field() -> None:
    body = as_json(request(GOOD, span(startTimeUnixNano="mark"), GOOD))
    found = read_json(body.replace(b'"mark"', b"9" * 10_000))
    assert (len(found.spans), found.rejected, found.damaged) == (3, 0, 1)


@pytest.mark.parametrize("body", [b"[]", b"7", b"{", b'{"resourceSpans": [', b"\xff", b"[" * 9999])
def test_body_without_an_export_is_refused(body: bytes) -> None:
    with pytest.raises(OtlpError):
        read_json(body)


@pytest.mark.parametrize("odd", [{}, [], [None], [{"scopeSpans": []}], [{"resource": {}}]])
def test_export_without_spans_is_accepted(odd: object) -> None:
    assert read_json(json.dumps({"resourceSpans": odd}).encode()) == SpanBatch(())


@pytest.mark.parametrize(
    "sent",
    [
        {"resourceSpans": 7},
        {"resourceSpans": [7, None, "x"]},
        {"resourceSpans": [{"scopeSpans": 7}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": "x"}]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [[]]}]}]},
        {"resourceSpans": [{"newerSpans": [span()]}]},
        {"resourceMetrics": [{"scopeMetrics": []}]},
        {"future": {"spans": [span()]}},
        [[[[[[[[[[[[span()]]]]]]]]]]]],
        [7],
        "text",
        {"name": "a span without ids"},
    ],
)
def test_body_without_readable_spans_is_refused_with_a_reason(sent: object) -> None:
    with pytest.raises(OtlpError):
        read_json(json.dumps(sent).encode())


def snake(value: object) -> object:
    """The export with field names in snake case."""
    if isinstance(value, list):
        return [snake(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub("([A-Z])", lambda found: f"_{found[0].lower()}", name): snake(each)
        for name, each in value.items()
    }


FULL = request(
    span(
        parentSpanId="ABCDEF0123456789",
        attributes={"t": "x", "n": 7, "d": 0.5, "b": b"\xff", "l": [1, ["a"]], "m": {"in": True}},
        events=[{"name": "e", "timeUnixNano": str(START), "attributes": []}],
        links=[{"traceId": TRACE, "spanId": SPAN}],
        droppedEventsCount=2,
        status={"code": 2, "message": "broken"},
    ),
    GOOD,
    resource={"service.name": "shop"},
    scope={"name": "lib", "version": "1"},
)


def test_snake_case_is_read_like_camel_case() -> None:
    assert read_json(as_json(snake(FULL))) == read_json(as_json(FULL))  # type: ignore[arg-type]
    assert len(read_json(as_json(FULL)).spans) == 2


def test_spellings_may_be_mixed() -> None:
    mixed = request(snake(span(attributes={"k": 7})), GOOD)  # type: ignore[arg-type]
    assert [each.attributes.get("k") for each in read_json(as_json(mixed)).spans] == [7, None]


RESOURCE_SPANS = FULL["resourceSpans"][0]
SCOPE_SPANS = RESOURCE_SPANS["scopeSpans"][0]
SPANS = SCOPE_SPANS["spans"]


@pytest.mark.parametrize(
    ("sent", "count"),
    [
        (RESOURCE_SPANS, 2),
        ([RESOURCE_SPANS], 2),
        ({"resourceSpans": RESOURCE_SPANS}, 2),
        (SCOPE_SPANS, 2),
        ({"scopeSpans": [SCOPE_SPANS]}, 2),
        ([SCOPE_SPANS], 2),
        ({"spans": SPANS}, 2),
        (SPANS, 2),
        (SPANS[0], 1),
        ({"resourceSpans": [SCOPE_SPANS]}, 2),
        ({"resourceSpans": SPANS}, 2),
        ({"resourceSpans": [{"scopeSpans": SPANS}]}, 2),
        ([FULL, {"resourceSpans": []}], 2),
    ],
)
def test_export_without_some_levels_is_read(sent: object, count: int) -> None:
    found = read_json(json.dumps(sent).encode())
    assert found.spans == read_json(json.dumps(sent).encode()).spans
    whole = read_json(as_json(FULL)).spans
    assert [replace(each, resource={}) for each in found.spans] == [
        replace(each, resource={}) for each in whole[:count]
    ]
    assert (found.rejected, found.damaged) == (0, 0)


@pytest.mark.parametrize("between", [b"", b"\n", b"\r\n\r\n", b"\x1e", b" "])
def test_exports_in_a_row_are_all_read(between: bytes) -> None:
    bodies = [as_json(request(span(spanId=f"{each:016x}"))) for each in (1, 2, 3)]
    assert len(read_json(between.join(bodies)).spans) == 3
    with pytest.raises(OtlpError):
        read_json(between.join([*bodies, b'{"resourceSpans": [']))


@pytest.mark.parametrize("name", ["resourceSpans", "scopeSpans", "spans"])
def test_lists_under_a_repeated_name_are_joined(name: str) -> None:
    body = as_json(request(GOOD)).decode()
    at = body.index(f'"{name}"')
    end = body.rindex("]", 0, {"resourceSpans": None, "scopeSpans": -2, "spans": -4}[name]) + 1
    twice = f"{body[:end]}, {body[at:end]}{body[end:]}".encode()
    assert len(read_json(twice).spans) == 2


def test_ids_may_be_base64() -> None:
    sent = span(
        traceId="CvdlGRbNQ92ESOshHIAxnA==",
        spanId="t61rcWkgMzE=",
        parentSpanId="APBnqgupArc",
        links=[{"traceId": "CvdlGRbNQ92ESOshHIAxnA", "spanId": "t61rcWkgMzE="}],
    )
    made = only(read_json(as_json(request(sent))))
    assert (made.trace_id, made.span_id, made.parent_id) == (TRACE, SPAN, "00f067aa0ba902b7")
    assert (made.links[0].trace_id, made.links[0].span_id) == (TRACE, SPAN)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 2), ANYTHING), max_size=6))
def test_stored_and_rejected_spans_add_up(parts: list[tuple[int, object]]) -> None:
    """Valid spans, spans with one arbitrary field, and arbitrary values instead of spans."""
    sent: list[object] = []
    for number, (kind, value) in enumerate(parts, start=1):
        made = span(spanId=f"{number:016x}", name=f"span {number}")
        if kind == 1:
            made[list(made)[number % len(made)]] = value
        sent.append(value if kind == 2 else made)
    expected = sum(each is not None for each in sent)
    try:
        found = read_json(json.dumps(request(*sent)).encode())  # type: ignore[arg-type]
    except OtlpError:
        assert expected
        assert not any(kind == 0 for kind, _ in parts)
        return
    assert len(found.spans) + found.rejected == expected
    assert len(found.reasons) == found.rejected
    assert {f"span {n}" for n, (kind, _) in enumerate(parts, start=1) if kind == 0} <= {
        each.name for each in found.spans
    }


def test_response_names_rejected_spans() -> None:
    assert json.loads(respond_json(SpanBatch(()))) == {}
    answer = json.loads(respond_json(SpanBatch((), 2, ("one", "two"))))
    assert answer == {"partialSuccess": {"rejectedSpans": "2", "errorMessage": "one; two"}}
    answer = json.loads(respond_json(SpanBatch((), 0, (), 3, ("a field",))))
    assert answer == {
        "partialSuccess": {"rejectedSpans": "0", "errorMessage": "a field; and 2 more"}
    }
