"""A conversation in memory: its messages in order, and how each turn ended."""

from dataclasses import dataclass, field
from uuid import UUID

from treadle.events.types import StopReason
from treadle.llm.messages import AssistantMessage, Message, UserMessage
from treadle.secrets import redact

TITLE_LIMIT = 80
"""Characters of a title."""


@dataclass(slots=True)
class Entry:
    """A message and when it came, in Unix microseconds.

    `stop_reason` belongs to user messages: how the request session that served it ended; None
    while it runs, and for ever when it was killed.
    """

    message: Message
    at_us: int
    stop_reason: StopReason | None = None


@dataclass(slots=True)
class Conversation:
    """One conversation about the repository at `root`. Times are Unix microseconds."""

    id: UUID
    root: str
    model: str
    created_us: int
    updated_us: int
    title: str = ""
    entries: list[Entry] = field(default_factory=list)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return tuple(entry.message for entry in self.entries)

    def add(self, message: Message, at_us: int) -> int:
        """Append a message and return its place. The first user message gives the title."""
        self.entries.append(Entry(message, at_us))
        self.updated_us = at_us
        if isinstance(message, UserMessage) and not self.title:
            self.title = title_of(redact(message.text))
        return len(self.entries) - 1

    def next_turn(self) -> int:
        """A turn number above those of all calls so far, so that call keys stay unique."""
        turns = [
            call.key.turn
            for message in self.messages
            if isinstance(message, AssistantMessage)
            for call in message.calls
        ]
        return max(turns, default=-1) + 1


def title_of(text: str) -> str:
    """The first line of `text` that is not blank, cut to `TITLE_LIMIT` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= TITLE_LIMIT else line[: TITLE_LIMIT - 1] + "…"
