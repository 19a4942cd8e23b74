"""Routes that send the server's events, as server-sent events and over a WebSocket."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Annotated
from uuid import UUID

from fastapi import Header, Query, WebSocket
from fastapi.responses import StreamingResponse
from starlette.websockets import WebSocketDisconnect

from treadle.identity.identity import Scope
from treadle.server.current_project import CurrentServer
from treadle.server.draining import CurrentDrain, Drain
from treadle.server.event_log import Gap, LoggedEvent
from treadle.server.event_shapes import any_event
from treadle.server.openapi import json_responses
from treadle.server.request_identity import CurrentIdentity
from treadle.server.routers import api_router, socket_router
from treadle.server.state import ServerState

router = api_router("", "events")
sockets = socket_router()

_SIGN_OF_LIFE_SECONDS = 15
"""The number of seconds without an event after which the server sends a keep-alive message.

The message prevents proxies from closing an idle stream.
"""

_RECONNECT = "retry: 500\n\n"
"""The last line of a stream: the client reconnects after this number of milliseconds."""


class _EventStream(StreamingResponse):
    media_type = "text/event-stream"


@router.get("/events", response_class=_EventStream, responses=json_responses(any_event))
async def events(
    server: CurrentServer,
    drain: CurrentDrain,
    identity: CurrentIdentity,
    *,
    request_id: UUID | None = None,
    after: Annotated[int | None, Query(ge=0)] = None,
    approve: bool = False,
    page: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    last_event_id: Annotated[int | None, Header(ge=0)] = None,
) -> _EventStream:
    """Send every event as JSON, in the format of `ask --json`, until the client disconnects.

    The id of an event is its sequence number. The stream starts after the event with the number
    `after`, or after the `Last-Event-ID` of a client that reconnects. `after=0` starts with the
    oldest stored event. Without a number, the stream starts with the next new event.

    If events are no longer available, the server sends an event `gap` with `{"after", "next"}`.
    These are the numbers of the events before and after the gap. The client then has to reload
    everything that it shows. When the server ends, the stream ends with `retry: 500`. The client
    then connects again.

    With `approve`, the client states that a person follows the stream and answers approval
    questions at `/approvals`. If the sender may not answer questions, `approve` has no effect.
    `page` is an id that an open page chose for itself. While the stream lasts, that page receives
    the event `UiRequested` and answers it at `/ui`.
    """
    approve = approve and identity.may(Scope.WRITE)
    start = last_event_id if last_event_id is not None else after
    return _EventStream(
        _stream(server, drain, start, request_id, approve=approve, page=page),
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


@sockets.websocket("/events/socket")
async def events_by_socket(
    socket: WebSocket,
    server: CurrentServer,
    drain: CurrentDrain,
    identity: CurrentIdentity,
    *,
    after: Annotated[int | None, Query(ge=0)] = None,
    page: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    approve: bool = False,
) -> None:
    """Send the events over a WebSocket, for pages in a browser.

    A browser opens only six event streams to one server, but more WebSockets. The meaning of
    `after`, `page` and `approve` is the same as in `/events`. The first message is `{"type":
    "open", "after"}`, and the events start after the number `after`. A client can therefore resume
    even if it has not received an event. Every other message is an event as JSON, `{"type": "gap",
    "after", "next"}`, or `{"type": "alive"}` after 15 seconds without an event. The server ignores
    messages from the client.
    """
    approve = approve and identity.may(Scope.WRITE)
    if after is None:
        after = server.log.newest  # the client also gets events published during the handshake
    await socket.accept()
    following = _follow(server, drain, after, None, approve=approve, page=page)
    sending = asyncio.create_task(_send(socket, after, following))
    try:
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
            await sending


async def _send(
    socket: WebSocket, after: int, following: AsyncGenerator[LoggedEvent | Gap | None]
) -> None:
    """Send the events. Raises RuntimeError if the client leaves before the handshake ends."""
    async with aclosing(following):
        await socket.send_text(json.dumps({"type": "open", "after": after}))
        async for event in following:
            if event is None:
                await socket.send_text('{"type": "alive"}')
            elif isinstance(event, Gap):
                await socket.send_text(json.dumps({"type": "gap", **event._asdict()}))
            else:
                await socket.send_text(event.text)


async def _stream(
    server: ServerState,
    drain: Drain,
    start: int | None,
    request_id: UUID | None,
    *,
    approve: bool,
    page: str | None,
) -> AsyncIterator[str]:
    async with aclosing(
        _follow(server, drain, start, request_id, approve=approve, page=page)
    ) as following:
        async for event in following:
            yield _message(event)
    yield _RECONNECT


async def _follow(
    server: ServerState,
    drain: Drain,
    start: int | None,
    request_id: UUID | None,
    *,
    approve: bool,
    page: str | None,
) -> AsyncGenerator[LoggedEvent | Gap | None]:
    """Yield each event when it is published, and None after 15 seconds without an event.

    The iteration ends when the server ends.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(server.log.follower())
        if approve:
            stack.enter_context(server.app.approvals.allow_questions())
            if server.others is not None:
                await stack.enter_async_context(server.others.approving())
        if page is not None:
            await stack.enter_async_context(server.pages.attended(page))
        following = server.log.follow(after=start, request_id=request_id)
        coming = asyncio.ensure_future(anext(following))
        ending = asyncio.ensure_future(drain.streams_ended())
        try:
            while not ending.done():
                done, _ = await asyncio.wait(
                    {coming, ending},
                    timeout=_SIGN_OF_LIFE_SECONDS,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if coming in done:
                    yield coming.result()
                    coming = asyncio.ensure_future(anext(following))
                elif not done:
                    yield None
        finally:
            coming.cancel()
            ending.cancel()


def _message(event: LoggedEvent | Gap | None) -> str:
    if event is None:
        return ": still there\n\n"
    if isinstance(event, Gap):
        return f"event: gap\ndata: {json.dumps(event._asdict())}\n\n"
    return f"event: {event.type}\nid: {event.seq}\ndata: {event.text}\n\n"
