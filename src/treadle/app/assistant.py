"""The assistant for one repository: every part wired together, for whichever front end asks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self
from uuid import UUID

from treadle.app.automatic_context import automatic_context
from treadle.app.refreshing import refresh_index
from treadle.app.small_windows import fitted
from treadle.app.stores import conversations_path
from treadle.app.tool_calls import Offer, ToolCalls
from treadle.clock import Clock, SystemClock
from treadle.config.model import Settings
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.ids import new_id
from treadle.llm import connect_with_fallbacks
from treadle.llm.port import ChatModel
from treadle.session import Conversation, ConversationStore, RequestSession
from treadle.session.calibration import Calibration
from treadle.session.recording import SessionRecording
from treadle.toolbox.code.request_code_context import RequestCodeContext


@dataclass(frozen=True, slots=True)
class Choices:
    """What the person chose for this call; None and True are the settings' own values."""

    model: str | None = None
    tools: bool = True
    stream: bool = True


@dataclass(slots=True)
class Assistant:
    """Answers questions about a repository with its tools; everything is on the bus of `calls`."""

    calls: ToolCalls
    settings: Settings
    choices: Choices
    model: ChatModel
    conversations: ConversationStore | None
    clock: Clock
    unsaved: StoreError | None = None
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def missing(self) -> list[str]:
        """What could not be saved or recorded, and why: a question is answered all the same."""
        unsaved = f"This conversation is not saved: {self.unsaved}" if self.unsaved else None
        return [*([unsaved] if unsaved else []), *self.calls.missing]

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        root: Path,
        settings: Settings,
        env: Mapping[str, str],
        *,
        bus: EventBus,
        request_id: UUID,
        choices: Choices | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator[Self]:
        """Open the repository, refresh its index and connect to a model meanwhile.

        How far the index is goes out on `bus` as a part of the request that waits for it. Raises
        ProviderError when no model is in reach, StoreError and ConfigError.
        """
        choices = choices or Choices()
        offer = Offer.CODE if choices.tools else Offer.NOTHING
        opening = ToolCalls.open(root, bus=bus, offer=offer, settings=settings, clock=clock)
        async with (
            opening as calls,
            cls.over(
                calls, settings, env, request_id=request_id, choices=choices, clock=clock
            ) as assistant,
        ):
            yield assistant

    @classmethod
    @asynccontextmanager
    async def over(
        cls,
        calls: ToolCalls,
        settings: Settings,
        env: Mapping[str, str],
        *,
        request_id: UUID,
        choices: Choices | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator[Self]:
        """The same over tools that are served already."""
        choices = choices or Choices()
        clock = clock or SystemClock()
        async with AsyncExitStack() as stack:
            model = await _connected(
                connect_with_fallbacks(settings, env, model=choices.model),
                refresh_index(calls.index, calls.bus, request_id),
            )
            stack.push_async_callback(model.close)
            conversations, unsaved = await _conversations(stack, clock)
            yield cls(calls, settings, choices, model, conversations, clock, unsaved)

    async def conversation(
        self, reference: str | None = None, at: int | None = None
    ) -> Conversation:
        """The saved conversation with that id, prefix or "last"; a new one without reference.

        It goes on from its newest message, or from message `at`. Raises StoreError when a saved
        one is asked for and none can be read.
        """
        if reference is not None and self.unsaved is not None:
            raise self.unsaved
        name = f"{self.model.provider}/{self.model.model}"
        if self.conversations is None:
            now = self.clock.now_us()
            return Conversation(new_id(), str(self.calls.root), name, now, now)
        if reference is None:
            return await self.conversations.create(self.calls.root, name)
        return await self.conversations.load(reference, root=self.calls.root, at=at)

    def session(
        self,
        conversation: Conversation,
        request_id: UUID,
        recording: SessionRecording | None = None,
    ) -> RequestSession:
        """A session that serves the next message of `conversation` as that request."""
        tools = self.calls.code.with_tools(self.calls.bridge.tools())
        if self.model.callable_tools is not None:
            tools = tools.only(self.model.callable_tools)
        tools, role = fitted(conversation.root, tools, self.model.context_window)
        model: ChatModel = self.model
        context = automatic_context(
            self.calls.bus,
            self.calls.index,
            self.settings.context,
            self.model,
            self.clock,
            open_to=partial(self.calls.approvals.open_to, RequestCodeContext.name),
        )
        if recording is not None:
            recording.head(
                conversation,
                model,
                tools,
                self.settings.model_dump(mode="json", include={"tools", "limits", "history"}),
                started_us=self.clock.now_us(),
                stream=self.choices.stream,
            )
            model, context = recording.model(model), recording.context(context)
        return RequestSession(
            bus=self.calls.bus,
            model=model,
            registry=tools,
            conversation=conversation,
            role=role,
            store=self.conversations,
            settings=self.settings.tools,
            limits=self.settings.limits,
            history=self.settings.history,
            calibration=self.calibration,
            automatic_context=context,
            stream=self.choices.stream,
            clock=self.clock,
            ids=lambda: request_id,
        )


async def _conversations(
    stack: AsyncExitStack, clock: Clock
) -> tuple[ConversationStore | None, StoreError | None]:
    """The saved conversations, or why there are none to be had."""
    try:
        store = await ConversationStore.open(conversations_path(), clock=clock)
    except StoreError as error:
        return None, error
    return await stack.enter_async_context(store), None


async def _connected(connecting: Awaitable[ChatModel], refreshing: Awaitable[None]) -> ChatModel:
    """The model, when the index is fresh too; neither is left behind when the other fails."""
    model = asyncio.ensure_future(connecting)
    try:
        await refreshing
        return await model
    except BaseException:
        model.cancel()
        with contextlib.suppress(BaseException):
            await (await model).close()
        raise
