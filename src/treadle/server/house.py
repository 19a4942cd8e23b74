"""What the routes work with: one repository, its tools, its turns, and the log of its events."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from fastapi import Depends
from starlette.requests import HTTPConnection

from treadle.app.event_log import EventLog
from treadle.app.stores import conversations_path
from treadle.app.tool_calls import ToolCalls
from treadle.app.turns import Turns
from treadle.config.model import Settings
from treadle.session import ConversationStore


@dataclass(frozen=True, slots=True)
class House:
    """Everything that is open while the server runs."""

    calls: ToolCalls
    turns: Turns
    log: EventLog
    conversations: ConversationStore

    @classmethod
    @asynccontextmanager
    async def open(
        cls, root: Path, settings: Settings, env: Mapping[str, str]
    ) -> AsyncIterator[Self]:
        """Open the repository at `root`. Raises StoreError and ConfigError."""
        async with (
            ToolCalls.open(root) as calls,
            EventLog(calls.bus) as log,
            Turns(calls, settings, env) as turns,
            await ConversationStore.open(conversations_path()) as conversations,
        ):
            yield cls(calls, turns, log, conversations)


def _house(connection: HTTPConnection) -> House:
    house: House = connection.app.state.house
    return house


Opened = Annotated[House, Depends(_house)]
"""The house, as a parameter of a route."""
