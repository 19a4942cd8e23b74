"""Live events over a WebSocket: resumption, and the page as an open page."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect

from tests.server.serving import Served, serving
from tests.server.test_ui import until
from treadle.events import EventBus
from treadle.identity.identity import own_identity
from treadle.server.draining import Drain
from treadle.server.event_log import EventLog
from treadle.server.routes.events import events_by_socket
from treadle.server.state import ServerState


def address(served: Served, query: str) -> str:
    return f"{served.address.replace('http', 'ws')}/api/v1/events/socket?{query}"


async def change(served: Served, location: str) -> None:
    answer = await served.http.patch("/api/v1/ui", json={"location": location})
    assert answer.status_code == 200


async def hear(socket: ClientConnection, kind: str) -> dict[str, Any]:
    """The next event of that type. Others, such as the progress of the index, come in between."""
    async with asyncio.timeout(20):
        while True:
            heard: dict[str, Any] = json.loads(await socket.recv())
            if heard["type"] == kind:
                return heard


async def open_pages(served: Served) -> list[str]:
    return [page["id"] for page in (await served.get("/ui"))["pages"]]


async def is_so(served: Served, pages: list[str]) -> bool:
    return await open_pages(served) == pages


async def test_page_that_reconnects_receives_missed_events(repo: Path) -> None:
    async with serving(repo) as served:
        async with connect(address(served, "page=p1")) as socket:
            await until(lambda: is_so(served, ["p1"]))
            await change(served, "/threads")
            first = await hear(socket, "UiChanged")
        assert first["by"] is None
        await until(lambda: is_so(served, []))
        await change(served, "/runs")
        await asyncio.sleep(0.5)  # an event while nobody follows
        async with connect(address(served, f"page=p1&after={first['seq']}")) as socket:
            missed = await hear(socket, "UiChanged")
            await change(served, "/traces")
            next_one = await hear(socket, "UiChanged")
        revisions = [first["revision"], missed["revision"], next_one["revision"]]
        assert revisions == sorted(set(revisions))
        assert len(revisions) == 3


async def test_connection_lost_before_any_event_loses_nothing(repo: Path) -> None:
    async with serving(repo) as served:
        async with connect(address(served, "page=p1")) as socket:
            begun = await hear(socket, "open")
        await change(served, "/runs")
        async with connect(address(served, f"page=p1&after={begun['after']}")) as socket:
            assert (await hear(socket, "UiChanged"))["revision"] == 1


async def test_dropped_events_are_a_gap(repo: Path) -> None:
    async with serving(repo) as served, connect(address(served, "after=1")) as socket:
        gap = await hear(socket, "gap")
        assert gap["after"] == 1
        assert gap["next"] > 1


async def test_client_that_leaves_before_accept_is_not_a_fault() -> None:
    """uvicorn drops a closed connection before the route runs, so `accept` reaches nobody."""
    asked: list[Any] = [
        {"type": "websocket.connect"},
        {"type": "websocket.disconnect", "code": 1006},
    ]

    async def receive() -> Any:
        await asyncio.sleep(0.01)
        return asked.pop(0)

    async def send(message: Any) -> None:
        if message["type"] != "websocket.accept":
            raise RuntimeError("Expected 'websocket.accept'.")

    async with EventLog(EventBus()) as log:
        server = cast("ServerState", SimpleNamespace(log=log))
        socket = WebSocket({"type": "websocket"}, receive, send)
        await events_by_socket(socket, server, Drain(), own_identity())
    assert asked == []
