"""Runs several servers of one project in this process, with real HTTP and a real NATS server."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from websockets.asyncio.client import ClientConnection, connect

from treadle.config.loader import load
from treadle.server.app import create_app
from treadle.server.credentials import Credentials
from treadle.server.state import ServerState

TOKEN = "the-token-of-all-servers-of-the-tests"


@dataclass(frozen=True, slots=True)
class Replica:
    """A running server."""

    address: str
    state: ServerState
    http: httpx2.AsyncClient

    async def get(self, path: str, **parameters: Any) -> Any:
        """The JSON of a successful answer."""
        answer = await self.http.get(f"/api/v1{path}", params=parameters)
        assert answer.is_success, answer.text
        return answer.json()

    async def post(self, path: str, body: object = None) -> Any:
        """The JSON of a successful change."""
        answer = await self.http.post(f"/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def socket(self, path: str) -> connect:
        """A WebSocket to a route."""
        url = f"{self.address.replace('http', 'ws')}/api/v1{path}"
        return connect(url, additional_headers={"Authorization": f"Bearer {TOKEN}"})

    @asynccontextmanager
    async def page(self, query: str = "") -> AsyncIterator["Page"]:
        """A page that follows the events from now on."""
        async with self.socket(f"/events/socket{query}") as opened:
            page = Page(opened)
            await page.until("open")
            yield page


@dataclass(slots=True)
class Page:
    """The events that a page receives."""

    opened: ClientConnection
    after: int = 0

    async def next(self) -> dict[str, Any]:
        """The next event."""
        event: dict[str, Any] = json.loads(await asyncio.wait_for(self.opened.recv(), 60))
        self.after = event.get("seq", self.after)
        return event

    async def until(self, kind: str) -> dict[str, Any]:
        """The next event of a type. Events before it are ignored."""
        while True:
            event = await self.next()
            if event["type"] == kind:
                return event

    async def all_until(self, kind: str) -> list[dict[str, Any]]:
        """All events up to the next event of a type."""
        events: list[dict[str, Any]] = []
        while not events or events[-1]["type"] != kind:
            events.append(await self.next())
        return events


@asynccontextmanager
async def replicas(
    count: int, repo: Path, nats_url: str, **env: str
) -> AsyncIterator[list[Replica]]:
    """Start servers that share all stores, and wait until they know each other."""
    async with AsyncExitStack() as stack:
        started = [
            await stack.enter_async_context(replica(repo, nats_url, **env)) for _ in range(count)
        ]
        await know_each_other(started)
        yield started


async def know_each_other(servers: list[Replica]) -> None:
    """Wait until each server knows all others."""
    await wait_until(lambda: all(len(others(each)) == len(servers) - 1 for each in servers))


async def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true that no event reports."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  (several objects change it)
            await asyncio.sleep(0.01)


def others(server: Replica) -> frozenset[str]:
    """The servers that a server knows."""
    assert server.state.others is not None
    return server.state.others.names


@asynccontextmanager
async def replica(repo: Path, nats_url: str, **env: str) -> AsyncIterator[Replica]:
    """Start one server."""
    variables = {"TREADLE_BUS__URL": nats_url, **env}
    loaded = load(repo, variables, {})
    app = create_app(repo, loaded, variables, credentials=Credentials(TOKEN))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            app, lifespan="on", log_level="critical", ws="websockets-sansio",
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        server = _Server(config)
        serving = asyncio.create_task(server._serve([listening]))
        ready = asyncio.create_task(server.ready.wait())
        await asyncio.wait({serving, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if serving.done():
            serving.result()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            async with httpx2.AsyncClient(
                base_url=address, timeout=60, headers={"Authorization": f"Bearer {TOKEN}"}
            ) as http:
                yield Replica(address, app.state.projects.default.server, http)
        finally:
            server.should_exit = True
            await serving


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready.set()
