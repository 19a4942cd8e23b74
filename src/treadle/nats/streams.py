"""Creates streams and buckets in JetStream, or changes existing ones to the present settings."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from treadle.nats.connection import BusError, NatsConnection, answered

if TYPE_CHECKING:
    from nats.js import JetStreamContext
    from nats.js.api import KeyValueConfig, StreamConfig
    from nats.js.kv import KeyValue

_OTHER_CONFIGURATION = 10058
"""The error code of JetStream for a stream that exists with another configuration."""
_TOO_FEW_NODES = {10005, 10074}
"""The error codes of JetStream for more copies than nodes, in a cluster and in a single node."""
_ATTEMPTS = 4
RETRY_SECONDS = 1.0
"""The time between two attempts. A request without an answer takes some seconds in addition."""


async def ensure_stream(connection: NatsConnection, config: "StreamConfig") -> None:
    """Create a stream, or change its configuration. Raises `nats` errors.

    The stream gets as many copies as `bus.stream_replicas` states. If this number changes, the
    consumers of the stream are deleted. Their users get an error, and must create them again.
    """
    from nats.js.errors import APIError

    config = config.evolve(num_replicas=connection.stream_replicas)
    try:
        await answered(connection.jetstream.add_stream(config))
    except APIError as error:
        if error.err_code != _OTHER_CONFIGURATION:
            raise
        await _change(connection.jetstream, config)


async def _change(jetstream: "JetStreamContext", config: "StreamConfig") -> None:
    """Change the configuration of an existing stream."""
    assert config.name is not None
    if (await answered(jetstream.stream_info(config.name))).config.num_replicas != (
        config.num_replicas
    ):
        # NATS 2.15 copies a work queue with consumers only after ten seconds. If the node with the
        # only copy of a consumer is lost meanwhile, nobody can use or delete the consumer.
        while consumers := await answered(jetstream.consumers_info(config.name)):
            for consumer in consumers:
                await answered(jetstream.delete_consumer(config.name, consumer.name))
    await answered(jetstream.update_stream(config))


async def ensure_bucket(connection: NatsConnection, config: "KeyValueConfig") -> "KeyValue":
    """Create a key-value bucket, or change its age limit and its number of copies.

    Raises `nats` errors.
    """
    from nats.js.errors import APIError

    jetstream = connection.jetstream
    config = config.evolve(replicas=connection.stream_replicas)
    try:
        return await answered(jetstream.create_key_value(config))
    except APIError as error:
        if error.err_code != _OTHER_CONFIGURATION:
            raise
    stream = (await answered(jetstream.stream_info(f"KV_{config.bucket}"))).config
    changed = stream.evolve(num_replicas=config.replicas, max_age=config.ttl)
    await answered(jetstream.update_stream(changed))
    return await answered(jetstream.key_value(config.bucket))


async def create_at_start(
    connection: NatsConnection, create: Callable[[], Awaitable[None]]
) -> None:
    """Call `create`, and repeat it while the nodes of a cluster elect a leader.

    Raises BusError, which states what to do, in place of a `nats` error.
    """
    from nats.errors import Error
    from nats.js.errors import APIError

    reason = ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            await asyncio.sleep(RETRY_SECONDS)
        try:
            await create()
        except APIError as error:
            if error.err_code in _TOO_FEW_NODES:
                raise _too_few_nodes(connection) from error
            reason = error.description or type(error).__name__
        except (Error, OSError) as error:
            reason = str(error)
        else:
            return
    raise BusError(
        f"NATS at {connection.servers} did not create a stream: {reason}.",
        hint="Start it as `nats-server -js`, and allow JetStream for the user in bus.url.",
    )


def _too_few_nodes(connection: NatsConnection) -> BusError:
    return BusError(
        f"NATS at {connection.servers} cannot store {connection.stream_replicas} copies of a "
        "stream, because too few of its nodes run with JetStream.",
        hint="Start more nodes, or lower bus.stream_replicas.",
    )
