"""The route that receives spans of OpenTelemetry exporters over OTLP/HTTP.

The responses follow the protocol. They have the encoding of the request, and an error is a
`google.rpc.Status`. The status 429 or 503 makes the exporter send the request again.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from treadle.errors import StoreError, TreadleError
from treadle.server.request_bodies import EncodingError, TooLargeError, unpack
from treadle.server.state import CurrentServer
from treadle.server.uploaded_media import UploadedMedia
from treadle.spans.ingest import Decode, IngestQueue
from treadle.spans.otlp import decode_json, decode_protobuf, respond_json, respond_protobuf
from treadle.spans.span import Span
from treadle.spans.span_batch import SpanBatch
from treadle.spans.span_writer import StoreBusyError

router = APIRouter(tags=["otlp"])

_INVALID_ARGUMENT, _RESOURCE_EXHAUSTED, _UNAVAILABLE = 3, 8, 14
"""Error codes of `google.rpc.Code`."""


@dataclass(frozen=True, slots=True)
class _Encoding:
    """The functions for one encoding of OTLP/HTTP: JSON or Protobuf."""

    media_type: str
    decode: Decode
    respond: Callable[[SpanBatch[Span]], bytes]
    status: Callable[[int, str], bytes]


def _json_status(code: int, message: str) -> bytes:
    return json.dumps({"code": code, "message": message}).encode()


def _protobuf_status(code: int, message: str) -> bytes:
    # The text is cut so that Protobuf needs only two bytes for its length.
    text = message.encode(errors="replace")[:0x3FFF]
    return bytes((0x08, code, 0x12, len(text) & 0x7F | 0x80, len(text) >> 7)) + text


_JSON = _Encoding("application/json", decode_json, respond_json, _json_status)
_PROTOBUF = _Encoding("application/x-protobuf", decode_protobuf, respond_protobuf, _protobuf_status)
_ENCODINGS = {
    "application/json": _JSON,
    "application/x-protobuf": _PROTOBUF,
    "application/protobuf": _PROTOBUF,
}


_FAILURES: tuple[tuple[type[TreadleError], int, int], ...] = (
    (EncodingError, 415, _INVALID_ARGUMENT),
    (TooLargeError, 413, _RESOURCE_EXHAUSTED),
    (StoreBusyError, 429, _RESOURCE_EXHAUSTED),
    (StoreError, 503, _UNAVAILABLE),
    (TreadleError, 400, _INVALID_ARGUMENT),
)
"""The HTTP status and the `google.rpc` code of each error. The first matching class applies."""


@router.post("/traces", response_class=Response)
async def traces(server: CurrentServer, request: Request) -> Response:
    """Store the spans of an export request.

    The server sends the status 200 only after it has written the spans to disk.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = _ENCODINGS.get(media_type)
    if encoding is None:
        message = f"The type {media_type[:80]!r} is not supported. Use {' or '.join(_ENCODINGS)}."
        return _response(_JSON, _json_status(_INVALID_ARGUMENT, message), 415)
    try:
        decoded = await _receive(server.ingest, server.media, request, encoding)
    except TreadleError as error:
        status, code = next(row[1:] for row in _FAILURES if isinstance(error, row[0]))
        return _response(encoding, encoding.status(code, str(error)), status)
    return _response(encoding, encoding.respond(decoded), 200)


async def _receive(
    queue: IngestQueue, media: UploadedMedia, request: Request, encoding: _Encoding
) -> SpanBatch[Span]:
    with queue.reservation() as reserve:
        parts = []
        async for part in request.stream():
            reserve(len(part))
            parts.append(part)
        body = b"".join(parts)
        parts.clear()
        compression = request.headers.get("content-encoding", "")
        if compression:
            body = await asyncio.to_thread(unpack, body, compression, queue.most_bytes, reserve)
        decode = await media.restoring(body, encoding.decode, queue.most_bytes)
        return await queue.submit(body, decode)


def _response(encoding: _Encoding, body: bytes, status: int) -> Response:
    headers = {"Retry-After": "1"} if status in {429, 503} else None
    return Response(body, status_code=status, headers=headers, media_type=encoding.media_type)
