"""Spans as the body of an OTLP/HTTP export: written by hand, since it shares its cores.

The messages are those of opentelemetry/proto/trace/v1/trace.proto, limited to what is sent.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from bench.traces.generator import AttributeValue, SentSpan

_KIND_INTERNAL = b"\x30\x01"
_STATUS_OK = b"\x7a\x02\x18\x01"
_BYTES = 2
"""The wire type of everything with a length."""


class Batch(NamedTuple):
    """The body of a request and how many spans are in it."""

    spans: int
    body: bytes


def export_request(spans: Iterable[SentSpan], service: str = "bench") -> bytes:
    """One ExportTraceServiceRequest with one resource and one scope."""
    resource = _field(1, _field(1, _attribute("service.name", service)))
    scope = _field(1, _field(1, b"bench.traces"))
    scope_spans = scope + b"".join(_field(2, encoded(span)) for span in spans)
    return _field(1, resource + _field(2, scope_spans))


def batches(traces: Iterable[Sequence[SentSpan]], size: int) -> Iterator[Batch]:
    """The spans of all traces, in order, as requests of `size` spans."""
    spans = (span for trace in traces for span in trace)
    while batch := list(islice(spans, size)):
        yield Batch(len(batch), export_request(batch))


def encoded(span: SentSpan) -> bytes:
    """A Span message."""
    parts = [
        b"\x0a\x10", span.trace_id,
        b"\x12\x08", span.span_id,
        b"\x22\x08" + span.parent_id if span.parent_id else b"",
        _field(5, span.name.encode()),
        _KIND_INTERNAL,
        b"\x39", span.start_ns.to_bytes(8, "little"),
        b"\x41", span.end_ns.to_bytes(8, "little"),
    ]  # fmt: skip
    parts += [_field(9, _attribute(key, value)) for key, value in span.attributes.items()]
    if span.error is None:
        parts.append(_STATUS_OK)
    else:
        parts.append(_field(15, _field(2, span.error.encode()) + b"\x18\x02"))
    return b"".join(parts)


def _attribute(key: str, value: AttributeValue) -> bytes:
    return _field(1, key.encode()) + _field(2, _any(value))


def _any(value: AttributeValue) -> bytes:
    if isinstance(value, str):
        return _field(1, value.encode())
    if isinstance(value, int):
        return b"\x18" + _varint(value)
    return _field(5, b"".join(_field(1, _any(item)) for item in value))


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
