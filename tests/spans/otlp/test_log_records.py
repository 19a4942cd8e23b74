"""Exports of log records in protobuf and in JSON yield the messages of their spans."""

import base64
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.spans.otlp.exports import SPAN, START, TRACE, Object, any_value, attributes
from treadle.spans.otlp import OtlpError, decode_log_json, decode_log_protobuf
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.spans.span_batch import SpanBatch
from treadle.spans.vocabularies.mapper import map_spans

DETAILS = "gen_ai.client.inference.operation.details"
ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
ANSWERED = [{"role": "assistant", "parts": [{"type": "text", "content": "Ho"}]}]


def record(event: str, body: Any = None, at: int = 0, **fields: Any) -> Object:
    """A log record; `attributes` is a plain mapping."""
    given: Mapping[str, Any] = fields.pop("attributes", {})
    return {
        "observedTimeUnixNano": str(START + at * 1_000),
        "eventName": event,
        "traceId": TRACE,
        "spanId": SPAN,
        "attributes": attributes({"gen_ai.system": "openai", **given}),
        **({} if body is None else {"body": any_value(body)}),
        **fields,
    }


def request(*records: Object) -> Object:
    resource = {"attributes": attributes({"service.name": "tests"})}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": list(records)}]}]}


def protobuf(sent: Object) -> bytes:
    changed = json.loads(json.dumps(sent))
    for resource in changed["resourceLogs"]:
        for scope in resource["scopeLogs"]:
            for each in scope["logRecords"]:
                for name in ("traceId", "spanId"):
                    if name in each:
                        each[name] = base64.b64encode(bytes.fromhex(each[name])).decode()
    message = ExportLogsServiceRequest()
    ParseDict(changed, message)
    return bytes(message.SerializeToString())


ENCODINGS: dict[str, Callable[[Object], SpanBatch[Span]]] = {
    "protobuf": lambda sent: map_spans(decode_log_protobuf(protobuf(sent))),
    "json": lambda sent: map_spans(decode_log_json(json.dumps(sent).encode())),
}
each_encoding = pytest.mark.parametrize("decode", ENCODINGS.values(), ids=ENCODINGS)
Decode = Callable[[Object], SpanBatch[Span]]


def said(text: str | None) -> list[tuple[Any, Any]]:
    assert text is not None
    return [(each["role"], each["content"]) for each in json.loads(text)]


@each_encoding
def test_earlier_events_become_one_span_in_order_of_time(decode: Decode) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    batch = decode(
        request(
            record("gen_ai.choice", {"index": 0, "message": {"content": "Done."}}, at=9),
            record("gen_ai.user.message", {"content": "Run f."}, at=2),
            record("gen_ai.system.message", {"content": "Be brief."}, at=1),
            record("gen_ai.assistant.message", {"tool_calls": [call]}, at=3),
            record("gen_ai.tool.message", {"content": "11", "id": "c1"}, at=4),
        )
    )
    (made,) = batch.spans
    assert batch.problems() == ""
    assert said(made.input) == [
        ("system", "Be brief."),
        ("user", "Run f."),
        ("assistant", None),
        ("tool", "11"),
    ]
    assert json.loads(made.input or "")[2]["tool_calls"] == [call]
    assert json.loads(made.input or "")[3]["tool_call_id"] == "c1"
    assert said(made.output) == [("assistant", "Done.")]
    assert (made.trace_id, made.span_id) == (TRACE, SPAN)
    assert (made.kind, made.status) == (SpanKind.MODEL, SpanStatus.UNFINISHED)
    assert made.start_us == START // 1_000 + 1


@each_encoding
def test_current_event_has_messages_model_and_usage(decode: Decode) -> None:
    given = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.input.messages": ASKED,
        "gen_ai.output.messages": ANSWERED,
        "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
    }
    (made,) = decode(request(record(DETAILS, attributes=given))).spans
    assert said(made.input) == [("system", "Be brief."), ("user", "Hi")]
    assert said(made.output) == [("assistant", "Ho")]
    assert (made.name, made.model) == ("chat gpt-4o-mini", "gpt-4o-mini")
    assert (made.tokens.input, made.tokens.output) == (5, 2)


@each_encoding
def test_name_of_an_event_may_be_an_attribute(decode: Decode) -> None:
    sent = record("", "Hi", attributes={"event.name": "gen_ai.user.message"})
    (made,) = decode(request(sent)).spans
    assert said(made.input) == [("user", "Hi")]


@each_encoding
def test_other_records_and_records_without_ids_are_rejected(decode: Decode) -> None:
    batch = decode(
        request(
            record("app.started", "ready"),
            record("gen_ai.user.message", {"content": "a"}, spanId=""),
            record("gen_ai.user.message", {"content": "b"}),
        )
    )
    assert batch.rejected == 2
    assert "only the gen_ai events that contain messages" in batch.reasons[0]
    assert "span id is empty" in batch.reasons[1]
    assert [said(each.input) for each in batch.spans] == [[("user", "b")]]


def test_malformed_field_affects_only_that_field() -> None:
    sent = record("gen_ai.user.message", {"content": "a"}, observedTimeUnixNano="soon")
    sent["attributes"].append({"key": "bad", "value": {"intValue": "x"}})
    batch = ENCODINGS["json"](request(sent))
    assert [said(each.input) for each in batch.spans] == [[("user", "a")]]
    assert (batch.rejected, batch.damaged) == (0, 2)
    assert "its time is not between" in batch.problems()


@pytest.mark.parametrize(
    "body", [b"[1]", b'{"resourceSpans": [{"x": 1}]}', b'{"resourceLogs": 5}', b"{", b'"a"']
)
def test_json_of_another_kind_is_refused(body: bytes) -> None:
    with pytest.raises(OtlpError, match="log"):
        decode_log_json(body)


@pytest.mark.parametrize("body", [b"\xff\xff", b"\x0a\x05\x12", b"hello", b"\x12\x00"])
def test_protobuf_of_another_kind_is_refused(body: bytes) -> None:
    with pytest.raises(OtlpError):
        decode_log_protobuf(body)


def test_empty_body_is_accepted() -> None:
    assert decode_log_json(b" ") == decode_log_protobuf(b"") == SpanBatch(())


@pytest.mark.parametrize("decoder", [decode_log_json, decode_log_protobuf])
def test_damaged_bodies_raise_no_other_error(
    decoder: Callable[[bytes], SpanBatch[Any]],
) -> None:
    sent = request(
        record("gen_ai.user.message", {"content": "Hi", "deep": {"a": [1, None, 0.5]}}),
        record(DETAILS, attributes={"gen_ai.input.messages": ASKED}),
    )
    whole = json.dumps(sent).encode() if decoder is decode_log_json else protobuf(sent)
    chosen = random.Random(7)
    accepted = 0
    for _ in range(1_500):
        body = bytearray(whole)
        for _ in range(chosen.randint(1, 4)):
            place = chosen.randrange(len(body))
            match chosen.randrange(3):
                case 0:
                    body[place] = chosen.randrange(256)
                case 1:
                    del body[place : place + chosen.randint(1, 9)]
                case _:
                    body[place:place] = body[: chosen.randint(1, 9)]
        try:
            accepted += len(map_spans(decoder(bytes(body))).spans)
        except OtlpError:
            continue
    assert accepted > 100
