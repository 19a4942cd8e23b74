"""Runs agents for one repository: finds their definitions, connects models, and saves answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Self
from uuid import UUID

from treadle.agents.definitions import find_agents
from treadle.agents.page_context import PageContext, resolve_ids
from treadle.agents.runner import AgentResources, AgentRunner
from treadle.app.application import App
from treadle.config.loader import is_trusted
from treadle.diagnosis.detectors import Rule
from treadle.diagnosis.report import analyse, render
from treadle.errors import UsageError
from treadle.events.types import Usage
from treadle.llm import connect_with_fallbacks, is_embedded, saved_keys
from treadle.llm.chat_model import ChatModel, ModelObserver
from treadle.llm.messages import AssistantMessage, ChatRequest, ModelReply, UserMessage
from treadle.session import Conversation, Kind, RequestSession, SessionOutcome
from treadle.session.role import Role
from treadle.spans.span import ANALYST_LABEL
from treadle.tools.contract import Registry
from treadle.traces.query import Query

NEEDS_MODEL = (
    "Free questions need a model, and none is available: this is the report on the selected "
    'records. To ask questions, set `model = "PROVIDER/MODEL"` in the configuration, or set '
    "OPENAI_API_KEY or OPENROUTER_API_KEY in the environment."
)
"""The last paragraph of the answer if no model is available."""


class ReportModel:
    """A `ChatModel` that answers every request with the text that `write_report` returns."""

    provider = "treadle"
    model = "rules"
    context_window = 1_000_000_000
    callable_tools: frozenset[str] | None = frozenset()

    def __init__(self, write_report: Callable[[], Awaitable[str]]) -> None:
        self._write_report = write_report

    async def takes_images(self) -> bool:
        """Return False."""
        return False

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:  # noqa: ARG002
        """Return the report, which costs nothing. `observer` receives no event."""
        text = f"{await self._write_report()}\n{NEEDS_MODEL}"
        message = AssistantMessage(text, provider=self.provider, model=self.model)
        return ModelReply(message, "stop", Usage(0, 0), cost=0.0)

    async def close(self) -> None:
        """Do nothing, since the model has no connection."""


ORCHESTRATOR = "orchestrator"
"""The agent that answers if the caller names no agent."""


class AgentService:
    """Answers questions with agents.

    If only the embedded model is available, the answer is a report about the spans that the page
    shows. Create the service with `open`. Each of the `warnings` names an ignored definition of an
    agent, and states why it was ignored.
    """

    def __init__(self, app: App, stack: AsyncExitStack) -> None:
        self._app = app
        self._stack = stack
        self._models: dict[tuple[str | None, saved_keys.Stamp], ChatModel] = {}
        self._connecting = asyncio.Lock()
        found = find_agents(
            app.root,
            trusted=is_trusted(app.root, app.settings.trusted_roots),
            own_folder=app.settings.folder,
        )
        self.agents, self.warnings = found.agents, found.warnings

    @classmethod
    @asynccontextmanager
    async def open(cls, app: App) -> AsyncIterator[Self]:
        """Read the definitions of agents. A model is connected when a question needs it."""
        async with AsyncExitStack() as stack:
            yield cls(app, stack)

    async def resolve_page(self, page: PageContext) -> PageContext:
        """Return `page` with full ids in place of prefixes. Raises the errors of `resolve_ids`."""
        return await asyncio.to_thread(resolve_ids, self._app.traces, page)

    async def conversation(
        self, reference: str | None = None, *, agent: str | None = None
    ) -> Conversation:
        """Load a saved conversation, or create one if `reference` is None.

        `reference` is an id, a prefix of an id, or "last". Raises NotFoundError for an unknown
        conversation or agent, and UsageError if the conversation belongs to another agent. Raises
        StoreError if saved conversations cannot be read.
        """
        if reference is None:
            name = self._runner(None).agent(agent or ORCHESTRATOR).name
            return await self._app.conversations.create("", agent=name)
        found = await self._app.conversations.load(reference, kind=Kind.AGENT)
        if agent is not None and agent != found.agent:
            raise UsageError(
                f"The conversation {found.id} belongs to the agent {found.agent}.",
                hint="Ask that agent, or start a new conversation.",
            )
        return found

    async def ask(
        self,
        question: str,
        page: PageContext,
        *,
        request_id: UUID,
        conversation: Conversation,
        model: str | None = None,
        stream: bool = True,
    ) -> SessionOutcome:
        """Answer with the agent of the conversation, and save the answer in the conversation.

        The method first waits until earlier questions of the conversation are answered. The events
        of the question have the request id `request_id`. Raises the errors of a session.
        """
        message = UserMessage(question, page.describe())
        reserved = self._app.conversations.reserve(conversation, message, request_id)
        async with reserved as current:
            runner = self._runner(model, stream=stream)
            agent = runner.agent(current.agent or ORCHESTRATOR)
            name = model or agent.header.model
            if await is_embedded(self._app.settings, self._app.env, model=name):
                return await self._report(question, page, request_id, current)
            return await runner.run(
                agent.name,
                question,
                page,
                request_id=request_id,
                conversation=current,
                store=await self._app.conversations.store(),
            )

    async def _report(
        self, question: str, page: PageContext, request_id: UUID, conversation: Conversation
    ) -> SessionOutcome:
        """Answer with the report about the spans that the page shows."""

        async def context(_text: str, _request_id: UUID) -> str:
            return page.describe()

        model = ReportModel(lambda: self._analyse(page.scope))
        conversation.model = f"{model.provider}/{model.model}"
        session = RequestSession(
            executor=self._app.executor,
            model=model,
            registry=Registry(()),
            conversation=conversation,
            role=Role(conversation.agent or ORCHESTRATOR, "", labels=(ANALYST_LABEL,)),
            store=await self._app.conversations.store(),
            automatic_context=context,
            stream=False,
            clock=self._app.clock,
            ids=lambda: request_id,
        )
        return await session.run(question)

    async def _analyse(self, query: Query) -> str:
        rules = [Rule.of(rule) for rule in self._app.settings.traces.detectors.rules]
        now_us = self._app.clock.now_us()
        report = await asyncio.to_thread(
            analyse, self._app.traces, query, rules=rules, now_us=now_us
        )
        return render(report)

    def _runner(self, model: str | None, *, stream: bool = True) -> AgentRunner:
        app = self._app
        resources = AgentResources(
            executor=app.executor,
            registry=app.registry,
            external=app.bridge.tools,
            connect=partial(self._connect, model),
            root=app.root,
            source=app.recording.store,
            tools=app.settings.tools,
            limits=app.settings.limits,
            history=app.settings.history,
            clock=app.clock,
            stream=stream,
        )
        return AgentRunner(self.agents, resources)

    async def _connect(self, requested: str | None, default: str | None) -> ChatModel:
        """Connect to the model `requested`, or to `default` if `requested` is None."""
        name = requested or default
        # A new API key requires a new connection.
        key = name, saved_keys.stamp(self._app.settings.folder)
        async with self._connecting:
            if key not in self._models:
                app = self._app
                model = await connect_with_fallbacks(app.settings, app.env, model=name)
                self._stack.push_async_callback(model.close)
                self._models[key] = model
        return self._models[key]
