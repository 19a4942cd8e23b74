"""The OTLP/gRPC endpoint on its own port. It handles exports as the OTLP/HTTP routes do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

from treadle.errors import ConfigError, StoreError, TreadleError
from treadle.server.key_limits import LimitReachedError, span_count
from treadle.server.refusals import RefusedError
from treadle.spans.ingest import IngestQueue
from treadle.spans.otlp import ExportForm, decline_metrics_protobuf, respond_protobuf
from treadle.spans.otlp.protobuf_encoding import bytes_field, varint_field
from treadle.spans.span_batch import ExportReport

if TYPE_CHECKING:
    import grpc  # type: ignore[import-untyped]  # it ships no types

_PACKAGE = "opentelemetry.proto.collector"
_GRACE_SECONDS = 1
_RETRY_TYPE = b"type.googleapis.com/google.rpc.RetryInfo"


@dataclass(frozen=True, slots=True)
class AdmittedExport:
    """An authenticated export: the queue of its project, and the functions that process it.

    `store` is `ServerState.store_export`. `count_spans` counts the spans for the limits of the API
    key.
    """

    queue: IngestQueue
    store: Callable[[bytes, ExportForm], Awaitable[ExportReport]]
    count_spans: Callable[[int], Awaitable[None]]


Receive = Callable[[AdmittedExport, bytes], Awaitable[ExportReport]]
"""A function that processes the bytes of an export."""


Admit = Callable[[str, str], AbstractAsyncContextManager[AdmittedExport]]
"""A function that authenticates an export by its secret and by the address of its client.

It raises RefusedError, LimitReachedError and StoreError.
"""


@asynccontextmanager
async def serve_grpc(admit: Admit, host: str, port: int, *, most_bytes: int) -> AsyncIterator[None]:
    """Accept exports of up to `most_bytes` at `host` and `port` until the context ends.

    Every client sends the token or an API key in the metadata `authorization: Bearer KEY`, even
    over loopback. gRPC does not reveal the connection of a call, so the server cannot find out
    which user made it. Raises ConfigError if grpcio is not installed or the port cannot be used.
    """
    try:
        import grpc
    except ImportError as error:
        raise ConfigError(
            "traces.grpc_port is set, but grpcio is not installed.",
            hint="Install treadle[grpc], or remove the setting.",
        ) from error

    async def answer(
        request: bytes, context: "grpc.aio.ServicerContext", receive: Receive
    ) -> bytes:
        secret = _secret(context.invocation_metadata())
        try:
            async with admit(secret, _address(context.peer())) as export:
                with export.queue.reservation() as reserve:
                    reserve(len(request))
                    report = await receive(export, request)
                await export.count_spans(span_count(report))
                return respond_protobuf(report)
        except RefusedError as error:
            refusal, codes = error.refusal, grpc.StatusCode
            code = codes.UNAUTHENTICATED if refusal.status == 401 else codes.PERMISSION_DENIED
            await context.abort(code, f"{refusal.message} {refusal.hint}")
        except StoreError as error:  # an exporter repeats a call that failed with this code
            seconds = error.seconds if isinstance(error, LimitReachedError) else 1
            when = _retry_metadata(grpc.StatusCode.UNAVAILABLE.value[0], str(error), seconds)
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error), when)
        except TreadleError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        raise AssertionError  # unreachable, since `abort` raises

    def handler(service: str, receive: Receive) -> "grpc.GenericRpcHandler":
        # The handler has no serializers, so the request and the response are bytes.
        method = grpc.unary_unary_rpc_method_handler(partial(answer, receive=receive))
        return grpc.method_handlers_generic_handler(service, {"Export": method})

    server = grpc.aio.server(
        options=[("grpc.max_receive_message_length", most_bytes), ("grpc.so_reuseport", 0)]
    )
    server.add_generic_rpc_handlers(tuple(map(handler, SERVICES, SERVICES.values())))
    _listen(server, f"[{host}]" if ":" in host else host, port)
    await server.start()
    try:
        yield
    finally:
        await server.stop(_GRACE_SECONDS)


def _listen(server: "grpc.aio.Server", name: str, port: int) -> None:
    try:
        server.add_insecure_port(f"{name}:{port}")
    except RuntimeError as error:
        raise ConfigError(
            f"traces.grpc_port: the server cannot listen on {name}:{port}.",
            hint="Choose another port.",
        ) from error


async def _decline_metrics(_export: AdmittedExport, request: bytes) -> ExportReport:
    return await asyncio.to_thread(decline_metrics_protobuf, request)


async def _store_traces(export: AdmittedExport, request: bytes) -> ExportReport:
    return await export.store(request, ExportForm.SPANS_PROTOBUF)


async def _store_logs(export: AdmittedExport, request: bytes) -> ExportReport:
    return await export.store(request, ExportForm.LOGS_PROTOBUF)


SERVICES: Mapping[str, Receive] = {
    f"{_PACKAGE}.trace.v1.TraceService": _store_traces,
    f"{_PACKAGE}.logs.v1.LogsService": _store_logs,
    f"{_PACKAGE}.metrics.v1.MetricsService": _decline_metrics,
}
"""The gRPC services. Each has the method `Export`."""


def _retry_metadata(code: int, message: str, seconds: int) -> tuple[tuple[str, bytes], ...]:
    """Return the metadata that corresponds to the header Retry-After of HTTP.

    Exporters read `google.rpc.RetryInfo` either in the details of the status or by itself.
    """
    delay = bytes_field(1, varint_field(1, seconds))
    status = (
        varint_field(1, code)
        + bytes_field(2, message.encode(errors="replace"))
        + bytes_field(3, bytes_field(1, _RETRY_TYPE) + bytes_field(2, delay))
    )
    return ("grpc-status-details-bin", status), ("google.rpc.retryinfo-bin", delay)


def _secret(metadata: object) -> str:
    """Return the bearer token in the metadata of a call, or an empty text.

    The result is also empty if the call has several tokens.
    """
    pairs = list(metadata or ())  # type: ignore[call-overload]  # pairs
    values = [str(value) for name, value in pairs if name == "authorization"]
    scheme, _, rest = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return rest.strip() if scheme.lower() == "bearer" else ""


def _address(peer: str) -> str:
    """Return the IP address in the name of a peer, such as `ipv4:192.0.2.1:4711`."""
    kind, _, rest = peer.partition(":")
    host = rest.rpartition(":")[0] if kind in {"ipv4", "ipv6"} else ""
    return unquote(host).strip("[]")
