"""Receives the live events of a running `treadle serve`. Connects again after a lost connection."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import aiohttp

from treadle.clock import Clock
from treadle.events import Event
from treadle.events.encoding import event_from_json
from treadle.json_records import JsonMismatchError
from treadle.tui.server_client import ServerClient, ServerLostError
from treadle.tui.workbench import ConnectionChanged, Missed

_FIRST_DELAY = 0.5
_LONGEST_DELAY = 10.0
"""The first and the longest time in seconds between two attempts to reach a lost server."""


class RemoteEvents:
    """The events of a server, received through a WebSocket."""

    def __init__(
        self, server: ServerClient, socket: aiohttp.ClientWebSocketResponse, clock: Clock
    ) -> None:
        self._server = server
        self._socket: aiohttp.ClientWebSocketResponse | None = socket
        self._clock = clock
        self._after: int | None = None
        """The number of the last received event."""
        self._sending = 0
        self._sent = asyncio.Event()
        self._sent.set()

    async def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            await self._socket.close()

    async def receive(self) -> AsyncIterator[Event | Missed | ConnectionChanged]:
        """Yield the events of the server, until the caller stops the iteration.

        If the connection is lost, connect again, as often as necessary. Events that arrive during a
        block of `held` are yielded after the block.
        """
        while True:
            if self._socket is None:
                async for change in self._connect_again():
                    yield change
            assert self._socket is not None
            async for event in self._received(self._socket):
                await self._sent.wait()
                yield event
            self._socket = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the received events back until the block ends."""
        self._sending += 1
        self._sent.clear()
        try:
            yield
        finally:
            self._sending -= 1
            if not self._sending:
                self._sent.set()

    async def _received(
        self, socket: aiohttp.ClientWebSocketResponse
    ) -> AsyncIterator[Event | Missed]:
        """Yield the events of one connection until it ends."""
        while True:
            try:
                message = await socket.receive()
            except (aiohttp.ClientError, TimeoutError, OSError):
                return
            if message.type is not aiohttp.WSMsgType.TEXT:
                return
            data = json.loads(message.data)
            match data["type"]:
                case "open":
                    self._after = data["after"]
                case "gap":
                    self._after = data["next"] - 1
                    yield Missed()
                case "alive":
                    pass
                case _:
                    self._after = data["seq"]
                    try:
                        event = event_from_json(data)
                    except JsonMismatchError:  # another version of Treadle sent this event
                        continue
                    if event is not None:
                        yield event

    async def _connect_again(self) -> AsyncIterator[ConnectionChanged]:
        """Connect again, and yield the state of the connection.

        The server then sends the missed events. If it no longer has them, it sends a gap.
        """
        delay = _FIRST_DELAY
        while self._socket is None:
            yield ConnectionChanged(self._server.address, retry_in=delay)
            await self._clock.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)
            try:
                self._socket = await self._server.socket(self._after)
            except ServerLostError:
                continue
        yield ConnectionChanged(self._server.address, retry_in=None)
