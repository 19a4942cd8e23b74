"""What only JSON allows, and what only JSON can do wrong."""

import json

import pytest

from tests.traces.otlp.exports import SPAN, START, TRACE, as_json, only, request, span
from treadle.traces.otlp import Decoded, OtlpError, decode_json, respond_json
from treadle.traces.span import SpanStatus

GOOD = span(spanId="00000000000000aa", name="good")


def attribute(value: object) -> object:
    made = span(attributes=[{"key": "k", "value": value}])
    return only(decode_json(as_json(request(made)))).attributes["k"]


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
        ({"newValue": 7}, None),
    ],
)
def test_every_form_of_a_value_is_read(value: object, kept: object) -> None:
    assert attribute(value) == kept


def test_ids_may_be_in_capitals_and_times_may_be_numbers() -> None:
    sent = span(
        traceId=TRACE.upper(),
        spanId=SPAN.upper(),
        parentSpanId="ABCDEF0123456789",
        startTimeUnixNano=START,
        endTimeUnixNano=START + 1_000,
    )
    made = only(decode_json(as_json(request(sent))))
    assert (made.trace_id, made.span_id, made.parent_id) == (TRACE, SPAN, "abcdef0123456789")
    assert (made.start_ns, made.end_ns) == (START, START + 1_000)


@pytest.mark.parametrize("code", [2, "2", "STATUS_CODE_ERROR"])
def test_an_enum_may_be_a_number_or_a_name(code: object) -> None:
    sent = span(status={"code": code}, kind="SPAN_KIND_CLIENT")
    assert only(decode_json(as_json(request(sent)))).status is SpanStatus.ERROR


def test_unknown_fields_are_ignored_at_every_level() -> None:
    sent = request(span(future={"a": [1]}, events=[{"name": "e", "new": 1}]), GOOD)
    sent["schemaUrl"] = "x"
    sent["resourceSpans"][0]["newer"] = None
    assert len(decode_json(as_json(sent)).spans) == 2


def test_null_is_the_same_as_left_out() -> None:
    names = ("attributes", "events", "links", "status", "parentSpanId", "droppedEventsCount")
    made = only(decode_json(as_json(request(span(**dict.fromkeys(names))))))
    assert (made.attributes, made.events, made.parent_id) == ({}, (), None)


@pytest.mark.parametrize("body", [b"", b"  \n", b"{}", b'{"resourceSpans": null}'])
def test_an_empty_body_is_an_empty_export(body: bytes) -> None:
    assert decode_json(body) == Decoded(())


def test_escapes_are_read_once_and_half_a_pair_is_kept() -> None:
    body = as_json(request(span(attributes={"k": "mark"}))).replace(
        b"mark", b"\\ud83c\\udf26 \\ud83d \\u0000 \\\\u00fc"
    )
    assert only(decode_json(body)).attributes["k"] == "🌦 \ud83d \x00 \\u00fc"


@pytest.mark.parametrize(
    "bad",
    [
        {"spanId": 7},
        {"spanId": "not hex digits!!"},
        {"traceId": "CvdlGRbNQ92ESOshHIAxnA=="},
        {"name": ["x"]},
        {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": -1},
        {"endTimeUnixNano": True},
        {"attributes": "text"},
        {"attributes": [7]},
        {"attributes": [{"key": 7}]},
        {"attributes": [{"key": "k", "value": "bare"}]},
        {"attributes": [{"key": "k", "value": {"intValue": "x"}}]},
        {"attributes": [{"key": "k", "value": {"doubleValue": []}}]},
        {"attributes": [{"key": "k", "value": {"stringValue": 7}}]},
        {"status": "bad"},
        {"status": {"code": "NO_SUCH"}},
    ],
)
def test_only_the_bad_span_is_rejected(bad: dict[str, object]) -> None:
    found = decode_json(as_json(request(GOOD, span(**bad), GOOD)))
    assert [each.name for each in found.spans] == ["good", "good"]
    assert (found.rejected, len(found.reasons)) == (1, 1)


def test_text_that_is_no_utf8_costs_its_span_alone() -> None:
    sent = request(GOOD, span(name="bad", attributes={"k": "mark"}), resource={"r": "fine"})
    found = decode_json(as_json(sent).replace(b"mark", b"cut \xc3"))
    assert [each.name for each in found.spans] == ["good"]
    assert found.rejected == 1
    assert '"bad"' in found.reasons[0]
    assert "no UTF-8" in found.reasons[0]


def test_text_of_the_resource_that_is_no_utf8_costs_no_span() -> None:
    body = as_json(request(GOOD, resource={"r": "mark"}, scope={"name": "mark"}))
    found = decode_json(body.replace(b"mark", b"cut \xc3!"))
    assert (len(found.spans), found.rejected) == (1, 0)
    assert found.spans[0].resource["r"] == "cut \ufffd!"


@pytest.mark.parametrize("levels", [70, 10_000, 100_000])
def test_what_is_nested_too_deeply_costs_its_span_alone(levels: int) -> None:
    deep = '{"arrayValue":{"values":[' * levels + '{"intValue":1}' + "]}}" * levels
    body = as_json(request(GOOD, span(name="bad", attributes={"k": "mark"}), GOOD))
    found = decode_json(body.replace(b'{"stringValue": "mark"}', deep.encode()))
    assert [each.name for each in found.spans] == ["good", "good"]
    assert found.rejected == 1
    assert "nested deeper than 64" in found.reasons[0]


def test_a_number_of_thousands_of_digits_costs_its_span_alone() -> None:
    body = as_json(request(GOOD, span(startTimeUnixNano="mark"), GOOD))
    found = decode_json(body.replace(b'"mark"', b"9" * 10_000))
    assert (len(found.spans), found.rejected) == (2, 1)


@pytest.mark.parametrize("body", [b"[]", b"7", b"{", b'{"resourceSpans": [', b"\xff", b"[" * 9999])
def test_what_is_no_export_is_refused(body: bytes) -> None:
    with pytest.raises(OtlpError):
        decode_json(body)


@pytest.mark.parametrize("odd", [7, "x", {}, [7, None, "x"], [{"scopeSpans": 7}]])
def test_lists_that_are_none_hold_no_spans(odd: object) -> None:
    assert decode_json(json.dumps({"resourceSpans": odd}).encode()) == Decoded(())


def test_the_answer_says_what_was_rejected() -> None:
    assert json.loads(respond_json(Decoded(()))) == {}
    answer = json.loads(respond_json(Decoded((), 2, ("one", "two"))))
    assert answer == {"partialSuccess": {"rejectedSpans": "2", "errorMessage": "one; two"}}
