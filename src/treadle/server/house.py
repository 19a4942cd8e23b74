"""What the routes work with: one repository, its tools, its turns, and the log of its events."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from fastapi import Depends
from starlette.requests import HTTPConnection

from treadle.app.agents import AgentDesk
from treadle.app.event_log import EventLog
from treadle.app.examining import Asking, examined, rules_of
from treadle.app.experiment_feed import experiments_followed
from treadle.app.live_spans import LiveSpans
from treadle.app.refreshing import building
from treadle.app.span_intake import SpanIntake
from treadle.app.stores import conversations_path, experiments_path
from treadle.app.tool_calls import ToolCalls
from treadle.app.turns import Turns
from treadle.clock import SystemClock
from treadle.config.model import Settings
from treadle.config.quantities import age_us, size_bytes
from treadle.config.traces import TraceSettings
from treadle.diagnosis.detectors import Rule
from treadle.errors import StoreError
from treadle.events.conversations import ConversationChanged
from treadle.ids import NO_REQUEST
from treadle.session import ConversationStore
from treadle.traces import SqliteTraceStore
from treadle.traces.retention import Retention, keep_pruned
from treadle.ui.feed import UiFeed
from treadle.ui.service import Ui


@dataclass(frozen=True, slots=True)
class House:
    """Everything that is open while the server runs."""

    calls: ToolCalls
    turns: Turns
    agents: AgentDesk
    log: EventLog
    conversations: ConversationStore
    ui: Ui
    pages: UiFeed
    rules: tuple[Rule, ...]
    """What the settings have detectors look for besides."""
    asking: Asking
    _intake: SpanIntake | None

    async def tell_of_conversation(self, conversation_id: str, *, gone: bool = False) -> None:
        """Tell who follows the events that a person changed it, or took it out."""
        told = ConversationChanged(
            request_id=NO_REQUEST, conversation_id=conversation_id, gone=gone
        )
        await self.calls.bus.publish(told)

    @property
    def intake(self) -> SpanIntake:
        """What takes spans from outside. Raises StoreError where the store could not be opened."""
        if self._intake is None:
            raise StoreError(self.calls.recording.missing or "There are no traces.")
        return self._intake

    @property
    def traces(self) -> SqliteTraceStore:
        """The store of spans. Raises StoreError where it could not be opened."""
        if self.calls.recording.store is None:
            raise StoreError(self.calls.recording.missing or "There are no traces.")
        return self.calls.recording.store

    @classmethod
    @asynccontextmanager
    async def open(
        cls, root: Path, settings: Settings, env: Mapping[str, str]
    ) -> AsyncIterator[Self]:
        """Open the repository at `root`. Raises StoreError and ConfigError."""
        async with AsyncExitStack() as stack:
            calls = await stack.enter_async_context(ToolCalls.open(root, settings=settings))
            # Later than any number of a server that ran before, so that its clients are told so.
            log = EventLog(calls.bus, begin=SystemClock().now_us())
            await stack.enter_async_context(log)
            turns = await stack.enter_async_context(Turns(calls, settings, env))
            agents = await stack.enter_async_context(AgentDesk.open(calls, settings, env))
            conversations = await stack.enter_async_context(
                await ConversationStore.open(conversations_path())
            )
            await stack.enter_async_context(building(calls.index, calls.bus))
            pages = await stack.enter_async_context(UiFeed(calls.screen, calls.bus))
            followed = experiments_followed(experiments_path(), calls.bus)
            await stack.enter_async_context(followed)
            intake, asking = None, Asking()
            if (store := calls.recording.store) is not None:
                most = size_bytes(settings.traces.max_request)
                intake = await stack.enter_async_context(SpanIntake(store, most_bytes=most))
                await stack.enter_async_context(LiveSpans(store, calls.bus))
                await stack.enter_async_context(_pruned(store, settings.traces))
                watched = examined(store, settings.traces.detectors, SystemClock(), asking)
                await stack.enter_async_context(watched)
            ui = Ui(calls.screen)
            rules = rules_of(settings.traces.detectors)
            yield cls(calls, turns, agents, log, conversations, ui, pages, rules, asking, intake)


@asynccontextmanager
async def _pruned(store: SqliteTraceStore, settings: TraceSettings) -> AsyncIterator[None]:
    """Delete what the settings say is not kept, now and then, until it is left."""
    retention = Retention(
        seconds=None if settings.keep is None else age_us(settings.keep) // 1_000_000,
        max_bytes=None if settings.max_size is None else size_bytes(settings.max_size),
    )
    pruning = asyncio.create_task(keep_pruned(store, retention, SystemClock()), name="retention")
    try:
        yield
    finally:
        pruning.cancel()
        with suppress(asyncio.CancelledError):
            await pruning


def _house(connection: HTTPConnection) -> House:
    house: House = connection.app.state.house
    return house


Opened = Annotated[House, Depends(_house)]
"""The house, as a parameter of a route."""
