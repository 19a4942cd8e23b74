"""Sends messages of any size to the other servers of a project over NATS, and receives theirs.

A message arrives at most once, and the messages of one sender arrive in order. The receiver learns
when messages of a sender are lost.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Protocol, Self

from treadle.nats.connection import NatsConnection
from treadle.server.replicas.frames import FrameReader, FrameWriter

_log = logging.getLogger(__name__)

PENDING_BYTES = 32_000_000
"""The maximum size of the received messages that wait. Further messages are lost.

The receiver learns of this loss, too.
"""
_PENDING_MESSAGES = 100_000
_STALLED_BYTES = 8_000_000
"""A connection with more unsent bytes than this counts as lost."""


class Receiver(Protocol):
    """Processes the messages of a channel."""

    async def on_message(self, sender: str, message: bytes) -> None:
        """Process a message."""
        ...

    async def on_loss(self, sender: str) -> None:
        """Process the loss of messages of `sender`."""
        ...


class Channel:
    """Subscribes to some subjects, and sends to any subject. Use it as a context manager."""

    def __init__(
        self, connection: NatsConnection, sender: str, subjects: tuple[str, ...], receiver: Receiver
    ) -> None:
        """Create a channel. `sender` is a new random name, without spaces."""
        self._connection = connection
        self._sender = sender
        self._subjects = subjects
        self._receiver = receiver
        self._writers: dict[str, FrameWriter] = defaultdict(lambda: FrameWriter(sender))
        self._sending = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for subject in self._subjects:
            subscription = await self._connection.client.subscribe(
                subject,
                cb=_callback(self._sender, self._receiver),
                pending_msgs_limit=_PENDING_MESSAGES,
                pending_bytes_limit=PENDING_BYTES,
            )
            self._stack.push_async_callback(_unsubscribe, subscription.unsubscribe)
        await self._connection.client.flush()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def send(self, subject: str, message: bytes) -> bool:
        """Send a message to `subject`. Returns False if there is no connection at present.

        A message that is not sent counts as lost for its receivers.
        """
        from nats.errors import Error

        writer = self._writers[subject]
        client = self._connection.client
        async with self._sending:
            if not self._connection.is_connected or client.pending_data_size > _STALLED_BYTES:
                writer.skip()
                return False
            try:
                for frame in writer.frames(message, client.max_payload):
                    await client.publish(subject, frame)
            except Error:
                writer.skip()
                return False
        return True

    def skip(self, subject: str) -> None:
        """Count a message to `subject` that cannot be sent, so that receivers notice the loss."""
        self._writers[subject].skip()


def _callback(own: str, receiver: Receiver) -> Callable[..., Awaitable[None]]:
    reader = FrameReader()

    async def on_frame(frame: object) -> None:
        try:
            received = reader.read(getattr(frame, "data"))  # noqa: B009  (a `Msg` of nats-py)
        except ValueError:
            _log.warning("NATS delivered a message that is not from Treadle")
            return
        if received.sender == own:
            return
        try:
            if received.lost:
                await receiver.on_loss(received.sender)
            if received.message is not None:
                await receiver.on_message(received.sender, received.message)
        except Exception:  # noqa: BLE001  (one malformed message must not end the subscription)
            _log.exception("A message of another server was not processed")

    return on_frame


async def _unsubscribe(unsubscribe: Callable[[], Awaitable[None]]) -> None:
    from nats.errors import Error

    with suppress(Error):  # without a connection, NATS has already forgotten the subscription
        await unsubscribe()
