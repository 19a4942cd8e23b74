"""Keeps a conversation as it happens: in memory first, then in the store if there is one."""

from dataclasses import replace
from uuid import UUID

from treadle.clock import Clock
from treadle.events.types import StopReason
from treadle.llm.messages import AssistantMessage, Message
from treadle.session.conversation import Conversation, Entry, MessageState
from treadle.session.conversations import ConversationStore

_SAVE_EVERY = 1.0
"""Seconds between two savings of a reply that grows: what a kill may cost of its text."""

_UNFINISHED = (MessageState.PENDING, MessageState.GENERATING)


class ConversationWriter:
    """Adds to one conversation. What was added is in memory before a method first waits."""

    def __init__(
        self, conversation: Conversation, store: ConversationStore | None, clock: Clock
    ) -> None:
        self.conversation = conversation
        self._store = store
        self._clock = clock
        self._draft: ReplyDraft | None = None
        for entry in conversation.entries:  # a process that was killed left these as they are
            if entry.state in _UNFINISHED:
                entry.state = MessageState.FAILED

    async def append(self, *messages: Message, request_id: UUID | None = None) -> None:
        """Add messages, all or none of them saved; `request_id` is that of a question."""
        first = len(self.conversation.entries)
        for message in messages:
            self.conversation.add(message, self._clock.now_us(), request_id=request_id)
        if self._store and messages:
            await self._store.append(self.conversation, first)

    async def draft(self, model: AssistantMessage) -> "ReplyDraft":
        """Begin a reply; `model` says whose it is and holds nothing yet."""
        entry = self.conversation.add(model, self._clock.now_us(), MessageState.PENDING)
        self._draft = draft = ReplyDraft(self, entry, self._clock)
        if self._store:
            await self._store.append(self.conversation, len(self.conversation.entries) - 1)
        return draft

    async def cut_draft(self, state: MessageState) -> None:
        """End the reply that is being made, if one is: its text is kept and marked."""
        draft, self._draft = self._draft, None
        if draft is not None:
            await draft.cut(state)

    def settled(self) -> None:
        """The reply that was being made is whole."""
        self._draft = None

    async def end_turn(self, entry: Entry, reason: StopReason) -> None:
        """Note on a user message how its turn ended."""
        entry.stop_reason = reason
        await self.save(entry)

    async def save(self, entry: Entry) -> None:
        """Save what has changed in an entry."""
        if self._store:
            await self._store.update(self.conversation, entry)

    async def drop(self, entry: Entry) -> None:
        """Take out the last entry."""
        assert self.conversation.entries[-1] is entry
        self.conversation.entries.pop()
        if self._store:
            await self._store.remove(self.conversation, entry)


class ReplyDraft:
    """A reply that is being made, kept from its beginning on, so that nothing shown is lost."""

    def __init__(self, writer: ConversationWriter, entry: Entry, clock: Clock) -> None:
        self._writer = writer
        self._entry = entry
        self._clock = clock
        self._parts: list[str] = []
        self._saved: float | None = None

    @property
    def begun(self) -> bool:
        """Whether any of its text has come."""
        return bool(self._parts)

    async def grow(self, text: str) -> None:
        """Take more of the text; saved at once when it is the first, else once in a while."""
        self._parts.append(text)
        now = self._clock.monotonic()
        if self._saved is None or now - self._saved >= _SAVE_EVERY:
            self._saved = now
            self._take_text(MessageState.GENERATING)
            await self._writer.save(self._entry)

    async def complete(self, message: AssistantMessage) -> None:
        """Put the whole reply in its place; one that says and calls nothing is taken out."""
        self._writer.settled()
        if not message.text and not message.calls:
            await self._writer.drop(self._entry)
            return
        self._entry.message, self._entry.state = message, MessageState.COMPLETED
        await self._writer.save(self._entry)

    async def cut(self, state: MessageState) -> None:
        """End it where it is: the text is kept and marked; without any it is taken out."""
        if self._parts:
            self._take_text(state)
            await self._writer.save(self._entry)
        else:
            await self._writer.drop(self._entry)

    def _take_text(self, state: MessageState) -> None:
        begun = self._entry.message
        assert isinstance(begun, AssistantMessage)
        self._entry.message = replace(begun, text="".join(self._parts))
        self._entry.state = state
