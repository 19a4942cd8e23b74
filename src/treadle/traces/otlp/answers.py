"""The answer to an export: what was not taken, and why (`partial_success` of OTLP)."""

import json

from treadle.traces.otlp.building import Decoded


def respond_protobuf(decoded: Decoded) -> bytes:
    """An ExportTraceServiceResponse; empty when everything was taken."""
    if not decoded.rejected:
        return b""
    message = _message(decoded).encode(errors="replace")
    partial = b"\x08" + _varint(decoded.rejected) + b"\x12" + _varint(len(message)) + message
    return b"\x0a" + _varint(len(partial)) + partial


def respond_json(decoded: Decoded) -> bytes:
    """The same as OTLP/JSON: `rejectedSpans` is an int64, so a string."""
    if not decoded.rejected:
        return b"{}"
    partial = {"rejectedSpans": str(decoded.rejected), "errorMessage": _message(decoded)}
    return json.dumps({"partialSuccess": partial}).encode()


def _message(decoded: Decoded) -> str:
    left_out = decoded.rejected - len(decoded.reasons)
    more = [f"and {left_out} more"] if left_out else []
    return "; ".join([*decoded.reasons, *more])


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
