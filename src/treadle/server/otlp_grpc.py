"""The OTLP/gRPC endpoint on its own port. It handles exports as the OTLP/HTTP routes do."""

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from treadle.errors import ConfigError, StoreError, TreadleError
from treadle.spans.ingest import IngestQueue
from treadle.spans.otlp import (
    decline_metrics_protobuf,
    decode_log_protobuf,
    decode_protobuf,
    respond_protobuf,
)
from treadle.spans.span_batch import ExportReport

if TYPE_CHECKING:
    import grpc  # type: ignore[import-untyped]  # it ships no types

_PACKAGE = "opentelemetry.proto.collector"
_TRACES, _LOGS = f"{_PACKAGE}.trace.v1.TraceService", f"{_PACKAGE}.logs.v1.LogsService"
_METRICS = f"{_PACKAGE}.metrics.v1.MetricsService"
_GRACE_SECONDS = 1
_REFUSED = (
    "The token is missing or wrong. Send the metadata `authorization: Bearer TOKEN` "
    "(OTEL_EXPORTER_OTLP_HEADERS); `treadle serve` prints the file that contains the token."
)


@asynccontextmanager
async def serve_grpc(queue: IngestQueue, host: str, port: int, token: str) -> AsyncIterator[None]:
    """Accept exports at `host` and `port` until the context ends.

    Every client sends the token in the metadata `authorization: Bearer TOKEN`, even over loopback.
    gRPC does not reveal the connection of a call, so the server cannot find out which user made it.
    Raises ConfigError if grpcio is not installed or the port cannot be used.
    """
    try:
        import grpc
    except ImportError as error:
        raise ConfigError(
            "traces.grpc_port is set, but grpcio is not installed.",
            hint="Install treadle[grpc], or remove the setting.",
        ) from error

    async def answer(
        request: bytes,
        context: "grpc.aio.ServicerContext",
        receive: Callable[[bytes], Awaitable[ExportReport]],
    ) -> bytes:
        if not _has_token(token, context.invocation_metadata()):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, _REFUSED)
        try:
            with queue.reservation() as reserve:
                reserve(len(request))
                return respond_protobuf(await receive(request))
        except StoreError as error:  # an exporter repeats a call that failed with this code
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        except TreadleError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        raise AssertionError  # unreachable, since `abort` raises

    def handler(
        service: str, receive: Callable[[bytes], Awaitable[ExportReport]]
    ) -> "grpc.GenericRpcHandler":
        # The handler has no serializers, so the request and the response are bytes.
        method = grpc.unary_unary_rpc_method_handler(partial(answer, receive=receive))
        return grpc.method_handlers_generic_handler(service, {"Export": method})

    server = grpc.aio.server(
        options=[("grpc.max_receive_message_length", queue.most_bytes), ("grpc.so_reuseport", 0)]
    )
    server.add_generic_rpc_handlers(
        (
            handler(_TRACES, lambda request: queue.submit(request, decode_protobuf)),
            handler(_LOGS, lambda request: queue.submit(request, decode_log_protobuf)),
            handler(_METRICS, lambda request: asyncio.to_thread(decline_metrics_protobuf, request)),
        )
    )
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


def _has_token(token: str, metadata: object) -> bool:
    given = dict(metadata or ()).get("authorization", "")  # type: ignore[call-overload]  # pairs
    scheme, _, rest = str(given).partition(" ")
    known = hmac.compare_digest(rest.strip().encode(), token.encode())
    return scheme.lower() == "bearer" and known
