"""Sends the events of this server to the logs of the other servers, and receives theirs.

Events go through NATS without a stream, so a server without a connection misses events. Its log
then contains a gap, and the pages read everything again, as after a restart of the server.
"""

import asyncio
import contextlib
import json
from collections import OrderedDict
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from treadle.clock import Clock
from treadle.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    ModelRequestStarted,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
)
from treadle.nats.connection import NatsConnection
from treadle.nats.names import ProjectNames
from treadle.server.event_log import EventLog, Gap
from treadle.server.replicas.channel import Channel

_IDLE_SECONDS = 1.0
"""Seconds between two empty messages, by which receivers notice that the last event is lost."""
_OWNERS_KEPT = 10_000
_ENDS = {each.__name__ for each in (SessionCancelled, SessionFailed, SessionFinished)}


class SharedEvents:
    """Connects the event log of this server to those of the others while its context is active."""

    def __init__(
        self,
        connection: NatsConnection,
        names: ProjectNames,
        server: str,
        log: EventLog,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._log = log
        self._clock = clock
        self._subject = names.subject("events")
        self._channel = Channel(connection, server, (self._subject,), self)
        self._owners: OrderedDict[UUID, str] = OrderedDict()
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._channel.__aenter__()
        self._connection.on_reconnect(self._miss)
        self._tasks = (
            asyncio.create_task(self._send(self._log.newest), name="shared events"),
            asyncio.create_task(self._keep_alive(), name="signs of events"),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed = True
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self._channel.__aexit__(kind, error, trace)

    def owner(self, thing: UUID) -> str | None:
        """Return the server that published a running request or an open question, if it is known.

        `thing` is the id of the request or of the question.
        """
        return self._owners.get(thing)

    def lose(self, server: str) -> None:
        """Report a gap to the pages if a lost server had running requests or open questions.

        A lost server does not publish the ends of them, so the pages have to read them again.
        """
        if server in self._owners.values():
            self._log.add_gap()

    async def on_message(self, sender: str, message: bytes) -> None:
        """Log an event of another server. The channel calls this method."""
        if message:
            event = json.loads(message)
            self._log.add_foreign(event)
            self._remember_owner(sender, event)

    async def on_loss(self, sender: str) -> None:  # noqa: ARG002  (the interface)
        """Report a gap. The channel calls this method."""
        self._log.add_gap()

    async def _miss(self) -> None:
        if not self._closed:
            self._log.add_gap()

    async def _send(self, after: int) -> None:
        async for event in self._log.follow_shared(after):
            if isinstance(event, Gap):
                self._channel.skip(self._subject)
                continue
            text = event.text
            if event.type == ModelRequestStarted.__name__:
                text = _without_input(text)
            await self._channel.send(self._subject, text.encode())

    async def _keep_alive(self) -> None:
        while True:
            await self._clock.sleep(_IDLE_SECONDS)
            await self._channel.send(self._subject, b"")

    def _remember_owner(self, sender: str, event: dict[str, Any]) -> None:
        request = UUID(event["request_id"])
        match event["type"]:
            case ApprovalRequested.__name__:
                self._owners[UUID(event["approval_id"])] = sender
            case ApprovalResolved.__name__:
                self._owners.pop(UUID(event["approval_id"]), None)
            case end if end in _ENDS:
                self._owners.pop(request, None)
            case _ if request.int:
                self._owners[request] = sender
        while len(self._owners) > _OWNERS_KEPT:
            self._owners.popitem(last=False)


def _without_input(text: str) -> str:
    """Return the event without the messages to the model, which can be large.

    Pages read these messages from the trace.
    """
    event = json.loads(text)
    event["input_text"] = None
    return json.dumps(event, separators=(",", ":"))
