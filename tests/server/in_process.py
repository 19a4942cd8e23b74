"""Serves an application on a free port of this process."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp


@asynccontextmanager
async def serving_app(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an application until the context ends. The value is the address of the server."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            app, lifespan="on", log_level="error", ws="websockets-sansio",
            timeout_graceful_shutdown=1, timeout_keep_alive=600,
        )  # fmt: skip
        server = uvicorn.Server(config)
        running = asyncio.create_task(server._serve([listening]))
        try:
            while not server.started:
                await asyncio.sleep(0.01)
                if running.done():
                    running.result()
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running
