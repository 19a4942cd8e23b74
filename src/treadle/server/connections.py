"""Connections of clients: who holds the other end, and how long and how much they may keep waiting.

uvicorn limits neither the head of a request nor the time that it takes to arrive, so a client could
fill the memory with one, or use up the descriptors with requests that it never finishes.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from treadle.server.peers import OWN_PEER, PeerUsers

_HEAD_BYTES = 64 << 10
"""Most bytes in a row that are not body: heads, trailers, the framing of chunks."""
_HEAD_SECONDS = 20.0
"""From the connection, or the end of the request before, to the end of the head."""
_BODY_SECONDS = 60.0
"""How long nothing of a body may arrive, and how long one that nobody reads is taken."""
_LOOK_SECONDS = 5.0
_PIPELINED = 16
"""Requests that a client may send before the answer to an earlier one. uvicorn reads on after each
answer, so their number has no bound otherwise: 14 MB of requests took 470 MB."""
_WANTED_DESCRIPTORS = 8192


@dataclass(slots=True)
class Admission:
    """What all connections of a server share."""

    peers: PeerUsers | None
    """None where everybody needs the token."""
    most_strangers: int
    """Connections at once of those who have not proven anything by the connection itself."""
    strangers: set[object] = field(default_factory=set)


class ServerConfig(uvicorn.Config):
    """uvicorn's configuration, with what our connections share."""

    def __init__(self, app: Any, admission: Admission, **options: Any) -> None:
        super().__init__(app, http=Connection, proxy_headers=False, **options)
        self.admission = admission


class _TooManyRequestsError(Exception):
    """More requests wait for their turn on one connection than may."""


class Connection(HttpToolsProtocol):
    """One connection, until it ends or becomes a WebSocket."""

    _unread = 0
    """Bytes that arrived since a part of a body, or the end of a request."""
    _in_head = True
    _complete = False
    _moved = 0.0
    """When something that counts arrived last, by the loop's clock."""
    _looking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        admission = cast("ServerConfig", self.config).admission
        own = admission.peers is not None and admission.peers.is_own(
            transport.get_extra_info("socket")
        )
        self.app_state = {**self.app_state, OWN_PEER: own}
        if not own:
            if len(admission.strangers) >= admission.most_strangers:
                transport.abort()
                return
            admission.strangers.add(self)
        self._moved = self.loop.time()
        self._looking = self.loop.call_later(_LOOK_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        self._leave()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def data_received(self, data: bytes) -> None:
        if self._complete:  # what follows a request begins another one
            self._in_head, self._complete = True, False
            self._moved = self.loop.time()
        self._unread += len(data)
        super().data_received(data)
        if self._unread > _HEAD_BYTES and not self.transport.is_closing():
            self._refuse(431, "Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._complete = True, False
        self._moved = self.loop.time()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._unread = 0
        self._moved = self.loop.time()
        super().on_headers_complete()
        if len(self.pipeline) > _PIPELINED:
            self.transport.close()
            raise _TooManyRequestsError  # what else has arrived is not parsed

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        if self.cycle is not None and not self.cycle.response_complete:
            self._moved = self.loop.time()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unread = 0
        self._complete = True
        super().on_message_complete()

    def _look(self) -> None:
        """End the connection if it is the client that keeps it waiting, and look again later."""
        waited = self.loop.time() - self._moved
        if self._complete or self.flow.read_paused:
            waiting = False  # for an answer, or for the one who reads the body
        elif self._in_head:
            waiting = waited > _HEAD_SECONDS
        else:
            waiting = waited > _BODY_SECONDS
        if waiting:
            self._refuse(408, "Request Timeout")
        else:
            self._looking = self.loop.call_later(_LOOK_SECONDS, self._look)

    def _refuse(self, status: int, reason: str) -> None:
        """Say why where no answer has begun, and close."""
        if self._in_head and (self.cycle is None or self.cycle.response_complete):
            head = f"HTTP/1.1 {status} {reason}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            self.transport.write(head.encode())
        self.transport.close()

    def _leave(self) -> None:
        cast("ServerConfig", self.config).admission.strangers.discard(self)
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None


def most_strangers() -> int:
    """How many connections strangers may hold: a quarter of the descriptors, at most 2,048.

    The number of descriptors is raised to what its limit allows.
    """
    try:
        import resource
    except ImportError:  # not everywhere
        return 128
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = (
        _WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_WANTED_DESCRIPTORS, hard)
    )
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    if soft == resource.RLIM_INFINITY:
        return _WANTED_DESCRIPTORS // 4
    return min(soft, _WANTED_DESCRIPTORS) // 4
