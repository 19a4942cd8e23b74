"""Exports of traces in OTLP/protobuf."""

from tests.fuzz.targets.otlp_json import REQUESTS
from tests.traces.otlp.exports import protobuf
from treadle.traces.otlp import OtlpError, decode_protobuf, respond_protobuf

REFUSALS = (OtlpError,)
SEEDS = tuple(protobuf(sent) for sent in REQUESTS)


def parse(data: bytes) -> None:
    respond_protobuf(decode_protobuf(data))
