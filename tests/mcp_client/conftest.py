"""Servers that tests start, and the definitions that a person knows."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from treadle.clock import Clock, SystemClock
from treadle.config.mcp import McpServerSettings, McpSettings
from treadle.events.types import CallKey, Event
from treadle.mcp_client.known import StoredDefinitions
from treadle.mcp_client.server import ServerState
from treadle.mcp_client.servers import McpServers, Site
from treadle.mcp_client.tool import McpTool
from treadle.tools.approvals.question import Decision, Question
from treadle.tools.contract import ToolContext

HOSTILE = Path(__file__).parent / "hostile_server.py"
SECONDS = 60.0


@dataclass
class Person:
    """Answers questions as `allows` says, and remembers them."""

    allows: bool = True
    questions: list[Question] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def context(self) -> ToolContext:
        async def approve(question: Question) -> Decision:
            self.questions.append(question)
            return Decision(allowed=self.allows)

        async def publish(event: Event) -> None:
            self.events.append(event)

        return ToolContext(uuid4(), CallKey(0, 0), publish=publish, approve=approve)


@dataclass
class Serving:
    """Running servers, and the folder that their programs use."""

    servers: McpServers
    folder: Path

    def tool(self, name: str) -> McpTool:
        (found,) = [tool for tool in self.servers.tools() if tool.name == name]
        return found

    async def call(self, name: str, person: Person | None = None, **arguments: object) -> str:
        tool = self.tool(name)
        given = tool.arguments.model_validate(arguments)
        return (await tool.run(given, (person or Person()).context())).text

    def starts(self) -> list[int]:
        path = self.folder / "starts"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():  # noqa: ASYNC110  (another process changes it)
                await asyncio.sleep(0.01)

    def states(self) -> list[ServerState]:
        return [each.state for each in self.servers.statuses()]


Serve = Callable[..., AbstractAsyncContextManager[Serving]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Starts one server named `s` that misbehaves as the argument says."""

    @asynccontextmanager
    async def started(
        behaviour: str,
        *,
        clock: Clock | None = None,
        env: dict[str, str] | None = None,
        **settings: object,
    ) -> AsyncIterator[Serving]:
        root, folder = tmp_path / "root", tmp_path / "server"
        root.mkdir(exist_ok=True)
        folder.mkdir(exist_ok=True)
        command = (sys.executable, str(HOSTILE), behaviour, str(folder))
        given = McpServerSettings.model_validate({"command": command, **settings})
        clock = clock or SystemClock()
        known = StoredDefinitions(tmp_path / "mcp.db", root)
        site = Site(root, env or {"PATH": "/usr/bin:/bin"})
        servers = McpServers(McpSettings(servers={"s": given}), site, known, clock)
        async with servers:
            servers.start()
            yield Serving(servers, folder)

    return started
