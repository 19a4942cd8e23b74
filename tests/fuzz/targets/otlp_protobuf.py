"""Exports of traces in OTLP/protobuf."""

from tests.fuzz.spans import check_whole
from tests.fuzz.targets.otlp_json import REQUESTS
from tests.spans.otlp.exports import protobuf
from treadle.spans.otlp import OtlpError, decode_protobuf, respond_protobuf
from treadle.spans.vocabularies.mapper import map_spans

REFUSALS = (OtlpError,)
SEEDS = tuple(protobuf(sent) for sent in REQUESTS)


def parse(data: bytes) -> None:
    decoded = decode_protobuf(data)
    check_whole(map_spans(decoded).spans)
    respond_protobuf(decoded)
