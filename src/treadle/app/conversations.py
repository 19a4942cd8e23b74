"""The saved conversations of one repository, for the assistant and for agents.

Each conversation answers one message at a time. If several tasks send messages to the same
conversation, the messages wait in a queue.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self
from uuid import UUID

from treadle.app.conversation_answers import Session
from treadle.app.stores import Stores
from treadle.clock import Clock
from treadle.errors import StoreError, TreadleError
from treadle.events import EventBus
from treadle.events.changes import ConversationChanged, ModeChanged
from treadle.events.types import ErrorKind, MessageQueued, Mode, StopReason
from treadle.ids import NO_REQUEST, new_id
from treadle.llm.messages import UserMessage
from treadle.session import Conversation, ConversationStore, ConversationSummary, Kind
from treadle.session.context_choices import ContextChoices
from treadle.session.conversation_writer import ConversationWriter


class TurnRunningError(TreadleError):
    """Raised if a turn prevents an operation that needs a conversation without a running turn."""

    kind = ErrorKind.CONFLICT

    def __init__(self, title: str) -> None:
        super().__init__(
            f"A turn of the conversation “{title}” is running."
            if title
            else "A turn of the conversation is running.",
            hint="Wait until it ends, or cancel it first.",
        )


class Conversations:
    """Loads and creates conversations.

    The store opens at its first use, and closes with the context.
    """

    def __init__(self, root: Path, bus: EventBus, clock: Clock, stores: Stores) -> None:
        self._root = root
        self._bus = bus
        self._clock = clock
        self._stores = stores
        self._store: ConversationStore | None = None
        self._opening = asyncio.Lock()
        self._locks: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._runs_elsewhere: Callable[[UUID], Awaitable[bool]] | None = None
        self.unsaved: StoreError | None = None
        """The reason why conversations cannot be saved, or None if they can be saved.

        It is also None before the store is first used.
        """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._store is not None:
            await self._store.close()

    async def store(self) -> ConversationStore | None:
        """Return the open store, or None if it cannot be opened.

        If the result is None, `unsaved` contains the reason.
        """
        async with self._opening:
            if self._store is None and self.unsaved is None:
                try:
                    self._store = await ConversationStore.open(
                        self._stores.conversations, clock=self._clock
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

    async def create(
        self, model: str, *, agent: str | None = None, mode: Mode = Mode.NORMAL
    ) -> Conversation:
        """Create a conversation. It is saved if the store can be opened."""
        store = await self.store()
        if store is not None:
            return await store.create(self._root, model, agent=agent, mode=mode)
        now = self._clock.now_us()
        return Conversation(new_id(), str(self._root), model, now, now, agent=agent, mode=mode)

    async def load(
        self, reference: str, *, kind: Kind = Kind.ASSISTANT, at: int | None = None
    ) -> Conversation:
        """Load a saved conversation.

        `reference` is an id, a prefix of an id, or "last". The conversation continues from its
        newest message, or from the message `at`. Raises NotFoundError, UsageError and StoreError.
        """
        store = await self.open_store()
        return await store.load(reference, root=self._root, at=at, kind=kind)

    async def show(self, reference: str) -> Session:
        """Return every message of every branch of a conversation. Raises what `load` raises."""
        store = await self.open_store()
        return await Session.read(store, await store.load(reference, root=self._root))

    async def rename(
        self, reference: str, title: str, *, kind: Kind = Kind.ASSISTANT
    ) -> ConversationSummary:
        """Change a title. Returns the summary with the old title. Raises what `load` raises."""
        store = await self.open_store()
        renamed = await store.rename(reference, title, root=self._root, kind=kind)
        await self.announce(renamed.id)
        return renamed

    async def branch(self, reference: str, at: int) -> Conversation:
        """Continue a conversation from message `at`. The later messages stay as another branch.

        Raises what `load` raises, and TurnRunningError while a turn of the conversation runs.
        """
        store = await self.open_store()
        found = await store.get(reference, root=self._root)
        async with self.exclusive(found.id, found.title):
            conversation = await store.branch(str(found.id), at, root=self._root)
        await self.announce(conversation.id)
        return conversation

    async def choose(self, conversation: Conversation, choices: ContextChoices) -> None:
        """Save what a person pinned and left out. Raises StoreError."""
        store = await self.open_store()
        await store.choose(conversation, choices)
        await self.announce(conversation.id)

    async def mode(self, conversation: Conversation) -> Mode:
        """Return the present mode of a conversation.

        The mode is read from the store, since a person may have changed it in another process.
        Raises StoreError.
        """
        store = await self.store()
        saved = None if store is None else await store.mode(conversation.id)
        return conversation.mode if saved is None else saved

    async def set_mode(self, conversation: Conversation, mode: Mode) -> None:
        """Change the mode of a conversation for a person. The next tool call obeys it.

        Raises StoreError.
        """
        store = await self.store()
        if store is not None:
            await store.set_mode(conversation.id, mode)
        conversation.mode = mode
        await self._bus.publish(
            ModeChanged(request_id=NO_REQUEST, conversation_id=conversation.id, mode=mode)
        )

    async def delete(self, reference: str, *, kind: Kind = Kind.ASSISTANT) -> ConversationSummary:
        """Delete a conversation with all its branches.

        Raises what `load` raises, and TurnRunningError while a turn of the conversation runs.
        """
        store = await self.open_store()
        found = await store.get(reference, root=self._root, kind=kind)
        async with self.exclusive(found.id, found.title):
            deleted = await store.delete(str(found.id), root=self._root, kind=kind)
        await self.announce(deleted.id, gone=True)
        return deleted

    async def announce(self, conversation_id: UUID, *, gone: bool = False) -> None:
        """Publish that a person changed or deleted a conversation."""
        event = ConversationChanged(
            request_id=NO_REQUEST, conversation_id=str(conversation_id), gone=gone
        )
        await self._bus.publish(event)

    @asynccontextmanager
    async def exclusive(self, conversation_id: UUID, title: str) -> AsyncIterator[None]:
        """Keep the conversation free of turns until the context ends. New messages wait.

        Raises TurnRunningError if a turn of the conversation runs or waits, in this process or at
        another server of the project. The error contains `title`.
        """
        lock = self._locks[conversation_id]
        if lock.locked():
            raise TurnRunningError(title)
        async with lock:
            if self._runs_elsewhere is not None and await self._runs_elsewhere(conversation_id):
                raise TurnRunningError(title)
            yield

    def ask_elsewhere(self, runs_elsewhere: Callable[[UUID], Awaitable[bool]] | None) -> None:
        """Set the function that states whether another server runs a turn of a conversation."""
        self._runs_elsewhere = runs_elsewhere

    @asynccontextmanager
    async def reserve(
        self, conversation: Conversation, message: UserMessage, request_id: UUID
    ) -> AsyncIterator[Conversation]:
        """Wait until the conversation is free, and reserve it until the context ends.

        Yields the conversation, including messages that were added during the wait. If the body of
        the context fails before it adds `message` to the conversation, the service adds `message`
        with the reason for the failure.
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
