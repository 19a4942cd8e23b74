"""The WebSocket route for front ends that run external tools."""

import asyncio
import contextlib
import json
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Annotated, Literal

from fastapi import Path, WebSocket
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.websockets import WebSocketDisconnect

from treadle.errors import TreadleError, UsageError
from treadle.server.current_project import CurrentServer
from treadle.server.routers import socket_router
from treadle.tools.external import Connection, ToolDefinition, message_json, receive

router = socket_router("/front_ends")

_POLICY_VIOLATION = 1008


class Hello(BaseModel):
    """The first message of a front end.

    `tools` defines new external tools. `runs` names the external tools that the front end runs:
    `"*"` means all external tools. Null means the tools in `tools`.
    """

    model_config = ConfigDict(extra="forbid")

    type: Literal["hello"]
    tools: tuple[ToolDefinition, ...] = Field((), max_length=200)
    runs: tuple[str, ...] | None = Field(None, description='names, or "*"; else those of `tools`')


@router.websocket("/{name}")
async def front_end(
    socket: WebSocket,
    server: CurrentServer,
    name: Annotated[str, Path(min_length=1, max_length=100)],
) -> None:
    """Exchange messages with the front end `name` until it disconnects.

    The first message of the front end is `hello`, and the server answers `{"type": "ready"}`. Then
    the server sends `tool_call` and `tool_call_withdrawn`. The front end sends `tool_result`,
    `tool_error` and `tool_progress`. The server answers an invalid message with `{"type": "error",
    "message", "hint"}`.
    """
    await socket.accept()
    try:
        hello = Hello.model_validate_json(await _text(socket))
        for definition in hello.tools:
            # Lets other tasks run, since checking a schema takes milliseconds.
            await asyncio.sleep(0)
            server.app.bridge.define(definition)
    except (ValidationError, UsageError) as error:
        what = error if isinstance(error, UsageError) else _unreadable(error)
        await _send_error(socket, what)
        await socket.close(_POLICY_VIOLATION)
        return
    except WebSocketDisconnect:
        return
    runs = hello.runs if hello.runs is not None else tuple(tool.name for tool in hello.tools)
    with server.app.bridge.connect(name, runs=runs) as connection:
        others: AbstractAsyncContextManager[None] = nullcontext()
        if server.others is not None:
            others = server.others.front_end(name, connection, runs=runs, tools=hello.tools)
        async with others:
            await _exchange(socket, connection, runs)


async def _exchange(socket: WebSocket, connection: Connection, runs: tuple[str, ...]) -> None:
    await socket.send_json({"type": "ready", "runs": runs})
    sending = asyncio.create_task(_send(socket, connection), name="front end")
    try:
        await _receive(socket, connection)
    except WebSocketDisconnect:
        pass
    finally:
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect):
            await sending


async def _send(socket: WebSocket, connection: Connection) -> None:
    async for message in connection:
        await socket.send_text(json.dumps(message_json(message)))
    await socket.close(_POLICY_VIOLATION, "Another connection replaced this front end.")


async def _receive(socket: WebSocket, connection: Connection) -> None:
    while True:
        try:
            await receive(connection, await _text(socket))
        except TreadleError as error:
            await _send_error(socket, error)


async def _text(socket: WebSocket) -> str:
    """Receive a text message.

    Raises UsageError for a binary message, and WebSocketDisconnect if the client has left.
    """
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message["code"], message.get("reason"))
    text: str | None = message.get("text")
    if text is None:
        raise UsageError("The message is binary.", hint="Send JSON as a text message.")
    return text


async def _send_error(socket: WebSocket, error: TreadleError) -> None:
    await socket.send_json({"type": "error", "message": error.message, "hint": error.hint})


def _unreadable(error: ValidationError) -> UsageError:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return UsageError(
        f"The first message is invalid: {f'{where}: ' if where else ''}{first['msg']}.",
        hint='Send {"type": "hello", "tools": […]}.',
    )
