"""The events of the server, as server-sent events and over a WebSocket."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, WebSocket
from fastapi.responses import StreamingResponse
from starlette.websockets import WebSocketDisconnect

from treadle.server.event_log import Gap, LoggedEvent
from treadle.server.event_shapes import any_event
from treadle.server.openapi import json_responses
from treadle.server.state import CurrentServer, ServerState

router = APIRouter(tags=["events"])
sockets = APIRouter(tags=["events"])

_SIGN_OF_LIFE_SECONDS = 15
"""After this silence the server sends a comment, so that no proxy closes the stream."""


class _EventStream(StreamingResponse):
    media_type = "text/event-stream"


@router.get("/events", response_class=_EventStream, responses=json_responses(any_event))
async def events(
    server: CurrentServer,
    *,
    request_id: UUID | None = None,
    after: Annotated[int | None, Query(ge=0)] = None,
    approve: bool = False,
    page: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    last_event_id: Annotated[int | None, Header(ge=0)] = None,
) -> _EventStream:
    """Every event as JSON, as `ask --json` prints it, without end. The id is its number.

    The stream starts after number `after`, or after the `Last-Event-ID` of a client that
    reconnects. Without either it starts with the next event, with 0 at the first saved event. An
    event `gap` with `{"after", "next"}` reports events that are not available: a client then reads
    everything that it shows again. With `approve`, a person follows the stream and answers at
    `/approvals`. With `page`, the id that a page chose for itself, the page counts as open: it
    receives `UiRequested` and answers at `/ui`.
    """
    start = last_event_id if last_event_id is not None else after
    return _EventStream(
        _stream(server, start, request_id, approve=approve, page=page),
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


@sockets.websocket("/events/socket")
async def events_by_socket(
    socket: WebSocket,
    server: CurrentServer,
    *,
    after: Annotated[int | None, Query(ge=0)] = None,
    page: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    approve: bool = False,
) -> None:
    """The same over a WebSocket, since a browser opens only six event streams to one server.

    Each message is an event as JSON, `{"type": "gap", "after", "next"}`, or, after a silence,
    `{"type": "alive"}`. The first message is `{"type": "open", "after"}` with the number before the
    first event, so that a client can resume even before an event. The server ignores messages of
    the client.
    """
    if after is None:
        after = server.log.newest  # includes events during the handshake
    await socket.accept()
    following = _follow(server, after, None, approve=approve, page=page)
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
    """Raises RuntimeError if the client has left, which may happen before the handshake ends."""
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
    start: int | None,
    request_id: UUID | None,
    *,
    approve: bool,
    page: str | None,
) -> AsyncIterator[str]:
    async with aclosing(
        _follow(server, start, request_id, approve=approve, page=page)
    ) as following:
        async for event in following:
            yield _message(event)


async def _follow(
    server: ServerState,
    start: int | None,
    request_id: UUID | None,
    *,
    approve: bool,
    page: str | None,
) -> AsyncGenerator[LoggedEvent | Gap | None]:
    """The events as they come; None after a silence."""
    async with AsyncExitStack() as stack:
        if approve:
            stack.enter_context(server.app.approvals.allow_questions())
        if page is not None:
            await stack.enter_async_context(server.pages.attended(page))
        following = server.log.follow(after=start, request_id=request_id)
        coming = asyncio.ensure_future(anext(following))
        try:
            while True:
                done, _ = await asyncio.wait({coming}, timeout=_SIGN_OF_LIFE_SECONDS)
                if not done:
                    yield None
                    continue
                yield coming.result()
                coming = asyncio.ensure_future(anext(following))
        finally:
            coming.cancel()


def _message(event: LoggedEvent | Gap | None) -> str:
    if event is None:
        return ": still there\n\n"
    if isinstance(event, Gap):
        return f"event: gap\ndata: {json.dumps(event._asdict())}\n\n"
    return f"event: {event.type}\nid: {event.seq}\ndata: {event.text}\n\n"
