"""The assistant for one repository: every part wired together, for whichever front end asks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import UUID

from treadle.app.automatic_context import automatic_context
from treadle.app.stores import conversations_path, open_trace_store
from treadle.app.workspace import build_registry, open_index
from treadle.clock import Clock, SystemClock
from treadle.code import CodeIndex
from treadle.config.model import Settings
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.events.types import IndexProgress
from treadle.llm import connect
from treadle.llm.port import ChatModel
from treadle.session import Conversation, ConversationStore, RequestSession
from treadle.tools.dispatcher import Dispatcher
from treadle.tools.registry import Registry
from treadle.traces import Recorder


@dataclass(frozen=True, slots=True)
class Choices:
    """What the person chose for this call; None and True are the settings' own values."""

    model: str | None = None
    tools: bool = True
    stream: bool = True


@dataclass(slots=True)
class Assistant:
    """Answers questions about the repository at `root`; everything that happens is on `bus`."""

    root: Path
    settings: Settings
    choices: Choices
    bus: EventBus
    index: CodeIndex
    registry: Registry
    model: ChatModel
    conversations: ConversationStore
    clock: Clock
    recorder: Recorder | None = None
    broken_store: str | None = None

    @property
    def unrecorded(self) -> str | None:
        """What is missing from the record, and why; None when nothing is."""
        if self.recorder is None:
            return f"Nothing is recorded: {self.broken_store}"
        loss = self.recorder.loss
        return f"{loss.count} spans could not be recorded: {loss.reason}" if loss else None

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
        """Refresh the index and connect to a model meanwhile.

        How far the index is goes out on `bus` as a part of the request that waits for it. Raises
        ProviderError when no model is in reach, StoreError and ConfigError.
        """
        choices = choices or Choices()
        clock = clock or SystemClock()
        async with AsyncExitStack() as stack:
            index = open_index(root)
            stack.callback(index.close)
            model = await _connected(
                connect(settings, env, model=choices.model), _refresh(index, bus, request_id)
            )
            stack.push_async_callback(model.close)
            tools = build_registry(root, index) if choices.tools else Registry(())
            assistant = cls(
                root=root,
                settings=settings,
                choices=choices,
                bus=bus,
                index=index,
                registry=tools,
                model=model,
                conversations=await stack.enter_async_context(
                    await ConversationStore.open(conversations_path(), clock=clock)
                ),
                clock=clock,
            )
            await assistant._record(stack)
            await stack.enter_async_context(Dispatcher(assistant.bus, tools, root, clock=clock))
            yield assistant

    async def _record(self, stack: AsyncExitStack) -> None:
        """Start the recorder; a question is answered also where it cannot run."""
        try:
            store = await asyncio.to_thread(open_trace_store)
        except StoreError as error:
            self.broken_store = str(error)
            return
        stack.callback(store.close)
        self.recorder = await stack.enter_async_context(Recorder(self.bus, store))

    async def conversation(self, reference: str | None = None) -> Conversation:
        """The saved conversation with that id, prefix or "last"; a new one without reference."""
        if reference is None:
            name = f"{self.model.provider}/{self.model.model}"
            return await self.conversations.create(self.root, name)
        return await self.conversations.load(reference, root=self.root)

    def session(self, conversation: Conversation, request_id: UUID) -> RequestSession:
        """A session that serves the next message of `conversation` as that request."""
        return RequestSession(
            bus=self.bus,
            model=self.model,
            registry=self.registry,
            conversation=conversation,
            store=self.conversations,
            settings=self.settings.tools,
            automatic_context=automatic_context(
                self.bus, self.index, self.settings.context, self.model, self.clock
            ),
            stream=self.choices.stream,
            clock=self.clock,
            ids=lambda: request_id,
        )


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


async def _refresh(index: CodeIndex, bus: EventBus, request_id: UUID) -> None:
    """Bring the index up to date in a thread, and tell how far it is."""
    loop = asyncio.get_running_loop()

    def progress(done: int, total: int) -> None:
        event = IndexProgress(request_id=request_id, parent_id=request_id, done=done, total=total)
        asyncio.run_coroutine_threadsafe(bus.publish(event), loop)

    await asyncio.to_thread(index.refresh, progress)
