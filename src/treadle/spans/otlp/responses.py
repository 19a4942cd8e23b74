"""The answer to an export: what was not taken, and why (`partial_success` of OTLP).

The protocol allows a message without rejected spans as a warning: some field was left out.
"""

import json

from treadle.spans.otlp.span_collector import SpanBatch


def respond_protobuf(batch: SpanBatch[object]) -> bytes:
    """An ExportTraceServiceResponse; empty when everything was taken."""
    if not (batch.rejected or batch.damaged):
        return b""
    message = _message(batch).encode(errors="replace")
    partial = b"\x12" + _varint(len(message)) + message
    if batch.rejected:
        partial = b"\x08" + _varint(batch.rejected) + partial
    return b"\x0a" + _varint(len(partial)) + partial


def respond_json(batch: SpanBatch[object]) -> bytes:
    """The same as OTLP/JSON: `rejectedSpans` is an int64, so a string."""
    if not (batch.rejected or batch.damaged):
        return b"{}"
    partial = {"rejectedSpans": str(batch.rejected), "errorMessage": _message(batch)}
    return json.dumps({"partialSuccess": partial}).encode()


def _message(batch: SpanBatch[object]) -> str:
    return "; ".join(
        [
            *_with_rest(batch.reasons, batch.rejected),
            *_with_rest(batch.warnings, batch.damaged),
        ]
    )


def _with_rest(named: tuple[str, ...], count: int) -> list[str]:
    rest = count - len(named)
    return [*named, f"and {rest} more"] if rest else list(named)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
