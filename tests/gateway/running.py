"""A running gateway: real HTTP on loopback in front of fake providers, and a real store."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from tests.fakes.provider import FakeProvider
from treadle.clock import Clock, SystemClock
from treadle.config.model import Settings
from treadle.database import StoreAddress
from treadle.errors import NotFoundError
from treadle.events import EventBus
from treadle.gateway import Gateway
from treadle.gateway.key_spending import KeySpending
from treadle.spans.span import Span
from treadle.traces import TraceStore
from treadle.traces.interruptions import recorder_id
from treadle.traces.recorder_files import RecorderFiles

MESSAGES = [{"role": "user", "content": "Hi"}]


@dataclass(frozen=True, slots=True)
class Running:
    """The gateway at `url`, with `/v1`; `http` is a client that keeps bytes unchanged."""

    url: str
    gateway: Gateway
    store: TraceStore
    bus: EventBus
    http: httpx2.AsyncClient

    async def chat(self, **values: Any) -> httpx2.Response:
        """One chat request."""
        headers = values.pop("headers", None)
        body = {"model": "fake/m", "messages": MESSAGES, **values}
        return await self.http.post("/chat/completions", json=body, headers=headers)

    async def spans(self, trace_id: str, count: int = 1) -> list[Span]:
        """The spans of a trace, once there are that many and all have ended."""
        found = list[Span]()

        def there() -> bool:
            found[:] = _trace(self.store, trace_id)
            return len(found) >= count and all(each.end_us for each in found)

        await eventually(there)
        return found

    async def span(self, response: httpx2.Response) -> Span:
        """The span that an answer names."""
        spans = await self.spans(response.headers["x-trace-id"])
        return next(s for s in spans if s.span_id == response.headers["x-span-id"])


async def eventually(holds: Callable[[], bool]) -> None:
    """Return when the condition is true; it is called in a thread. Raises TimeoutError."""
    async with asyncio.timeout(20):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110  (others change it)
            await asyncio.sleep(0.02)


def _trace(store: TraceStore, trace_id: str) -> list[Span]:
    try:
        return list(store.trace(trace_id).spans)
    except NotFoundError:
        return []


def settings(
    *providers: FakeProvider,
    names: Sequence[str] = ("fake", "other", "third"),
    max_retries: int = 0,
    models: Sequence[str] = ("m",),
    **gateway: Any,
) -> Settings:
    """Settings with a provider of each name at the address of each fake one."""
    tables = {
        name: {"base_url": provider.base_url, "max_retries": max_retries, "models": list(models)}
        for name, provider in zip(names, providers, strict=False)
    }
    return Settings.model_validate({"providers": tables, "gateway": gateway})


@asynccontextmanager
async def running(
    folder: Path,
    settings: Settings,
    *,
    env: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    recording: bool = True,
    breakpoints: StoreAddress | None = None,
    spending: Callable[[], KeySpending | None] = lambda: None,
) -> AsyncIterator[Running]:
    """Run a gateway with its data in `folder` until the context is left.

    `spending` returns the object that counts the cost of the next call.
    """
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    store = TraceStore.open(folder / "traces.db")
    bus = EventBus()
    try:
        async with (
            recorder_id(store, RecorderFiles(folder / "recorders"), SystemClock()) as own_id,
            Gateway.open(
                settings,
                env or {},
                store=store if recording else None,
                bus=bus,
                breakpoints=breakpoints or folder / "breakpoints.db",
                recorder_id=own_id,
                clock=clock,
            ) as gateway,
            _served(gateway, spending) as url,
            httpx2.AsyncClient(base_url=url, timeout=30) as http,
        ):
            yield Running(url, gateway, store, bus, http)
    finally:
        store.close()


@asynccontextmanager
async def _served(
    gateway: Gateway, spending: Callable[[], KeySpending | None]
) -> AsyncIterator[str]:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await gateway(scope, receive, send, spending())

    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            answer, lifespan="off", log_level="critical", timeout_graceful_shutdown=1
        )
        server = _Server(config)
        task = asyncio.create_task(server._serve([listening]))
        await server.ready.wait()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        finally:
            server.should_exit = True
            await task


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
