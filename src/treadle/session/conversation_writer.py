"""Adds the messages of a running session to a conversation, in memory and then in the store."""

from dataclasses import replace
from uuid import UUID

from treadle.clock import Clock
from treadle.events.types import StopReason
from treadle.llm.messages import AssistantMessage, Message
from treadle.session.conversation import Conversation, Entry, MessageState
from treadle.session.conversations import ConversationStore

_SAVE_EVERY = 1.0
"""Seconds between two writes of a growing reply.

If the process is killed, the text that arrived since the last write is lost.
"""

_UNFINISHED = (MessageState.PENDING, MessageState.GENERATING)


class ConversationWriter:
    """Adds messages to one conversation.

    Each method changes the conversation in memory before it waits for the store.
    """

    def __init__(
        self, conversation: Conversation, store: ConversationStore | None, clock: Clock
    ) -> None:
        self.conversation = conversation
        self._store = store
        self._clock = clock
        self._draft: ReplyDraft | None = None
        for entry in conversation.entries:  # a killed process left these replies unfinished
            if entry.state in _UNFINISHED:
                entry.state = MessageState.FAILED

    async def append(self, *messages: Message, request_id: UUID | None = None) -> None:
        """Add messages and save them together.

        `request_id` is the id of the request session that answers a user message.
        """
        first = len(self.conversation.entries)
        for message in messages:
            self.conversation.add(message, self._clock.now_us(), request_id=request_id)
        if self._store and messages:
            await self._store.append(self.conversation, first)

    async def draft(self, model: AssistantMessage) -> "ReplyDraft":
        """Begin a reply.

        `model` is a message without text that names the provider and the model.
        """
        entry = self.conversation.add(model, self._clock.now_us(), MessageState.PENDING)
        self._draft = draft = ReplyDraft(self, entry, self._clock)
        if self._store:
            await self._store.append(self.conversation, len(self.conversation.entries) - 1)
        return draft

    async def cut_draft(self, state: MessageState) -> None:
        """End the current reply, if there is one.

        The text so far is kept and gets the state `state`.
        """
        draft, self._draft = self._draft, None
        if draft is not None:
            await draft.cut(state)

    def reply_completed(self) -> None:
        """Record that the current reply is complete."""
        self._draft = None

    async def end_turn(self, entry: Entry, reason: StopReason) -> None:
        """Save the reason why a run ended, in the entry of the user message that began the run."""
        entry.stop_reason = reason
        await self.save(entry)

    async def save(self, entry: Entry) -> None:
        """Save the changes of an entry."""
        if self._store:
            await self._store.update(self.conversation, entry)

    async def drop(self, entry: Entry) -> None:
        """Remove `entry`, which must be the last entry."""
        assert self.conversation.entries[-1] is entry
        self.conversation.entries.pop()
        if self._store:
            await self._store.remove(self.conversation, entry)


class ReplyDraft:
    """A reply that is not complete yet.

    It is saved while it grows, so a crash loses little text.
    """

    def __init__(self, writer: ConversationWriter, entry: Entry, clock: Clock) -> None:
        self._writer = writer
        self._entry = entry
        self._clock = clock
        self._parts: list[str] = []
        self._saved: float | None = None

    @property
    def has_text(self) -> bool:
        """Whether any text has arrived."""
        return bool(self._parts)

    async def add_text(self, text: str) -> None:
        """Add text to the reply. The first text is saved immediately, later text once a second."""
        self._parts.append(text)
        now = self._clock.monotonic()
        if self._saved is None or now - self._saved >= _SAVE_EVERY:
            self._saved = now
            self._take_text(MessageState.GENERATING)
            await self._writer.save(self._entry)

    async def complete(self, message: AssistantMessage) -> None:
        """Replace the draft by the whole reply. A reply without text and calls is removed."""
        self._writer.reply_completed()
        if not message.text and not message.calls:
            await self._writer.drop(self._entry)
            return
        self._entry.message, self._entry.state = message, MessageState.COMPLETED
        await self._writer.save(self._entry)

    async def cut(self, state: MessageState) -> None:
        """End the reply. The text so far is kept and gets the state `state`.

        A reply without text is removed.
        """
        if self._parts:
            self._take_text(state)
            await self._writer.save(self._entry)
        else:
            await self._writer.drop(self._entry)

    def _take_text(self, state: MessageState) -> None:
        message = self._entry.message
        assert isinstance(message, AssistantMessage)
        self._entry.message = replace(message, text="".join(self._parts))
        self._entry.state = state
