"""Streams and buckets of real NATS servers: their copies, and the errors that a person sees."""

import asyncio
from pathlib import Path

import pytest
from nats.js.api import KeyValueConfig, StreamConfig

from tests.engines import NatsCluster, NatsServer, nats_cluster, nats_server, repeated
from treadle.events.types import CallKey
from treadle.ids import new_id
from treadle.nats import streams
from treadle.nats.connection import BusError, connect
from treadle.nats.names import ProjectNames
from treadle.nats.streams import ensure_bucket, ensure_stream
from treadle.workers.call_queue import CallQueue
from treadle.workers.messages import CallState, WorkerCall


async def test_existing_stream_gets_the_new_configuration(nats: NatsServer) -> None:
    name = f"s{new_id().hex}"
    async with connect(nats.url, name="test") as connection:
        for limit in (1_000, 2_000, 2_000):
            stream = StreamConfig(name=name, subjects=[name], max_bytes=limit)
            await ensure_stream(connection, stream)
            info = await connection.jetstream.stream_info(name)
            assert info.config.max_bytes == limit
            await connection.jetstream.publish(name, b"kept")
        assert (await connection.jetstream.stream_info(name)).state.messages == 3


async def test_existing_bucket_keeps_its_values_after_a_change(nats: NatsServer) -> None:
    name = f"b{new_id().hex}"
    async with connect(nats.url, name="test") as connection:
        bucket = await ensure_bucket(connection, KeyValueConfig(bucket=name, ttl=100, direct=False))
        await bucket.put("one", b"1")
        bucket = await ensure_bucket(connection, KeyValueConfig(bucket=name, ttl=200, direct=False))
        assert (await bucket.get("one")).value == b"1"
        assert (await bucket.status()).ttl == 200


async def test_more_copies_than_nodes_are_an_error(nats: NatsServer) -> None:
    async with connect(nats.url, name="test", stream_replicas=3) as connection:
        with pytest.raises(BusError, match="cannot store 3 copies") as caught:
            await CallQueue(connection, ProjectNames(f"p{new_id().hex[:20]}")).open()
        assert "bus.stream_replicas" in str(caught.value)


async def test_account_without_jetstream_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "RETRY_SECONDS", 0.0)
    users = "[{user: someone, password: secret}]"
    (tmp_path / "nats.conf").write_text(f"accounts: {{ plain: {{ users: {users} }} }}\n")
    with nats_server(tmp_path, "-c", str(tmp_path / "nats.conf")) as server:
        url = f"nats://someone:secret@127.0.0.1:{server.port}"
        async with connect(url, name="test") as connection:
            with pytest.raises(BusError, match="did not create a stream") as caught:
                await CallQueue(connection, ProjectNames()).open()
    assert "nats-server -js" in str(caught.value)
    assert "secret" not in str(caught.value)


def call() -> WorkerCall:
    return WorkerCall("one", "me", "repository", "commit", "tool", 1, "{}", new_id(), CallKey(0, 0))


async def has_copies(cluster: NatsCluster, count: int) -> None:
    """Wait until a number of nodes has the call and its state."""
    for name in (ProjectNames().stream("calls"), f"KV_{ProjectNames().stream('call_states')}"):
        await asyncio.to_thread(cluster.wait_for_copies, name, count)


@pytest.mark.slow
async def test_calls_survive_the_loss_of_a_node_after_a_change_of_copies(tmp_path: Path) -> None:
    state = CallState("worker", "attempt", 1, 1)
    with nats_cluster(tmp_path) as cluster:
        async with connect(cluster.url, name="test") as connection:
            queue = CallQueue(connection, ProjectNames())
            await queue.open()
            await repeated(lambda: queue.publish(call()))
            await repeated(lambda: queue.pull("repository", "commit"))
            await repeated(lambda: queue.store("one", state))
            stored = await repeated(lambda: queue.state("one"))
            assert stored is not None
            await has_copies(cluster, 1)
        async with connect(cluster.url, name="test", stream_replicas=3) as connection:
            queue = CallQueue(connection, ProjectNames())
            await queue.open()
            await repeated(lambda: queue.pull("repository", "commit"))
            await has_copies(cluster, 3)
        cluster.nodes[0].kill()
        others = ",".join(node.url for node in cluster.nodes[1:])
        async with connect(others, name="test", stream_replicas=3) as connection:
            queue = CallQueue(connection, ProjectNames())
            await queue.open()
            assert await repeated(lambda: queue.state("one")) == stored

            async def take() -> bytes:
                calls = await queue.pull("repository", "commit")
                [message] = await calls.fetch(1, timeout=5)
                return message.data

            assert b'"one"' in await repeated(take)
