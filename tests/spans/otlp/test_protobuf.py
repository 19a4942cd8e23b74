"""Faults that only exports in protobuf have, and a comparison with the official parser."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from bench.traces.generator import Generator
from bench.traces.otlp_bytes import export_request
from tests.spans.otlp.exports import only, protobuf, read_json, read_protobuf, request, span
from treadle.spans.otlp import OtlpError, respond_protobuf
from treadle.spans.span_batch import SpanBatch

BAD = b"\xff\xfe cut in the mid\xc3"
"""A placeholder with the length of the name of each span to damage."""
PLACE = "x" * len(BAD)


def broken(sent: dict[str, object]) -> bytes:
    """The request with text that is not UTF-8."""
    body = protobuf(sent)
    assert PLACE.encode() in body
    return body.replace(PLACE.encode(), BAD)


GOOD = span(spanId="00000000000000aa", name="good", attributes={"key": "value"})


@pytest.mark.parametrize(
    "bad",
    [
        {"attributes": {"a": "fine", "b": PLACE}},
        {"attributes": {"list": ["fine", PLACE]}},
        {"attributes": {"map": {"in": {PLACE: 1}}}},
        {"attributes": {PLACE: "fine"}},
        {"events": [{"name": "e", "attributes": [{"key": PLACE, "value": {"intValue": 1}}]}]},
        {"events": [{"name": PLACE}]},
        {"status": {"code": 2, "message": PLACE}},
        {"links": [{"attributes": [{"key": "k", "value": {"stringValue": PLACE}}]}]},
    ],
)
def test_invalid_utf8_is_replaced(bad: dict[str, object]) -> None:
    found = read_protobuf(broken(request(GOOD, span(name="bad", **bad), GOOD)))
    assert [each.name for each in found.spans] == ["good", "bad", "good"]
    assert (found.rejected, found.damaged) == (0, 1)
    assert '"bad"' in found.warnings[0]
    assert "is not UTF-8" in found.warnings[0]
    assert "\ufffd" in json.dumps(found.spans[1].to_json(), ensure_ascii=False)


def test_invalid_utf8_in_a_name_is_replaced() -> None:
    found = read_protobuf(broken(request(GOOD, span(name=PLACE))))
    assert (len(found.spans), found.rejected, found.damaged) == (2, 0, 1)
    assert found.spans[1].name.startswith("\ufffd\ufffd cut in the mid")
    assert "b7ad6b7169203331" in found.warnings[0]


def test_faulty_resource_does_not_reject_spans() -> None:
    body = broken(request(GOOD, GOOD, resource={"host": PLACE, "service.name": "shop"}))
    found = read_protobuf(body)
    assert (len(found.spans), found.rejected) == (2, 0)
    assert found.spans[0].resource["service.name"] == "shop"
    scoped = read_protobuf(broken(request(GOOD, scope={"name": PLACE})))
    assert (len(scoped.spans), scoped.rejected) == (1, 0)


def test_half_a_surrogate_pair_is_kept() -> None:
    text = b"a\xed\xa0\xbdb"  # as exporters write it whose strings are UTF-16
    body = protobuf(request(span(attributes={"k": "x" * len(text)})))
    made = only(read_protobuf(body.replace(b"x" * len(text), text)))
    assert made.attributes == {"k": "a\ud83db"}


@pytest.mark.parametrize("levels", [100, 10_000])
def test_value_that_is_nested_too_deeply_costs_only_that_field(levels: int) -> None:
    value = b"\x0a\x01x"
    for _ in range(levels):
        value = _field(5, _field(1, value))
    attribute = _field(9, _field(1, b"deep") + _field(2, value))
    ids = _field(1, b"\x01" * 16) + _field(2, b"\x02" * 8) + _field(5, b"bad")
    good = _field(1, b"\x01" * 16) + _field(2, b"\x03" * 8) + _field(5, b"good")
    found = read_protobuf(_field(1, _field(2, _field(2, ids + attribute) + _field(2, good))))
    assert [each.name for each in found.spans] == ["bad", "good"]
    assert "nested deeper than 64" in found.warnings[0]


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def test_order_of_fields_and_unknown_fields_do_not_matter() -> None:
    scope_first = _field(2, _field(2, _a_span() + _field(99, b"?")) + _field(1, _field(1, b"lib")))
    body = _field(1, scope_first + _field(1, _field(1, _key("host", "h")))) + _field(77, b"new")
    found = read_protobuf(body + b"\xe5\x03\x00\x00\x00\x00")  # number 60, fixed32
    assert (len(found.spans), found.rejected) == (1, 0)
    assert ["field 77" in found.warnings[0], "field 60" in found.warnings[1]] == [True, True]
    made = found.spans[0]
    assert made.resource == {"host": "h", "otel.scope.name": "lib"}


def test_empty_attribute_is_kept() -> None:
    body = _field(1, _field(2, _field(2, _a_span() + _field(9, b""))))
    assert only(read_protobuf(body)).attributes == {"": None}


def _key(key: str, value: str) -> bytes:
    return _field(1, key.encode()) + _field(2, _field(1, value.encode()))


def _a_span() -> bytes:
    return _field(1, b"\x01" * 16) + _field(2, b"\x02" * 8)


@pytest.mark.parametrize(
    "body",
    [
        b"\x00",
        b"\x00\x00",
        b"\x02\x00",
        b"\x00\x00\x00\x00\x05hello",
        b"\x80\x80\x80\x80\x10\x01",
        b"{}",
        b"hello",
        b"\x0a\xff",
        b"\x0a\x05abc",
        b"\xff" * 40,
        b"\x0a\x80",
    ],
)
def test_body_without_an_export_is_refused(body: bytes) -> None:
    with pytest.raises(OtlpError):
        read_protobuf(body)


def test_body_without_its_outer_levels_is_refused() -> None:
    scope = _field(2, _a_span())
    resource = _field(1, _field(1, _key("host", "h"))) + _field(2, scope)
    assert len(read_protobuf(_field(1, resource)).spans) == 1
    for body in (resource, _field(2, scope), scope, _field(7, _field(1, resource))):
        with pytest.raises(OtlpError):
            read_protobuf(body)


def test_field_0_in_a_span_rejects_it_alone() -> None:
    for bad in (b"\x02\x00", b"\x00\x07"):
        spans = _field(2, _a_span() + bad) + _field(2, _a_span())
        found = read_protobuf(_field(1, _field(2, spans)))
        assert (len(found.spans), found.rejected) == (1, 1)


@pytest.mark.parametrize(
    "bad",
    [
        _field(9, b"\x0a\x09cut"),
        _field(9, _field(1, b"k") + _field(2, b"\x21\x00")),
        _field(9, _field(1, b"k") + _field(2, b"\x00\x00")),
        _field(9, _field(1, b"k") + _field(2, _field(15, b"newer"))),
        _field(11, b"\xff"),
        _field(11, b"\x09" + b"\xff" * 8),
        _field(13, b"\x0a\x09cut"),
        _field(15, b"\x12\x09cut"),
        b"\x39" + b"\xff" * 8,
        b"\x41" + b"\xff" * 8,
    ],
)
def test_malformed_field_costs_only_that_field(bad: bytes) -> None:
    spans = _field(2, _a_span() + bad + _field(9, _key("k2", "kept"))) + _field(2, _a_span())
    found = read_protobuf(_field(1, _field(2, spans)))
    assert (len(found.spans), found.rejected, found.damaged) == (2, 0, 1)
    made = found.spans[0]
    assert made.attributes["k2"] == "kept"
    assert "k" not in made.attributes
    assert len(made.attributes["otel.unreadable"]) == 1  # type: ignore[arg-type]  # a list
    assert (made.events, made.links) == ((), ())


def test_bodies_in_a_row_are_one_export() -> None:
    body = _field(1, _field(2, _field(2, _a_span())))
    assert len(read_protobuf(body * 3).spans) == 3


def test_scopes_of_the_earlier_protocol_are_read() -> None:
    body = _field(1, _field(1000, _field(1, _field(1, b"lib")) + _field(2, _a_span())))
    assert only(read_protobuf(body)).resource == {"otel.scope.name": "lib"}


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(body: bytes) -> None:
    for decode in (read_protobuf, read_json):
        with contextlib.suppress(OtlpError):
            assert isinstance(decode(body), SpanBatch)


SENT = protobuf(
    request(
        span(
            attributes={"a": "text", "n": -1, "l": ["x", 2.5], "m": {"k": b"\x00"}},
            events=[{"name": "e", "timeUnixNano": "5"}],
            status={"code": 2, "message": "m"},
        ),
        GOOD,
    )
)


@given(st.integers(0, len(SENT) - 1), st.binary(max_size=3))
def test_damaged_export_is_refused_or_rejected(place: int, other: bytes) -> None:
    damaged = SENT[:place] + other + SENT[place + len(other) :]
    try:
        found = read_protobuf(damaged)
    except OtlpError:
        return
    assert len(found.spans) + found.rejected <= 4
    assert found.rejected >= len(found.reasons)


def test_decoder_agrees_with_the_official_parser() -> None:
    traces = [each for trace in Generator(5).traces(4, spans=30) for each in trace]
    body = export_request(traces)
    official = ExportTraceServiceRequest.FromString(body)
    theirs = official.resource_spans[0].scope_spans[0].spans
    ours = read_protobuf(body).spans
    assert len(ours) == len(theirs) == 120
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.trace_id, mine.span_id) == (other.trace_id.hex(), other.span_id.hex())
        assert (mine.start_ns, mine.end_ns) == (
            other.start_time_unix_nano,
            other.end_time_unix_nano,
        )
        texts = {each.key: each.value.string_value for each in other.attributes}
        kept = {key: value for key, value in mine.attributes.items() if isinstance(value, str)}
        assert {key: texts[key] for key in kept} == kept
        assert set(mine.attributes) == set(texts)


def test_response_names_rejected_spans() -> None:
    assert respond_protobuf(SpanBatch(())) == b""
    body = respond_protobuf(SpanBatch((), 300, ("span one: why", "span two: \ud800")))
    partial = ExportTraceServiceResponse.FromString(body).partial_success
    assert partial.rejected_spans == 300
    assert partial.error_message == "span one: why; span two: ?; and 298 more"
