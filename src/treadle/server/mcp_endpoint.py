"""The MCP endpoint of the server. It starts at the first request, since importing MCP is slow."""

import asyncio
from importlib import import_module
from typing import Self

from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.app.application import App


class McpEndpoint:
    """An ASGI application for the path `/mcp`. It serves requests until its context ends."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._serving: asyncio.Task[None] | None = None
        self._leaving = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._opened: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leaving.set()
        if self._serving is not None:
            await self._serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve(), name="MCP over HTTP")
        application = await asyncio.shield(self._opened)
        await application(scope, receive, send)

    async def _serve(self) -> None:
        """Run the MCP application in a task. The same task must enter and leave the context."""
        try:
            serve_http = (await asyncio.to_thread(import_module, "treadle.mcp.server")).serve_http
            async with serve_http(self._app) as application:
                self._opened.set_result(application)
                await self._leaving.wait()
        except Exception as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)
