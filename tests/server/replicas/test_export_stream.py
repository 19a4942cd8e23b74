"""Exports that wait in a stream of a real NATS server until they are written."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # it has no types
from nats.aio.msg import Msg
from nats.errors import Error

from tests.engines import NatsServer, free_port, nats_cluster, nats_server, repeated
from tests.server.exports import binary, export, span
from tests.server.replicas.running import TOKEN, replica, replicas, wait_until
from tests.spans.otlp import test_log_records as logs
from tests.spans.otlp.exports import SPAN, TRACE
from treadle.app.stores import Stores
from treadle.clock import SystemClock
from treadle.errors import StoreError
from treadle.identity.identity import Limits, Scope
from treadle.identity.store import IdentityStore
from treadle.ids import new_id
from treadle.nats.connection import NatsConnection, connect
from treadle.nats.names import ProjectNames
from treadle.server.replicas import stream_writer
from treadle.server.replicas.export_stream import TYPE_HEADER, ExportStream
from treadle.server.replicas.stream_writer import TRIES, StreamWriter
from treadle.spans.ingest import IngestQueue
from treadle.spans.otlp import ExportForm, OtlpError
from treadle.spans.span import Span
from treadle.spans.span_writer import NOTHING_REDACTED, StoreBusyError

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
INGEST = {"TREADLE_BUS__INGEST": "true"}


@dataclass
class FakeStore:
    """Stores spans in memory. It fails for some names, and waits while it is closed."""

    refused: str = "refused"
    works: bool = True
    names: list[str] = field(default_factory=list)
    tries: list[str] = field(default_factory=list)
    waiting: list[Future[None]] = field(default_factory=list)
    slow: bool = False

    def write(
        self, spans: Sequence[Span], *, redacted: Mapping[str, int] = NOTHING_REDACTED
    ) -> Future[None]:
        done: Future[None] = Future()
        names = [span.name for span in spans]
        self.tries += names
        if not self.works or self.refused in names:
            done.set_exception(StoreError("The store refuses it."))
            return done
        self.names += names
        if self.slow:
            self.waiting.append(done)
        else:
            done.set_result(None)
        return done

    async def examine(self) -> None:
        if not self.works:
            raise StoreError("The store is away.")


@asynccontextmanager
async def stream_of(
    url: str,
    store: FakeStore,
    *,
    limit: int = 10_000_000,
    project: str | None = None,
    stream_replicas: int = 1,
) -> AsyncIterator[tuple[NatsConnection, ExportStream, IngestQueue]]:
    """A stream of a new project, without a writer."""
    names = ProjectNames(project or f"p{new_id().hex[:20]}")
    async with (
        connect(url, name="test", stream_replicas=stream_replicas) as connection,
        IngestQueue(store, most_bytes=1_000_000) as queue,
    ):
        stream = ExportStream(connection, names, queue, limit)
        await repeated(stream.open)
        yield connection, stream, queue


def writer(stream: ExportStream, queue: IngestQueue, store: FakeStore) -> StreamWriter:
    return StreamWriter(stream, queue, store.examine, SystemClock())


def body(*names: str) -> bytes:
    spans = [{**span(number), "name": name} for number, name in enumerate(names, 1)]
    return json.dumps(export(*spans)).encode()


async def accept(
    stream: ExportStream, content: bytes, form: ExportForm = ExportForm.SPANS_JSON
) -> object:
    return await stream.accept(content, form, time.time_ns())


async def empty(stream: ExportStream) -> None:
    """Wait until no export waits."""
    waiting = 1
    async with asyncio.timeout(60):
        while waiting:
            await asyncio.sleep(0.01)
            with suppress(Error):  # NATS may be away
                waiting = (await stream.state()).waiting


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_writer, "RETRY_SECONDS", 0.001)


async def test_spans_in_the_stream_count_for_the_limit_of_a_key(
    repo: Path, nats: NatsServer
) -> None:
    with IdentityStore(Stores.of_user().identity) as identities:
        _, key = identities.keys.create(
            "default", "ci", frozenset({Scope.INGEST}), Limits(spans_per_minute=3),
            created_by="test", expires_us=None, now_us=SystemClock().now_us(),
        )  # fmt: skip
    async with replica(repo, nats.url, **INGEST) as server:
        assert server.state.exports is not None
        answers = [
            await server.http.post(
                "/v1/traces",
                json=export(*(span(4 * number + each) for each in range(1, 5))),
                headers={"Authorization": f"Bearer {key}"},
            )
            for number in range(3)
        ]
    assert answers[0].is_success
    assert 429 in {answer.status_code for answer in answers}  # at most one minute ends meanwhile


async def test_acknowledged_export_is_written_by_any_server(repo: Path, nats: NatsServer) -> None:
    async with replicas(2, repo, nats.url, **INGEST) as (one, two):
        assert one.state.exports is not None
        sent = [export(span(1, trace=1)), export(span(2, trace=1), span(3, trace=2))]
        for request, server in zip(sent, (one, two), strict=True):
            for media_type, content in (
                (JSON, json.dumps(request).encode()),
                (PROTOBUF, binary(request)),
            ):
                answer = await server.http.post(
                    "/v1/traces", content=content, headers={"Content-Type": media_type}
                )
                assert answer.status_code == 200
                assert answer.headers["content-type"] == media_type
        await empty(one.state.exports)
        for server in (one, two):
            spans = (await server.get("/spans"))["data"]
            assert sorted(each["span_id"][-1] for each in spans) == ["1", "2", "3"]
        malformed = await one.http.post("/v1/traces", content=b"{", headers={"Content-Type": JSON})
        assert malformed.status_code == 400
        assert (await one.state.exports.state()).failed == 0


async def test_log_records_go_through_the_stream_once(repo: Path, nats: NatsServer) -> None:
    record = logs.record("gen_ai.user.message", {"content": "Hi"})
    asked = logs.request({**record, "observedTimeUnixNano": "0"})
    async with replica(repo, nats.url, **INGEST) as one:
        stream = one.state.exports
        assert stream is not None
        received: list[Msg] = []

        async def note(message: Msg) -> None:
            received.append(message)

        async with connect(nats.url, name="test") as connection:
            await connection.client.subscribe(stream.subject, cb=note)
            await connection.client.flush()
            for content, media_type in (
                (json.dumps(asked).encode(), JSON),
                (logs.protobuf(asked), PROTOBUF),
            ):
                headers = {"Content-Type": media_type}
                answer = await one.http.post("/v1/logs", content=content, headers=headers)
                assert answer.status_code == 200
            await wait_until(lambda: len(received) == 2)
            for message in received[:2]:  # JetStream may deliver each of them twice
                again = connection.jetstream.publish(
                    stream.subject, message.data, headers=message.headers
                )
                await again
        await empty(stream)
        found = await one.get(f"/spans/{TRACE}/{SPAN}")
        messages = json.loads(found["span"]["input"])
        assert [each["content"] for each in messages] == ["Hi", "Hi"]  # one for each request


async def test_exports_over_grpc_go_through_the_stream(repo: Path, nats: NatsServer) -> None:
    grpc = pytest.importorskip("grpc")
    port = free_port()
    settings = {"TREADLE_TRACES__GRPC_PORT": str(port), "TREADLE_SERVE_TOKEN": TOKEN}
    async with replica(repo, nats.url, **INGEST, **settings) as one:
        assert one.state.exports is not None
        sent = logs.protobuf(logs.request(logs.record("gen_ai.user.message", "Hi")))
        async with (
            connect(nats.url, name="test") as connection,
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            subscription = await connection.client.subscribe(one.state.exports.subject)
            await connection.client.flush()
            for service, content in (("trace.v1.Trace", binary(export(span(1)))),
                                     ("logs.v1.Logs", sent)):  # fmt: skip
                method = f"/opentelemetry.proto.collector.{service}Service/Export"
                metadata = (("authorization", f"Bearer {TOKEN}"),)
                assert await channel.unary_unary(method)(content, metadata=metadata) == b""
                assert (await subscription.next_msg(timeout=20)).data == content
        await empty(one.state.exports)
        assert len((await one.get("/spans"))["data"]) == 2


async def test_full_stream_makes_grpc_exporters_wait(repo: Path, nats: NatsServer) -> None:
    grpc = pytest.importorskip("grpc")
    port = free_port()
    settings = {
        "TREADLE_TRACES__GRPC_PORT": str(port), "TREADLE_SERVE_TOKEN": TOKEN,
        "TREADLE_BUS__INGEST_LIMIT": "500B",
    }  # fmt: skip
    async with replica(repo, nats.url, **INGEST, **settings) as one:
        assert one.state.exports is not None
        await empty(one.state.exports)
        await one.state.exports.open()
        large = binary(export(span(1, text="x" * 500)))
        method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
        metadata = (("authorization", f"Bearer {TOKEN}"),)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await channel.unary_unary(method)(large, metadata=metadata)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert "bus.ingest_limit" in refused.value.details()
        trailing = dict(refused.value.trailing_metadata())
        status = Status.FromString(trailing["grpc-status-details-bin"])
        assert (status.code, status.message) == (14, refused.value.details())
        retry = RetryInfo()
        assert status.details[0].Unpack(retry)
        assert retry.retry_delay.seconds == 1
        assert RetryInfo.FromString(trailing["google.rpc.retryinfo-bin"]) == retry


async def test_large_export_and_export_without_nats_are_written_directly(
    repo: Path, tmp_path: Path
) -> None:
    with nats_server(tmp_path) as bus:
        async with replica(repo, bus.url, **INGEST) as one:
            large = json.dumps(export(span(1, text="x" * 2_000_000)))
            headers = {"Content-Type": JSON}
            sent = await one.http.post("/v1/traces", content=large, headers=headers)
            assert sent.status_code == 200
            assert len((await one.get("/spans"))["data"]) == 1
            bus.kill()
            sent = await one.http.post("/v1/traces", content=body("b", "c"), headers=headers)
            assert sent.status_code == 200
            assert len((await one.get("/spans"))["data"]) == 2  # a span has two versions
            bus.start()


async def test_full_stream_refuses_exports(nats: NatsServer) -> None:
    store = FakeStore()
    async with stream_of(nats.url, store, limit=20_000) as (_, stream, queue):
        with pytest.raises(StoreBusyError, match=r"bus\.ingest_limit"):  # noqa: PT012
            for _ in range(1_000):
                assert await accept(stream, body("a")) is not None
        waiting = (await stream.state()).waiting
        assert waiting > 5
        async with writer(stream, queue, store):
            await empty(stream)
            assert await accept(stream, body("a")) is not None
            await empty(stream)
        assert len(store.names) == waiting + 1


async def test_server_reports_a_full_stream_with_a_time_to_retry(
    repo: Path, nats: NatsServer
) -> None:
    limits = {"TREADLE_BUS__INGEST_LIMIT": "500B"}
    async with replica(repo, nats.url, **INGEST, **limits) as one:
        assert one.state.exports is not None
        await empty(one.state.exports)  # the stream is open
        await one.state.exports.open()
        answer = await one.http.post(
            "/v1/traces", content=body("a"), headers={"Content-Type": JSON}
        )
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "1"
        sent = logs.request(logs.record("gen_ai.user.message", {"content": "Hi"}))
        answer = await one.http.post("/v1/logs", json=sent)
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "1"


@pytest.mark.slow
async def test_number_of_copies_follows_the_setting(tmp_path: Path) -> None:
    store, project = FakeStore(), "copies"
    with nats_cluster(tmp_path) as cluster:
        async with stream_of(cluster.url, store, project=project) as (_, stream, _):
            assert await repeated(lambda: accept(stream, body("a"))) is not None
            await asyncio.to_thread(cluster.wait_for_copies, stream.name, 1)
        async with stream_of(
            cluster.url, store, project=project, stream_replicas=3
        ) as (_, stream, queue):  # fmt: skip
            await asyncio.to_thread(cluster.wait_for_copies, stream.name, 3)
            async with writer(stream, queue, store):
                await empty(stream)
    assert store.names == ["a"]


@pytest.mark.slow
async def test_acknowledged_exports_survive_the_loss_of_a_node_under_load(tmp_path: Path) -> None:
    accepted: set[str] = set()
    store, refused, count = FakeStore(), 0, 0
    with nats_cluster(tmp_path) as cluster:
        async with stream_of(cluster.url, store, stream_replicas=3) as (connection, stream, queue):

            async def send() -> None:
                nonlocal refused, count
                while not stopped.is_set():
                    count += 1
                    name = str(count)
                    if await accept(stream, body(name)) is None:
                        refused += 1  # the server then writes the export to the store
                        await asyncio.sleep(0.05)
                    else:
                        accepted.add(name)

            stopped = asyncio.Event()
            async with writer(stream, queue, store):
                sending = [asyncio.create_task(send()) for _ in range(4)]
                for node in cluster.nodes:  # one of them leads the stream
                    before = len(accepted)
                    await asyncio.to_thread(node.kill)
                    await wait_until(lambda: len(accepted) > before + 50)  # noqa: B023
                    await asyncio.to_thread(node.start)
                    await wait_until(lambda: connection.is_connected)
                    await asyncio.to_thread(cluster.wait_until_whole)
                    while not await repeated(lambda: is_whole(connection, stream)):  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
                stopped.set()
                await asyncio.gather(*sending)
                await empty(stream)
    assert accepted <= set(store.names)
    assert len(accepted) > 150


async def is_whole(connection: NatsConnection, stream: ExportStream) -> bool:
    """Whether all nodes have all messages of a stream."""
    cluster = (await connection.jetstream.stream_info(stream.name)).cluster
    assert cluster is not None
    return all(each.current and not each.offline for each in cluster.replicas or ())


async def test_malformed_export_is_refused_before_it_is_acknowledged(nats: NatsServer) -> None:
    store = FakeStore()
    async with stream_of(nats.url, store) as (_, stream, _):
        with pytest.raises(OtlpError):
            await accept(stream, b'{"resourceSpans": 1}')
        assert (await stream.state()).waiting == 0


async def test_export_of_a_writer_that_ends_is_delivered_to_another(nats: NatsServer) -> None:
    store = FakeStore(slow=True)
    async with stream_of(nats.url, store) as (_, stream, queue):
        await accept(stream, body("a"))
        async with writer(stream, queue, store):
            await wait_until(lambda: store.names == ["a"])  # it is never acknowledged
        assert (await stream.state()).waiting == 1
        store.slow = False
        async with writer(stream, queue, store):
            await empty(stream)
        assert store.names == ["a", "a"]


@pytest.mark.usefixtures("_hasty")
async def test_export_that_cannot_be_stored_is_put_away_and_counted(nats: NatsServer) -> None:
    store = FakeStore()
    async with stream_of(nats.url, store) as (connection, stream, queue):
        headers = {TYPE_HEADER: JSON}
        await connection.jetstream.publish(stream.subject, b"no export", headers=headers)
        await connection.jetstream.publish(stream.subject, b"no type")
        await accept(stream, body("refused"))
        async with writer(stream, queue, store) as writing:

            async def send() -> None:
                while writing.failed < 3:
                    await accept(stream, body("a"))

            await asyncio.wait_for(send(), 60)
            await empty(stream)
        assert store.tries.count("refused") >= TRIES
        assert "refused" not in store.names
        assert await stream.state() == type(await stream.state())(0, 0, 3)


@pytest.mark.usefixtures("_hasty")
async def test_exports_wait_while_the_store_is_away(nats: NatsServer) -> None:
    store = FakeStore(works=False)
    async with stream_of(nats.url, store) as (_, stream, queue):
        await accept(stream, body("a"))
        async with writer(stream, queue, store) as writing:
            await wait_until(lambda: len(store.tries) > 2 * TRIES)
            store.works = True
            await empty(stream)
            assert (store.names, writing.failed) == (["a"], 0)


async def test_acknowledged_exports_survive_a_crash_of_nats(tmp_path: Path) -> None:
    store = FakeStore()
    with nats_server(tmp_path) as bus:
        async with stream_of(bus.url, store) as (_, stream, queue):
            for number in range(20):
                await accept(stream, body(str(number)))
            async with writer(stream, queue, store):
                bus.kill()
                bus.start()
                await empty(stream)
        assert set(store.names) == {str(number) for number in range(20)}
