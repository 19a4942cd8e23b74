"""Agents over real tools and real records, with a provider that plays a script."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fakes.provider import FakeProvider, Reply
from treadle.agents.page_context import PageContext
from treadle.app.agents import AgentService
from treadle.app.application import open_app
from treadle.app.stores import Stores
from treadle.config.model import Settings
from treadle.events import Event, EventBus
from treadle.events.types import (
    ApprovalRequested,
    ApprovalScope,
    SessionStarted,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from treadle.ids import new_id
from treadle.session import SessionOutcome
from treadle.spans.span import Span


@dataclass
class AgentHarness:
    """The agents, and every event of their questions."""

    agents: AgentService
    provider: FakeProvider | None
    events: list[Event] = field(default_factory=list)

    async def ask(
        self, question: str, page: PageContext | None = None, agent: str | None = None
    ) -> SessionOutcome:
        return await self.agents.ask(
            question,
            page or PageContext(),
            request_id=new_id(),
            conversation=await self.agents.conversation(agent=agent),
        )

    @property
    def called(self) -> list[str]:
        """The names of the called tools, in order."""
        return [each.name for each in self.events if isinstance(each, ToolCallRequested)]

    @property
    def failures(self) -> list[str]:
        """The messages of failed calls."""
        return [each.error.message for each in self.events if isinstance(each, ToolCallFailed)]

    @property
    def completed(self) -> int:
        """The number of successful calls."""
        return sum(isinstance(each, ToolCallCompleted) for each in self.events)

    @property
    def sessions(self) -> list[SessionStarted]:
        """The sessions that started."""
        return [each for each in self.events if isinstance(each, SessionStarted)]


@asynccontextmanager
async def agent_harness(
    folder: Path,
    patch: pytest.MonkeyPatch,
    replies: Sequence[Reply] | None,
    spans: Sequence[Span] = (),
    *,
    answer: ApprovalScope = ApprovalScope.ONCE,
) -> AsyncIterator[AgentHarness]:
    """Agents whose model plays `replies`; None: no model. `answer` decides every approval."""
    patch.setenv("TREADLE_HOME", str(folder / "home"))
    repo = folder / "repo"
    repo.mkdir(exist_ok=True)
    store = Stores.of_user().open_traces()
    try:
        await asyncio.wrap_future(store.write(spans))
    finally:
        store.close()
    async with FakeProvider(replies or []) as provider:
        env = {}
        if replies is not None:
            env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "sk-local"}
        settings = Settings(model="embedded/any" if replies is None else None)
        for name, value in env.items():
            patch.setenv(name, value)
        bus, events = EventBus(), list[Event]()
        with bus.subscribe() as heard:
            async with (
                open_app(
                    repo, bus=bus, settings=settings, env=env if replies is not None else {}
                ) as app,
                AgentService.open(app) as agents,
            ):

                async def listen() -> None:
                    async for envelope in heard:
                        events.append(envelope.event)
                        if isinstance(envelope.event, ApprovalRequested):
                            app.approvals.answer(envelope.event.approval_id, answer)

                listening = asyncio.create_task(listen())
                with app.approvals.allow_questions():
                    yield AgentHarness(agents, provider if replies is not None else None, events)
            heard.close()
            await listening
