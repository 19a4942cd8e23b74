"""Exports of log records in OTLP/JSON and in OTLP/protobuf."""

import json

from tests.fuzz.spans import check_whole
from tests.spans.otlp import test_log_records as records
from treadle.spans.otlp import LOGS, OtlpError, decode_log_json, decode_log_protobuf, respond_json
from treadle.spans.vocabularies.mapper import map_spans

REFUSALS = (OtlpError,)

_REQUESTS = (
    records.request(),
    records.request(
        records.record("gen_ai.user.message", {"content": "Hi", "deep": [1, None, {"a": 0.5}]}),
        records.record(
            records.DETAILS, attributes={"gen_ai.input.messages": records.ASKED, "bytes": b"\x00"}
        ),
        records.record("", "ready", attributes={"event.name": "app.started"}),
    ),
)
SEEDS = tuple(
    encoded for sent in _REQUESTS for encoded in (json.dumps(sent).encode(), records.protobuf(sent))
)


def parse(data: bytes) -> None:
    refused = 0
    for decode in (decode_log_json, decode_log_protobuf):
        try:
            decoded = decode(data)
        except OtlpError:
            refused += 1
        else:
            check_whole(map_spans(decoded).spans)
            respond_json(decoded, LOGS)
    if refused == 2:
        raise OtlpError("The body is not an export of logs.")
