"""The saved conversations of one repository. Each conversation serves one message at a time.

The assistant and the agents use the same service. Several tasks of a process may send messages to
one conversation: the service queues them.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self
from uuid import UUID

from treadle.app.stores import conversations_path
from treadle.clock import Clock
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.events.types import MessageQueued, StopReason
from treadle.ids import new_id
from treadle.llm.messages import UserMessage
from treadle.session import Conversation, ConversationStore, Kind
from treadle.session.conversation_writer import ConversationWriter


class Conversations:
    """Loads and creates conversations. The first use opens the store, and the exit closes it."""

    def __init__(self, root: Path, bus: EventBus, clock: Clock) -> None:
        self._root = root
        self._bus = bus
        self._clock = clock
        self._store: ConversationStore | None = None
        self._opening = asyncio.Lock()
        self._locks: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.unsaved: StoreError | None = None
        """The reason why conversations cannot be saved. None before the first use."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._store is not None:
            await self._store.close()

    async def store(self) -> ConversationStore | None:
        """Return the open store, or None if it cannot be opened. `unsaved` then has the reason."""
        async with self._opening:
            if self._store is None and self.unsaved is None:
                try:
                    self._store = await ConversationStore.open(
                        conversations_path(), clock=self._clock
                    )
                except StoreError as error:
                    self.unsaved = error
        return self._store

    async def open_store(self) -> ConversationStore:
        """Return the open store. Raises StoreError if it cannot be opened."""
        store = await self.store()
        if store is None:
            assert self.unsaved is not None
            raise self.unsaved
        return store

    async def create(self, model: str, *, agent: str | None = None) -> Conversation:
        """Create a conversation. It is saved if the store can be opened."""
        store = await self.store()
        if store is not None:
            return await store.create(self._root, model, agent=agent)
        now = self._clock.now_us()
        return Conversation(new_id(), str(self._root), model, now, now, agent=agent)

    async def load(
        self, reference: str, *, kind: Kind = Kind.ASSISTANT, at: int | None = None
    ) -> Conversation:
        """Load the saved conversation with that id, id prefix or "last".

        It resumes from its newest message, or from message `at`. Raises NotFoundError, UsageError
        and StoreError.
        """
        store = await self.open_store()
        return await store.load(reference, root=self._root, at=at, kind=kind)

    @asynccontextmanager
    async def reserve(
        self, conversation: Conversation, message: UserMessage, request_id: UUID
    ) -> AsyncIterator[Conversation]:
        """Wait until the conversation is free, and keep it until the context ends.

        Yields the conversation with the messages that were added while the caller waited. If the
        caller fails before `message` is in the conversation, the service saves it with the failure.
        """
        lock = self._locks[conversation.id]
        if lock.locked():
            await self._bus.publish(MessageQueued(request_id=request_id, text=message.text))
        async with lock:
            store = await self.store()
            if store is not None:
                kind = Kind.ASSISTANT if conversation.agent is None else Kind.AGENT
                conversation = await self.load(str(conversation.id), kind=kind)
            count = len(conversation.entries)
            try:
                yield conversation
            except BaseException as error:
                if len(conversation.entries) == count:
                    writer = ConversationWriter(conversation, store, self._clock)
                    await writer.append(message, request_id=request_id)
                    cancelled = isinstance(error, asyncio.CancelledError)
                    reason = StopReason.CANCELLED if cancelled else StopReason.FAILED
                    await writer.end_turn(conversation.entries[-1], reason)
                raise
