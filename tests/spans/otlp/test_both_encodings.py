"""Exports in protobuf and in JSON yield the same spans."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spans.otlp.exports import (
    ENCODINGS,
    PARENT,
    SPAN,
    START,
    TRACE,
    Object,
    any_value,
    only,
    request,
    span,
)
from treadle.spans.span import Span, SpanEvent, SpanLink, SpanStatus
from treadle.spans.span_batch import SpanBatch

pytestmark = pytest.mark.parametrize("encoding", ENCODINGS)


def decoded(encoding: str, *spans: Object, **more: Object) -> SpanBatch[Span]:
    return ENCODINGS[encoding](request(*spans, **more))


def test_all_fields_of_a_span_are_kept(encoding: str) -> None:
    made = only(
        decoded(
            encoding,
            span(
                parentSpanId=PARENT,
                attributes={"a": "b", "n": 7},
                events=[
                    {"timeUnixNano": str(START + 5_000), "name": "e", "attributes": []},
                ],
                links=[{"traceId": TRACE, "spanId": PARENT, "droppedAttributesCount": 2}],
                droppedAttributesCount=3,
                status={"code": 1},
            ),
            resource={"service.name": "shop"},
            scope={"name": "lib", "version": "1.2"},
        )
    )
    assert (made.trace_id, made.span_id, made.parent_id) == (TRACE, SPAN, PARENT)
    assert (made.name, made.status) == ("work", SpanStatus.OK)
    assert (made.start_ns, made.end_ns) == (START, START + 1_000_000)
    assert (made.start_us, made.duration_us) == (START // 1_000, 1_000)
    assert made.attributes == {"a": "b", "n": 7, "otel.dropped_attributes_count": 3}
    assert made.resource == {
        "service.name": "shop",
        "otel.scope.name": "lib",
        "otel.scope.version": "1.2",
    }
    assert made.events == (SpanEvent(START // 1_000 + 5, "e", {}),)
    assert made.links == (SpanLink(TRACE, PARENT, {"otel.dropped_attributes_count": 2}),)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), VALUES, max_size=6))
def test_attributes_are_kept_unchanged(encoding: str, values: dict[str, object]) -> None:
    assert only(decoded(encoding, span(attributes=values))).attributes == values


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"\x00\xff\xfe", {"base64": "AP/+"}),
        (b"", {"base64": ""}),
        ([b"a", "b"], [{"base64": "YQ=="}, "b"]),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_value_without_a_json_form_is_converted(encoding: str, sent: object, kept: object) -> None:
    value = any_value(sent)
    if encoding == "json" and isinstance(sent, float):
        value = {"doubleValue": str(kept)}
    attribute = {"key": "k", "value": value}
    if encoding == "protobuf" and isinstance(sent, float):
        attribute = {"key": "k", "value": {"doubleValue": str(kept)}}
    assert only(decoded(encoding, span(attributes=[attribute]))).attributes == {"k": kept}


@pytest.mark.parametrize("text", ["a\x00b", "👩‍👩‍👧", "\u202eright to left", "\\u00fc", "", " "])
def test_any_text_is_kept_unchanged(encoding: str, text: str) -> None:
    made = only(decoded(encoding, span(name=text, attributes={text: text, "input.value": text})))
    assert made.attributes == {text: text, "input.value": text}
    assert (made.name, made.input) == (text, text)


def test_spans_of_several_resources_and_scopes_are_in_order(encoding: str) -> None:
    first = request(span(spanId="0" * 15 + "1"), resource={"service.name": "a"})
    second = request(span(spanId="0" * 15 + "2"), resource={"service.name": "b"})
    both = {"resourceSpans": first["resourceSpans"] + second["resourceSpans"]}
    spans = ENCODINGS[encoding](both).spans
    assert [each.resource["service.name"] for each in spans] == ["a", "b"]


def test_empty_export_is_accepted(encoding: str) -> None:
    assert ENCODINGS[encoding]({}) == SpanBatch(())
    assert ENCODINGS[encoding]({"resourceSpans": []}) == SpanBatch(())
    assert decoded(encoding) == SpanBatch(())


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"spanId": ""}, "span id is empty"),
        ({"spanId": "00" * 8}, "span id is all zero"),
        ({"spanId": "ab"}, "span id has 2 hex digits instead of 16"),
        ({"traceId": ""}, "trace id is empty"),
        ({"traceId": "00" * 16}, "trace id is all zero"),
        ({"traceId": "ab" * 8}, "trace id has 16 hex digits instead of 32"),
    ],
)
def test_only_the_faulty_span_is_rejected_and_named(
    encoding: str, broken: dict[str, object], why: str
) -> None:
    good = [span(spanId=f"{number:016x}", name=f"good {number}") for number in (1, 2)]
    bad = span(**{"name": "the bad one", **broken})
    found = decoded(encoding, good[0], bad, good[1])
    assert [each.name for each in found.spans] == ["good 1", "good 2"]
    assert found.rejected == 1
    assert "the bad one" in found.reasons[0]
    assert why in found.reasons[0]


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"startTimeUnixNano": str(2**63)}, "its start is not between"),
        ({"startTimeUnixNano": str(2**64 - 1)}, "its start is not between"),
        ({"endTimeUnixNano": str(2**63)}, "its end is not between"),
        ({"events": [{"name": "e", "timeUnixNano": str(2**63)}]}, 'event "e" is not between'),
    ],
)
def test_impossible_time_costs_only_that_field(
    encoding: str, broken: dict[str, object], why: str
) -> None:
    sent = span(attributes={"k": "kept"}, **broken)
    found = decoded(encoding, sent, span(spanId="00" * 7 + "01", name="good"))
    assert (len(found.spans), found.rejected, found.damaged) == (2, 0, 1)
    assert why in found.warnings[0]
    bad = found.spans[0]
    assert bad.attributes["k"] == "kept"
    assert why in str(bad.attributes["otel.unreadable"])
    assert bad.start_us > 0
    assert bad.events == ()


def test_all_rejections_are_counted_and_the_first_are_named(encoding: str) -> None:
    found = decoded(encoding, *(span(spanId="", name=f"n{each}") for each in range(100)), span())
    assert (found.rejected, len(found.spans)) == (100, 1)
    assert len(found.reasons) == 20
    assert '"n0"' in found.reasons[0]


def test_long_name_is_cut_in_the_reason(encoding: str) -> None:
    found = decoded(encoding, span(spanId="", name="x" * 10_000))
    assert len(found.reasons[0]) < 300


@pytest.mark.parametrize(
    ("times", "duration", "status"),
    [
        ({"endTimeUnixNano": "0"}, None, SpanStatus.UNFINISHED),
        ({"endTimeUnixNano": str(START - 5_000)}, None, SpanStatus.OK),
        ({"startTimeUnixNano": "0", "endTimeUnixNano": "7000"}, 7, SpanStatus.OK),
        (
            {"startTimeUnixNano": str(2**63 - 2), "endTimeUnixNano": str(2**63 - 1)},
            0,
            SpanStatus.OK,
        ),
    ],
)
def test_unusual_times_are_kept(
    encoding: str, times: dict[str, object], duration: int | None, status: SpanStatus
) -> None:
    made = only(decoded(encoding, span(**times)))
    assert (made.duration_us, made.status) == (duration, status)
    assert made.start_ns == int(str(times.get("startTimeUnixNano", START)))
    assert (made.end_ns or 0) == int(str(times.get("endTimeUnixNano", START)))


@pytest.mark.parametrize("parent", ["", "00" * 8])
def test_zero_parent_id_means_no_parent(encoding: str, parent: str) -> None:
    assert only(decoded(encoding, span(parentSpanId=parent))).parent_id is None


def test_span_that_is_its_own_parent_is_accepted(encoding: str) -> None:
    assert only(decoded(encoding, span(parentSpanId=SPAN))).parent_id == SPAN


@pytest.mark.parametrize(
    ("status", "expected", "error"),
    [
        ({}, SpanStatus.OK, None),
        ({"code": 0}, SpanStatus.OK, None),
        ({"code": 1, "message": "no matter"}, SpanStatus.OK, None),
        ({"code": 2, "message": "it broke"}, SpanStatus.ERROR, "it broke"),
        ({"code": 2}, SpanStatus.ERROR, None),
    ],
)
def test_status_follows_from_the_code(
    encoding: str, status: Object, expected: SpanStatus, error: str | None
) -> None:
    made = only(decoded(encoding, span(status=status)))
    assert (made.status, made.error) == (expected, error)


@pytest.mark.parametrize("levels", [1, 8])
def test_nested_value_is_kept(encoding: str, levels: int) -> None:
    value: object = "core"
    for _ in range(levels):
        value = [{"in": value}]
    assert only(decoded(encoding, span(attributes={"deep": value}))).attributes == {"deep": value}


def test_large_attribute_is_kept(encoding: str) -> None:
    text = "0123456789abcdef" * (20 << 16)  # 20 MB
    made = only(decoded(encoding, span(attributes={"k": text})))
    assert made.attributes["k"] == text


def test_decoded_span_can_be_written_as_json(encoding: str) -> None:
    sent = span(attributes={"b": b"\xff", "f": 1.5, "n": None, "l": [1, {"a": b""}]})
    json.dumps(only(decoded(encoding, sent)).to_json(), allow_nan=False)


@pytest.mark.parametrize("values", [("a", "b", "c"), (1, 2)], ids=["texts", "numbers"])
def test_repeated_attribute_with_another_value_is_reported(
    encoding: str, values: tuple[object, ...]
) -> None:
    """open-telemetry/opentelemetry-dotnet#2547: an array as one attribute for each element."""
    sent = [{"key": "list", "value": any_value(each)} for each in values]
    found = decoded(encoding, span(attributes=sent))
    assert found.rejected == 0
    assert "attribute list has two different values" in found.warnings[0]
    assert found.spans[0].attributes["list"] == values[-1]
    same = decoded(encoding, span(attributes=[sent[0], sent[0]]))
    assert same.warnings == ()
