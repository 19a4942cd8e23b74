"""The connection to the NATS servers of the setting `bus.url`.

The first connection attempt ends after a short time, with an error that states what to do. After
that, the connection lasts until its context ends: if the connection is lost, the client connects
again as often as needed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from treadle.errors import ConfigError, TreadleError
from treadle.urls import without_credentials

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

_log = logging.getLogger(__name__)

T = TypeVar("T")

START_SECONDS = 5.0
"""The maximum time of the first connection attempt in seconds."""

REQUEST_SECONDS = 5.0
"""The maximum time in seconds that JetStream may take to acknowledge a request."""

_RECONNECT_SECONDS = 0.5
_PING_SECONDS = 10
_CLOSE_SECONDS = 2.0
_REFUSAL = "authorization violation"
"""The reason that a server gives for refused credentials. The client has no exception for it."""


class BusError(TreadleError):
    """NATS cannot be reached, refuses the connection, or does not acknowledge a message."""


@dataclass(slots=True)
class NatsConnection:
    """An open connection.

    `client` sends messages that NATS does not store. `jetstream` uses streams and key-value
    buckets. `servers` are the addresses without credentials, for errors and logs.
    `stream_replicas` is the number of nodes that store each stream.
    """

    client: "Client"
    jetstream: "JetStreamContext"
    servers: str
    stream_replicas: int
    _reconnected: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """An event that is set if the server ended the connection and the client does not reconnect.

    NATS does this for example after a change of permissions. The process should then end, so that
    its supervisor starts it again.
    """

    @property
    def is_connected(self) -> bool:
        """Whether the connection is up at present."""
        return self.client.is_connected

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Call `callback` after each reconnection. The returned function removes `callback`.

        Messages that were sent while there was no connection are lost, unless a stream stores them.
        """
        self._reconnected.append(callback)
        return partial(self._reconnected.remove, callback)


@asynccontextmanager
async def connect(
    url: str, *, name: str, stream_replicas: int = 1, start_seconds: float = START_SECONDS
) -> AsyncIterator[NatsConnection]:
    """Connect to NATS, and close the connection at the end of the context.

    `url` is the setting `bus.url`: one address, or several with commas between them.
    `stream_replicas` is the setting of that name. The monitoring of NATS shows `name`. Raises
    ConfigError if the extra `team` is missing or `url` is invalid, and BusError if no server
    answers in time.
    """
    try:
        from nats.errors import Error

        from treadle.nats.client import BusClient
    except ImportError as error:
        raise ConfigError(
            "The setting bus.url needs the extra `team`, which is not installed.",
            hint="Run `pip install 'treadle[team]'`.",
        ) from error
    client = BusClient()
    servers = without_credentials(url)
    jetstream = client.jetstream(timeout=REQUEST_SECONDS)
    connection = NatsConnection(client, jetstream, servers, stream_replicas)
    attempts = _Attempts(servers)
    closing = False

    async def on_reconnect() -> None:
        _log.info("reconnected to NATS at %s", servers)
        for callback in tuple(connection._reconnected):  # noqa: SLF001  (this module's own class)
            await callback()

    async def on_disconnect() -> None:
        if not closing:
            _log.warning("lost the connection to NATS at %s", servers)

    async def on_close() -> None:
        if not closing:
            _log.error("NATS at %s ended the connection: %s", servers, attempts.reason)
            connection.lost.set()

    starting = asyncio.ensure_future(
        client.connect(
            [each.strip() for each in url.split(",")],
            name=name,
            error_cb=attempts.failed,
            reconnected_cb=on_reconnect,
            disconnected_cb=on_disconnect,
            closed_cb=on_close,
            reconnect_time_wait=_RECONNECT_SECONDS,  # type: ignore[arg-type]  # floats work
            max_reconnect_attempts=-1,
            ping_interval=_PING_SECONDS,
        )
    )
    try:
        await asyncio.wait(
            {starting, attempts.refused}, timeout=start_seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if not starting.done():
            raise attempts.error()
        try:
            starting.result()
        except (Error, OSError, ValueError) as error:
            raise attempts.error(error) from None  # `error` may contain the credentials of the URL
        attempts.started = True
        yield connection
    finally:
        closing = True
        starting.cancel()
        attempts.refused.cancel()
        with suppress(asyncio.CancelledError, Error, OSError, TimeoutError):
            await starting
        with suppress(Error, OSError, TimeoutError):
            await asyncio.wait_for(client.close(), _CLOSE_SECONDS)


async def answered(request: Awaitable[T]) -> T:
    """Await a request to NATS, and raise CancelledError if this task was cancelled meanwhile.

    The client uses `asyncio.wait_for`. Before Python 3.12, that function drops a cancellation that
    arrives together with the answer. The task would then continue for ever.
    """
    try:
        return await request
    finally:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError


class _Attempts:
    """Records the failures of connection attempts, and the reason of the last one."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self.reason = "no server answered"
        self.started = False
        self.refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """A future that is done when a server refuses the credentials."""

    async def failed(self, error: Exception) -> None:
        """Record an error of the client. The client calls this method."""
        self.reason = without_credentials(str(error)) or type(error).__name__
        if _REFUSAL in self.reason.lower() and not self.refused.done():
            self.refused.set_result(None)
        if self.started:
            _log.warning("NATS at %s: %s", self._servers, self.reason)

    def error(self, error: Exception | None = None) -> BusError:
        """Return the error that a person sees if the first connection fails."""
        reason = self.reason if error is None else without_credentials(str(error))
        if self.refused.done():
            return BusError(
                f"NATS at {self._servers} refuses the credentials of bus.url.",
                hint="Set bus.url to nats://USER:PASSWORD@HOST:4222 with valid credentials.",
            )
        return BusError(
            f"NATS at {self._servers} cannot be reached: {reason}.",
            hint="Start `nats-server -js` there, or correct bus.url (TREADLE_BUS__URL).",
        )
