"""The end of a server that receives SIGTERM: it completes its work, and clients change servers.

1. `/readyz` answers 503, and each response closes its connection. The server still accepts
   connections until a load balancer has noticed the 503. Running turns continue.
2. The server stops accepting connections, and ends the event streams. Running requests continue.
3. The services of the server close. Received spans that are not stored yet are committed.
"""

import asyncio
import ctypes
import socket
import struct
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

_ACCEPT_SECONDS = 0.05
_ATTACH_FILTER = 26
"""The Linux socket option SO_ATTACH_FILTER, which the module `socket` does not name."""
_RETURN_NOTHING = struct.pack("HBBI", 0x06, 0, 0, 0)
"""A packet filter with one instruction, which drops every packet."""


@dataclass(frozen=True, slots=True)
class DrainTimes:
    """The limits of the steps, in seconds since the signal."""

    notice: float
    """The minimum time in which the server accepts connections."""
    limit: float
    """The maximum time for running turns and requests."""


class Drain:
    """Whether the server is ending. Connections, event streams and probes read it."""

    def __init__(self) -> None:
        self._begun = False
        self._streams_ended = asyncio.Event()

    @property
    def begun(self) -> bool:
        """Whether the server has received SIGTERM."""
        return self._begun

    def begin(self) -> None:
        """Make `/readyz` answer 503, and each further response close its connection."""
        self._begun = True

    def end_streams(self) -> None:
        """End all event streams."""
        self._streams_ended.set()

    async def streams_ended(self) -> None:
        """Wait until the event streams have to end."""
        await self._streams_ended.wait()


def _drain(connection: HTTPConnection) -> Drain:
    drain: Drain = connection.app.state.drain
    return drain


CurrentDrain = Annotated[Drain, Depends(_drain)]
"""Annotation for route parameters that receive the state of the server's end."""


async def wait_for_tasks(
    running: Callable[[], Collection[asyncio.Task[object]]], times: DrainTimes
) -> float:
    """Wait for `times.notice` seconds, and then until no task runs or `times.limit` is reached.

    `running` returns the tasks that run. A task may start others. Returns the seconds that are left
    until the limit.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + times.limit
    await asyncio.sleep(times.notice)
    while (tasks := running()) and (left := end - loop.time()) > 0:
        await asyncio.wait(tasks, timeout=left)
    return max(0.0, end - loop.time())


async def refuse_connections(listening: Iterable[socket.socket]) -> None:
    """Refuse new connections, and wait until the event loop has accepted the earlier ones.

    When a listening socket is closed, the system resets each connection that it has established
    and the program has not accepted. On Linux, a packet filter therefore drops the packets of new
    connections before the socket is closed. Clients send these packets again, and are refused after
    the socket is closed.
    """
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(_RETURN_NOTHING, len(_RETURN_NOTHING))
    option = struct.pack("HP", 1, ctypes.addressof(program))
    for each in listening:
        each.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, option)
    await asyncio.sleep(_ACCEPT_SECONDS)
