"""Agents over the tools of one repository: who answers a question about what is recorded."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self
from uuid import UUID

from treadle.agents.finding import find_agents
from treadle.agents.page import PageContext
from treadle.agents.report_model import ReportModel
from treadle.agents.runner import AgentRunner, Surroundings, new_conversation
from treadle.app.page_scope import whole_page
from treadle.app.stores import conversations_path
from treadle.app.tool_calls import ToolCalls
from treadle.clock import Clock, SystemClock
from treadle.config.loader import is_trusted
from treadle.config.model import Settings
from treadle.diagnosis.detectors import Rule
from treadle.diagnosis.report import analyse, render
from treadle.errors import StoreError, UsageError
from treadle.events.types import MessageQueued, StopReason
from treadle.llm import connect_with_fallbacks, is_embedded, kept_keys
from treadle.llm.messages import UserMessage
from treadle.llm.port import ChatModel
from treadle.session import (
    Conversation,
    ConversationStore,
    Kind,
    RequestSession,
    SessionOutcome,
)
from treadle.session.keeping import Keeper
from treadle.session.role import Role
from treadle.spans.span import ANALYST_LABEL
from treadle.tools.registry import Registry
from treadle.traces.query import Query

if TYPE_CHECKING:
    from treadle.traces import SqliteTraceStore

ORCHESTRATOR = "orchestrator"
"""The agent that is asked where none is named."""


@dataclass(frozen=True, slots=True)
class _Asked:
    question: str
    page: PageContext
    request_id: UUID
    agent: str
    model: str | None
    stream: bool


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
        self._conversations: ConversationStore | None = None
        self.unsaved: StoreError | None = None
        """Why conversations are not saved; None while they are, or none was asked for."""
        self._places: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        """One for each conversation: who holds it is served."""
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
        conversation: Conversation | None = None,
    ) -> SessionOutcome:
        """What the agent answers; its events bear `request_id`, as those of any session.

        It goes on with `conversation`, after what is asked there already; without one nothing is
        kept. Raises NotFoundError for an agent that there is not, and what a session raises.
        """
        asked = _Asked(question, page, request_id, agent or ORCHESTRATOR, model, stream)
        if conversation is None:
            return await self._answer(asked, new_conversation(self._calls.root, self._clock), None)
        place = self._places[conversation.id]
        if place.locked():
            await self._calls.bus.publish(MessageQueued(request_id=request_id, text=question))
        async with place:
            store = self._conversations
            if store is not None:  # others may have added to it while this waited
                reference = str(conversation.id)
                conversation = await store.load(reference, root=self._calls.root, kind=Kind.AGENT)
            return await self._kept(asked, conversation, store)

    async def conversation(
        self, reference: str | None = None, *, agent: str | None = None
    ) -> Conversation:
        """The saved conversation with that id, prefix or "last"; a new one without reference.

        Raises NotFoundError for one, or an agent, that there is not, UsageError for one with
        another agent, StoreError when a saved one is asked for and none can be read.
        """
        store = await self._opened()
        if reference is None:
            name = AgentRunner(self.agents, self._around(None)).agent(agent or ORCHESTRATOR).name
            if store is None:
                return replace(new_conversation(self._calls.root, self._clock), agent=name)
            return await store.create(self._calls.root, "", agent=name)
        if store is None:
            assert self.unsaved is not None
            raise self.unsaved
        found = await store.load(reference, root=self._calls.root, kind=Kind.AGENT)
        if agent is not None and agent != found.agent:
            raise UsageError(
                f"The conversation {found.id} belongs to the agent {found.agent}.",
                hint="Ask that agent, or start a new conversation.",
            )
        return found

    async def _opened(self) -> ConversationStore | None:
        """The saved conversations; `unsaved` says why there are none to be had."""
        async with self._connecting:
            if self._conversations is None and self.unsaved is None:
                try:
                    opened = await ConversationStore.open(conversations_path(), clock=self._clock)
                    self._conversations = await self._stack.enter_async_context(opened)
                except StoreError as error:
                    self.unsaved = error
        return self._conversations

    async def _kept(
        self, asked: "_Asked", conversation: Conversation, store: ConversationStore | None
    ) -> SessionOutcome:
        """The answer; of a question that could not even be begun with, the question is kept."""
        before = len(conversation.entries)
        try:
            return await self._answer(asked, conversation, store)
        except BaseException as error:
            if len(conversation.entries) == before:
                keeper = Keeper(conversation, store, self._clock)
                message = UserMessage(asked.question, asked.page.told())
                await keeper.append(message, request_id=asked.request_id)
                cancelled = isinstance(error, asyncio.CancelledError)
                reason = StopReason.CANCELLED if cancelled else StopReason.FAILED
                await keeper.end_turn(conversation.entries[-1], reason)
            raise

    async def _answer(
        self, asked: "_Asked", conversation: Conversation, store: ConversationStore | None
    ) -> SessionOutcome:
        runner = AgentRunner(self.agents, self._around(asked.model, stream=asked.stream))
        agent = runner.agent(asked.agent)
        if await is_embedded(self._settings, self._env, model=asked.model or agent.header.model):
            return await self._report(asked, conversation, store)
        return await runner.run(
            agent.name,
            asked.question,
            asked.page,
            request_id=asked.request_id,
            conversation=conversation,
            store=store,
        )

    async def _report(
        self, asked: "_Asked", conversation: Conversation, store: ConversationStore | None
    ) -> SessionOutcome:
        """Answer with the report on what the page shows: the embedded model cannot analyse."""

        async def context(_text: str, _request_id: UUID) -> str:
            return asked.page.told()

        model = ReportModel(lambda: self._analyse(asked.page.scope))
        conversation.model = f"{model.provider}/{model.model}"
        session = RequestSession(
            bus=self._calls.bus,
            model=model,
            registry=Registry(()),
            conversation=conversation,
            role=Role(asked.agent, "", labels=(ANALYST_LABEL,)),
            store=store,
            automatic_context=context,
            stream=False,
            clock=self._clock,
            ids=lambda: asked.request_id,
        )
        return await session.run(asked.question)

    def _around(self, model: str | None, *, stream: bool = True) -> Surroundings:
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

    async def _analyse(self, query: Query) -> str:
        rules = [Rule.of(rule) for rule in self._settings.traces.detectors.rules]
        report = await asyncio.to_thread(
            analyse, self._store, query, rules=rules, now_us=self._clock.now_us()
        )
        return render(report)

    @property
    def _store(self) -> "SqliteTraceStore":
        store = self._calls.recording.store
        if store is None:
            raise StoreError(self._calls.recording.missing or "There are no traces.")
        return store
