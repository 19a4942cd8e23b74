"""Limits for connections: their number, their duration and their memory.

uvicorn limits neither the size nor the duration of a request head. Without limits, a client could
exhaust the memory with one request, or the file descriptors with requests that it never completes.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from treadle.server.draining import Drain
from treadle.server.peers import OWN_PEER, PeerUsers

_HEAD_BYTES = 64 << 10
"""The maximum number of consecutive bytes outside of a body.

Such bytes are request heads, trailers and the framing of chunks.
"""
_HEAD_SECONDS = 20.0
"""The maximum time in seconds until the head of a request is complete.

The time starts when the connection is opened or when the previous request ends.
"""
_BODY_SECONDS = 60.0
"""The maximum time in seconds between two parts of a body, while the application waits for one."""
_LOOK_SECONDS = 5.0
_LAST_REQUEST_SECONDS = 1.0
"""While the server drains, it closes a connection after this many seconds without a request."""
_PIPELINED = 16
"""The maximum number of unanswered requests that a client may send on one connection.

uvicorn itself has no maximum. In a measurement without a maximum, 14 MB of requests used 470 MB of
memory.
"""
_MAX_DESCRIPTORS = 8192


@dataclass(slots=True)
class Admission:
    """The state that all connections of a server share, such as the limit for unknown users."""

    peers: PeerUsers | None
    """Finds the user of a connection. It is None if every request needs the token."""
    most_strangers: int
    """The maximum number of open connections from unknown users."""
    drain: Drain = field(default_factory=Drain)
    """States whether the server is ending."""
    strangers: set[object] = field(default_factory=set)


class ServerConfig(uvicorn.Config):
    """A uvicorn configuration that also has the shared state of the connections."""

    def __init__(self, app: Any, admission: Admission, **options: Any) -> None:
        super().__init__(app, http=Connection, proxy_headers=False, **options)
        self.admission = admission


class _TooManyRequestsError(Exception):
    """A client sent more than `_PIPELINED` requests without waiting for their responses."""


class Connection(HttpToolsProtocol):
    """An HTTP connection with limits. The limits end when it becomes a WebSocket."""

    _unread = 0
    """The number of bytes received since the last part of a body or the end of a request."""
    _in_head = True
    _complete = False
    _moved = 0.0
    """The time of the last progress, in seconds of the event loop's clock."""
    _looking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        admission = self._admission
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

    def announce_end(self) -> None:
        """Close the connection after the current response is complete."""
        if self._answers:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Close the connection as soon as it has no request.

        While the server drains, a client that has just connected gets time to send its request.
        """
        waited = self.loop.time() - self._moved
        if self._answers or not self._admission.drain.begun or waited > _LAST_REQUEST_SECONDS:
            super().shutdown()
        else:
            self.loop.call_later(_LAST_REQUEST_SECONDS - waited + 0.01, self.shutdown)

    def handle_websocket_upgrade(self) -> None:
        self._leave()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def data_received(self, data: bytes) -> None:
        if self._complete:  # further bytes belong to the next request
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
        if self._admission.drain.begun and self.cycle is not None:
            self.cycle.keep_alive = False
        if len(self.pipeline) > _PIPELINED:
            self.transport.close()
            raise _TooManyRequestsError  # stops the parsing of the remaining data

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        if self.cycle is not None and not self.cycle.response_complete:
            self._moved = self.loop.time()
        super().on_body(body)

    def on_response_complete(self) -> None:
        self._moved = self.loop.time()
        super().on_response_complete()

    def on_message_complete(self) -> None:
        self._unread = 0
        self._complete = True
        super().on_message_complete()

    @property
    def _admission(self) -> Admission:
        return cast("ServerConfig", self.config).admission

    @property
    def _answers(self) -> bool:
        """Whether a request has no complete response yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _look(self) -> None:
        """Close the connection if its client exceeds a time limit.

        Otherwise schedule the next check.
        """
        waited = self.loop.time() - self._moved
        if self._complete or self.flow.read_paused:
            waiting = False  # the client waits for a response, or the application does not read
        elif self._in_head:
            waiting = waited > _HEAD_SECONDS
        else:
            waiting = waited > _BODY_SECONDS
        if waiting:
            self._refuse(408, "Request Timeout")
        else:
            self._looking = self.loop.call_later(_LOOK_SECONDS, self._look)

    def _refuse(self, status: int, reason: str) -> None:
        """Close the connection. Send the error response first if no other response has started."""
        if self._in_head and (self.cycle is None or self.cycle.response_complete):
            head = f"HTTP/1.1 {status} {reason}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            self.transport.write(head.encode())
        self.transport.close()

    def _leave(self) -> None:
        self._admission.strangers.discard(self)
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None


def most_strangers() -> int:
    """Return the maximum number of connections from unknown users.

    The function first raises the file descriptor limit of this process to the hard limit, but at
    most to 8,192. The result is a quarter of the raised limit, but at most 2,048.
    """
    try:
        import resource
    except ImportError:  # Windows does not have this module
        return 128
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_MAX_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        soft = target
    if soft == resource.RLIM_INFINITY:
        return _MAX_DESCRIPTORS // 4
    return min(soft, _MAX_DESCRIPTORS) // 4
