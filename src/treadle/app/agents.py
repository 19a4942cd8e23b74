"""Agents over the tools of one repository: who answers a question about what is recorded."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Self
from uuid import UUID

from treadle.agents.finding import find_agents
from treadle.agents.page import PageContext
from treadle.agents.planner import Planner
from treadle.agents.runner import AgentRunner, Surroundings
from treadle.agents.steps import Steps
from treadle.app.page_scope import whole_page
from treadle.app.tool_calls import ToolCalls
from treadle.clock import Clock, SystemClock
from treadle.config.loader import is_trusted
from treadle.config.model import Settings
from treadle.errors import StoreError
from treadle.llm import connect_with_fallbacks, is_embedded, kept_keys
from treadle.llm.port import ChatModel
from treadle.session import SessionOutcome
from treadle.tools.registry import Registry
from treadle.traces.analysis import Focus, analyse, render
from treadle.traces.detectors import Rule
from treadle.traces.query import Query

if TYPE_CHECKING:
    from treadle.traces import SqliteTraceStore

ORCHESTRATOR = "orchestrator"
"""The agent that is asked where none is named."""


class AgentDesk:
    """Takes questions; where only the embedded model is in reach, rules answer in its place.

    Use `open`. `warnings` say which agents were passed over, and why.
    """

    def __init__(
        self,
        calls: ToolCalls,
        settings: Settings,
        env: Mapping[str, str],
        stack: AsyncExitStack,
        clock: Clock,
    ) -> None:
        self._calls = calls
        self._settings = settings
        self._env = env
        self._stack = stack
        self._clock = clock
        self._models: dict[tuple[str | None, kept_keys.Stamp], ChatModel] = {}
        self._connecting = asyncio.Lock()
        found = find_agents(calls.root, trusted=is_trusted(calls.root, settings.trusted_roots))
        self.agents, self.warnings = found.agents, found.warnings

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        calls: ToolCalls,
        settings: Settings,
        env: Mapping[str, str],
        *,
        clock: Clock | None = None,
    ) -> AsyncIterator[Self]:
        """Read the definitions; models are connected to when they are needed."""
        async with AsyncExitStack() as stack:
            yield cls(calls, settings, env, stack, clock or SystemClock())

    async def page(self, page: PageContext) -> PageContext:
        """`page` with whole ids; see `page_scope.whole_page`, whose errors it raises."""
        return await asyncio.to_thread(whole_page, self._store, page)

    async def ask(
        self,
        question: str,
        page: PageContext,
        *,
        request_id: UUID,
        agent: str | None = None,
        model: str | None = None,
        stream: bool = True,
    ) -> SessionOutcome:
        """What the agent answers; its events bear `request_id`, as those of any session.

        Raises NotFoundError for an agent that there is not, and what a session raises.
        """
        runner = AgentRunner(self.agents, self._around(model, stream=stream))
        named = runner.agent(agent or ORCHESTRATOR)
        wanted = model or named.header.model
        if await is_embedded(self._settings, self._env, model=wanted):
            planner = Planner(self._steps, self._analyse)
            return await planner.run(question, page, request_id=request_id)
        return await runner.run(named.name, question, page, request_id=request_id)

    def _around(self, model: str | None, *, stream: bool) -> Surroundings:
        calls = self._calls
        return Surroundings(
            bus=calls.bus,
            dispatcher=calls.dispatcher,
            registry=calls.registry,
            external=calls.bridge.tools,
            connect=partial(self._connect, model),
            root=calls.root,
            source=calls.recording.store,
            tools=self._settings.tools,
            limits=self._settings.limits,
            history=self._settings.history,
            clock=self._clock,
            stream=stream,
        )

    async def _connect(self, asked: str | None, own: str | None) -> ChatModel:
        """The model that was asked for, else the agent's own, else that of the settings."""
        name = asked or own
        place = name, kept_keys.stamp()  # after a key was entered it is connected to anew
        async with self._connecting:
            if place not in self._models:
                model = await connect_with_fallbacks(self._settings, self._env, model=name)
                self._stack.push_async_callback(model.close)
                self._models[place] = model
        return self._models[place]

    def _steps(self) -> Steps:
        calls = self._calls
        analyst = Registry(tool for tool in calls.registry if calls.code.get(tool.name) is None)
        return Steps(calls.bus, analyst, self._settings.tools, self._clock)

    async def _analyse(self, query: Query, focus: Focus) -> str:
        rules = [Rule.of(rule) for rule in self._settings.traces.detectors.rules]
        report = await asyncio.to_thread(
            analyse,
            self._store,
            query,
            rules=rules,
            focus=focus,
            now_us=self._clock.now_us(),
        )
        return render(report)

    @property
    def _store(self) -> "SqliteTraceStore":
        store = self._calls.recording.store
        if store is None:
            raise StoreError(self._calls.recording.missing or "There are no traces here.")
        return store
