"""All MCP servers of the settings. They are started in the background by the first turn."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from treadle.clock import Clock, wait_within
from treadle.config.mcp import McpServerSettings, McpSettings
from treadle.mcp_client.known import KnownDefinitions
from treadle.mcp_client.names import SEPARATOR
from treadle.mcp_client.server import McpServer, ServerState, ServerStatus
from treadle.mcp_client.stdio import Launch, Reports, stdio_streams
from treadle.mcp_client.tool import McpTool
from treadle.processes.environment import program_environment

if TYPE_CHECKING:  # the SDK loads slowly
    from mcp.client._transport import TransportStreams


@dataclass(frozen=True, slots=True)
class Site:
    """Where servers run: the root of the repository, and the environment of Treadle.

    `secret` has the names of the variables that contain keys of providers.
    """

    root: Path
    env: Mapping[str, str]
    secret: Collection[str] = ()


class McpServers:
    """The MCP servers that models may use. The end of the context ends all of them."""

    def __init__(
        self, settings: McpSettings, site: Site, known: KnownDefinitions, clock: Clock
    ) -> None:
        self._clock = clock
        self._servers = [
            McpServer(name, each, partial(_streams, each, site, clock), known, clock)
            for name, each in settings.servers.items()
            if each.enabled and _is_complete(each)
        ]
        self.unused = tuple(
            _why_unused(name, each)
            for name, each in settings.servers.items()
            if not (each.enabled and _is_complete(each))
        )
        """A sentence for each server that is not used."""
        self._tasks: list[asyncio.Task[None]] = []
        self._said: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def start(self) -> None:
        """Start the servers in the background. A second call has no effect."""
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(each.run(), name=f"MCP server {each.name}")
                for each in self._servers
            ]

    async def wait(self, seconds: float) -> None:
        """Wait for at most `seconds` until no server is being started for the first time."""
        if not self._servers:
            return

        async def all_settled() -> None:
            await asyncio.gather(*(each.settled() for each in self._servers))

        try:
            await wait_within(all_settled(), seconds, self._clock)
        except TimeoutError:
            return

    def tools(self) -> tuple[McpTool, ...]:
        """Return the tools of all servers that have listed their tools."""
        return tuple(tool for each in self._servers for tool in each.tools())

    def statuses(self) -> tuple[ServerStatus, ...]:
        """Return the state of each used server."""
        return tuple(each.status() for each in self._servers)

    def news(self) -> list[str]:
        """Return a sentence about each server whose state changed since the last call."""
        found = []
        for text, name in ((_sentence(status), status.name) for status in self.statuses()):
            if self._said.get(name) != text:
                self._said[name] = text
                found.append(text)
        return found


def is_of_server(tool: str) -> bool:
    """Whether a tool with this name belongs to an MCP server."""
    return SEPARATOR in tool


@asynccontextmanager
async def _streams(
    settings: McpServerSettings, site: Site, clock: Clock, reports: Reports
) -> "AsyncIterator[TransportStreams]":
    """Open the transport to a server."""
    if settings.command:
        environment = program_environment(
            site.env, site.root, secret=site.secret, keep=settings.pass_env
        )
        variables = {**environment.variables, **settings.env}
        launch = Launch(settings.command, site.root, variables)
        async with stdio_streams(launch, reports, clock) as streams:
            yield streams
        return
    from treadle.mcp_client.http import headers_of, http_streams

    assert settings.url is not None
    headers = await headers_of(settings, site.env)
    async with http_streams(settings.url, headers, settings.timeout) as streams:
        yield streams


def _is_complete(settings: McpServerSettings) -> bool:
    return bool(settings.command) != (settings.url is not None)


def _why_unused(name: str, settings: McpServerSettings) -> str:
    if not settings.enabled:
        return f"The MCP server {name} is switched off."
    return f"The MCP server {name} is not used: it needs either `command` or `url`."


def _sentence(status: ServerStatus) -> str:
    what = f"The MCP server {status.name}"
    match status.state:
        case ServerState.STARTING:
            known = " Its tools are offered when it is ready." if not status.tools else ""
            return f"{what} is being started.{known}"
        case ServerState.READY:
            return " ".join((f"{what} offers {status.tools:,} tools.", *status.problems))
        case ServerState.FAILED:
            return f"{what} failed and is started again in the background. {status.reason}"
