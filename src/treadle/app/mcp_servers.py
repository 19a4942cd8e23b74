"""The MCP servers of the settings, for sessions and for the commands that examine them."""

from collections.abc import Mapping
from pathlib import Path

from treadle.app.stores import Stores
from treadle.clock import Clock, SystemClock
from treadle.config.model import Settings
from treadle.mcp_client.definition import Definition
from treadle.mcp_client.known import StoredDefinitions
from treadle.mcp_client.servers import McpServers, Site


class _OnlyRead:
    """Known definitions that are read but never stored."""

    def __init__(self, stored: StoredDefinitions) -> None:
        self._stored = stored

    def of_server(self, server: str) -> dict[str, Definition]:
        return self._stored.of_server(server)

    def add(self, definitions: list[Definition], at_us: int) -> None:
        """Store nothing."""


def mcp_servers(
    root: Path,
    settings: Settings,
    env: Mapping[str, str],
    stores: Stores,
    clock: Clock | None = None,
    *,
    store_definitions: bool = True,
) -> McpServers:
    """Return the servers of the settings. They are not started yet.

    `store_definitions` states whether a tool that is listed for the first time counts as known
    afterwards.
    """
    stored = StoredDefinitions(stores.mcp, root)
    keys = {each.api_key_env for each in settings.providers.values() if each.api_key_env}
    return McpServers(
        settings.mcp,
        Site(root, env, keys),
        stored if store_definitions else _OnlyRead(stored),
        clock or SystemClock(),
    )


async def examined_servers(
    root: Path, settings: Settings, env: Mapping[str, str], stores: Stores
) -> McpServers:
    """Start all servers, wait until each is ready or failed, and end them.

    The returned servers have the last tools and states. Nothing is stored.
    """
    servers = mcp_servers(root, settings, env, stores, store_definitions=False)
    limits = [each.start_timeout for each in settings.mcp.servers.values()]
    async with servers:
        servers.start()
        await servers.wait(2 * max(limits, default=0.0))
    return servers
