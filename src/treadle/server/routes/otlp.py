"""The routes that receive spans, log records and metrics of exporters over OTLP/HTTP.

The responses follow the protocol. They have the encoding of the request, and an error is a
`google.rpc.Status`. The status 429 or 503 makes the exporter send the request again.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import Request, Response

from treadle.errors import StoreError, TreadleError
from treadle.server.current_project import CurrentServer
from treadle.server.identity_services import limits_of
from treadle.server.key_limits import LimitReachedError, span_count
from treadle.server.request_bodies import EncodingError, TooLargeError, unpack
from treadle.server.request_identity import identity_of
from treadle.server.routers import plain_router
from treadle.spans.ingest import IngestQueue
from treadle.spans.otlp import (
    LOGS,
    METRICS,
    TRACES,
    ExportForm,
    Signal,
    decline_metrics_json,
    decline_metrics_protobuf,
    respond_json,
    respond_protobuf,
)
from treadle.spans.otlp.metrics import DeclinedMetrics
from treadle.spans.otlp.protobuf_encoding import bytes_field, varint_field
from treadle.spans.span_batch import ExportReport
from treadle.spans.span_writer import StoreBusyError

router = plain_router("/v1", tags=["otlp"])

_INVALID_ARGUMENT, _RESOURCE_EXHAUSTED, _UNAVAILABLE = 3, 8, 14
"""Error codes of `google.rpc.Code`."""


@dataclass(frozen=True, slots=True)
class _Encoding:
    """The functions for one encoding of OTLP/HTTP: JSON or Protobuf."""

    media_type: str
    spans: ExportForm
    logs: ExportForm
    decline_metrics: Callable[[bytes], DeclinedMetrics]
    respond: Callable[[ExportReport, Signal], bytes]
    status: Callable[[int, str], bytes]


def _json_status(code: int, message: str) -> bytes:
    return json.dumps({"code": code, "message": message}).encode()


def _protobuf_status(code: int, message: str) -> bytes:
    return varint_field(1, code) + bytes_field(2, message.encode(errors="replace"))


_JSON = _Encoding(
    "application/json",
    ExportForm.SPANS_JSON,
    ExportForm.LOGS_JSON,
    decline_metrics_json,
    respond_json,
    _json_status,
)
_PROTOBUF = _Encoding(
    "application/x-protobuf",
    ExportForm.SPANS_PROTOBUF,
    ExportForm.LOGS_PROTOBUF,
    decline_metrics_protobuf,
    lambda report, _: respond_protobuf(report),
    _protobuf_status,
)
_ENCODINGS = {
    "application/json": _JSON,
    "application/x-protobuf": _PROTOBUF,
    "application/protobuf": _PROTOBUF,
}


_FAILURES: tuple[tuple[type[TreadleError], int, int], ...] = (
    (EncodingError, 415, _INVALID_ARGUMENT),
    (TooLargeError, 413, _RESOURCE_EXHAUSTED),
    (LimitReachedError, 429, _RESOURCE_EXHAUSTED),
    (StoreBusyError, 429, _RESOURCE_EXHAUSTED),
    (StoreError, 503, _UNAVAILABLE),
    (TreadleError, 400, _INVALID_ARGUMENT),
)
"""The HTTP status and the `google.rpc` code of each error. The first matching class applies."""


@router.post("/traces", response_class=Response)
async def traces(server: CurrentServer, request: Request) -> Response:
    """Store the spans of an export request.

    The server sends the status 200 only after the spans are on disk. With the setting `bus.ingest`,
    this is the disk of NATS, and the spans appear a moment later.
    """
    return await _answer(
        server.ingest,
        request,
        TRACES,
        lambda body, encoding: server.store_export(body, encoding.spans),
    )


@router.post("/logs", response_class=Response)
async def logs(server: CurrentServer, request: Request) -> Response:
    """Add the messages in the log records of an export request to their spans.

    The server sends the status 200 only after the messages are on disk, as for spans.
    """
    return await _answer(
        server.ingest,
        request,
        LOGS,
        lambda body, encoding: server.store_export(body, encoding.logs),
    )


@router.post("/metrics", response_class=Response)
async def metrics(server: CurrentServer, request: Request) -> Response:
    """Check an export request of metrics, and report that its data points are not stored."""
    return await _answer(
        server.ingest,
        request,
        METRICS,
        lambda body, encoding: asyncio.to_thread(encoding.decline_metrics, body),
    )


async def _answer(
    queue: IngestQueue,
    request: Request,
    signal: Signal,
    receive: Callable[[bytes, _Encoding], Awaitable[ExportReport]],
) -> Response:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = _ENCODINGS.get(media_type)
    if encoding is None:
        message = f"The type {media_type[:80]!r} is not supported. Use {' or '.join(_ENCODINGS)}."
        return _response(_JSON, _json_status(_INVALID_ARGUMENT, message), 415)
    limits, identity = limits_of(request), identity_of(request.scope)
    try:
        await limits.admit_export(identity)
        with queue.reservation() as reserve:
            body = await _read(request, queue.most_bytes, reserve)
            report = await receive(body, encoding)
    except TreadleError as error:
        status, code = next(row[1:] for row in _FAILURES if isinstance(error, row[0]))
        seconds = error.seconds if isinstance(error, LimitReachedError) else 1
        return _response(encoding, encoding.status(code, str(error)), status, seconds)
    await limits.count_spans(identity, span_count(report))
    return _response(encoding, encoding.respond(report, signal), 200)


async def _read(request: Request, most_bytes: int, reserve: Callable[[int], None]) -> bytes:
    """Return the body of a request without its compression."""
    parts = []
    async for part in request.stream():
        reserve(len(part))
        parts.append(part)
    body = b"".join(parts)
    parts.clear()
    compression = request.headers.get("content-encoding", "")
    if compression:
        body = await asyncio.to_thread(unpack, body, compression, most_bytes, reserve)
    return body


def _response(encoding: _Encoding, body: bytes, status: int, retry_after: int = 1) -> Response:
    headers = {"Retry-After": str(retry_after)} if status in {429, 503} else None
    return Response(body, status_code=status, headers=headers, media_type=encoding.media_type)
