"""Creates streams and buckets in JetStream, or changes existing ones to the present settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treadle.nats.connection import BusError, NatsConnection, answered

if TYPE_CHECKING:
    from nats.js.api import KeyValueConfig, StreamConfig
    from nats.js.kv import KeyValue

_OTHER_CONFIGURATION = 10058
"""The error code of JetStream for a stream that exists with another configuration."""
_TOO_FEW_NODES = {10005, 10074}
"""The error codes of JetStream for more copies than nodes, in a cluster and in a single node."""


async def ensure_stream(connection: NatsConnection, config: "StreamConfig") -> None:
    """Create a stream, or change its configuration. Raises `nats` errors.

    The stream gets as many copies as `bus.stream_replicas` states.
    """
    from nats.js.errors import APIError

    config = config.evolve(num_replicas=connection.stream_replicas)
    try:
        await answered(connection.jetstream.add_stream(config))
    except APIError as error:
        if error.err_code != _OTHER_CONFIGURATION:
            raise
        await answered(connection.jetstream.update_stream(config))


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


@contextmanager
def jetstream_errors(connection: NatsConnection) -> Iterator[None]:
    """Raise BusError, which states what to do, in place of a `nats` error."""
    from nats.errors import Error
    from nats.js.errors import APIError

    try:
        yield
    except APIError as error:
        if error.err_code not in _TOO_FEW_NODES:
            raise _unavailable(connection, error.description or "no reason was given") from error
        raise BusError(
            f"NATS at {connection.servers} cannot store {connection.stream_replicas} copies of a "
            "stream, because it has fewer nodes with JetStream.",
            hint="Start more nodes, or lower bus.stream_replicas.",
        ) from error
    except (Error, OSError) as error:
        raise _unavailable(connection, str(error)) from error


def _unavailable(connection: NatsConnection, reason: str) -> BusError:
    return BusError(
        f"NATS at {connection.servers} did not create a stream: {reason}.",
        hint="Start it as `nats-server -js`, or try again when its nodes have elected a leader.",
    )
