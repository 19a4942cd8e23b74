"""The embedded model as a provider of the gateway: its own server, started with its first call."""

import asyncio
from typing import Any

from treadle.config.model import ProviderSettings
from treadle.llm.embedded import MODEL_NAME, missing_parts, start_server
from treadle.llm.endpoint import Endpoint
from treadle.llm.profiles import EMBEDDED

_LONGEST_REPLY = 512
"""Tokens of a reply to a call that sets no limit; the small model rarely ends by itself."""

_SETTINGS = ProviderSettings(idle_timeout=600.0, max_retries=0)
"""It reads a long prompt slowly, and what fails here fails again."""


class EmbeddedServer:
    """Serves the embedded model on loopback, from its first call until `close`."""

    def __init__(self) -> None:
        self._server: Any = None
        self._lock = asyncio.Lock()

    @property
    def models(self) -> tuple[str, ...]:
        """What it serves: nothing where it is not installed. Does not start it."""
        return () if missing_parts() else (MODEL_NAME,)

    async def endpoint(self) -> Endpoint:
        """Where it is; takes seconds the first time. Raises ProviderError without its parts."""
        async with self._lock:
            if self._server is None:
                self._server = await asyncio.to_thread(start_server, longest_reply=_LONGEST_REPLY)
            address = self._server.listening_address
        return Endpoint(EMBEDDED, MODEL_NAME, f"{address}/v1", settings=_SETTINGS)

    async def close(self) -> None:
        server, self._server = [self._server], None
        # The engine stops when its last reference goes, which takes a moment: not on this loop.
        await asyncio.to_thread(server.clear)
