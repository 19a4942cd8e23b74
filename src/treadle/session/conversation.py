"""A conversation in memory: one branch of its tree of messages.

The user messages contain the reasons why the runs ended.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from treadle.events.types import StopReason
from treadle.json_values import JsonField
from treadle.llm.messages import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from treadle.secrets import redact

TITLE_LIMIT = 80
"""The maximum length of a title in characters."""

_CUT = NoteMessage("The reply above was interrupted; its text up to that point is kept.")


class MessageState(StrEnum):
    """The state of a message. Only replies have a state other than completed."""

    PENDING = "pending"
    """The request was sent, and no part of the reply has arrived."""
    GENERATING = "generating"
    """The model is sending the reply. The text so far is kept.

    If the process is killed, the reply keeps this state.
    """
    COMPLETED = "completed"
    FAILED = "failed"
    """The provider failed during the reply. The text so far is kept."""
    CANCELLED = "cancelled"
    """The person or a time limit ended the reply. The text so far is kept."""


@dataclass(slots=True)
class Entry:
    """A message, its position in the tree, and its time in Unix microseconds.

    `number` identifies the message within its conversation. `parent` is the number of the message
    before it. Only user messages have a `stop_reason` and a `request_id`. `request_id` is the id of
    the request session that answered the message. `stop_reason` is the reason why that session
    ended. It is None while the session runs, or if its process was killed.
    """

    message: Annotated[Message, JsonField(omit=True)]
    at_us: int
    number: int
    parent: int | None
    state: MessageState = MessageState.COMPLETED
    stop_reason: StopReason | None = None
    request_id: Annotated[UUID | None, JsonField(omit=True)] = None


@dataclass(slots=True)
class Conversation:
    """One conversation about the repository at `root`. Times are Unix microseconds.

    `agent` is the name of the agent that answers, or None for the assistant. `entries` are the
    messages of the current branch, oldest first. `next_number` is above the numbers of the messages
    of all branches.
    """

    id: UUID
    root: str
    model: str
    created_us: int
    updated_us: int
    title: str = ""
    entries: Annotated[list[Entry], JsonField(omit=True)] = field(default_factory=list)
    next_number: Annotated[int, JsonField(omit=True)] = 0
    agent: Annotated[str | None, JsonField(omit=True)] = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages as a model receives them: a note follows an interrupted reply.

        Messages that a summary replaces are omitted.
        """
        return messages_for_model(self.entries, len(self.entries))

    def add(
        self,
        message: Message,
        at_us: int,
        state: MessageState = MessageState.COMPLETED,
        request_id: UUID | None = None,
    ) -> Entry:
        """Append a message to the branch. The first user message sets the title."""
        parent = self.entries[-1].number if self.entries else None
        entry = Entry(message, at_us, self.next_number, parent, state, request_id=request_id)
        self.entries.append(entry)
        self.next_number += 1
        self.updated_us = at_us
        if isinstance(message, UserMessage) and not self.title:
            self.title = title_of(redact(message.text))
        return entry

    def next_turn(self) -> int:
        """Return a turn number above the turns of all calls, so that call keys stay unique."""
        turns = [
            call.key.turn
            for entry in self.entries
            if isinstance(entry.message, AssistantMessage)
            for call in entry.message.calls
        ]
        return max(turns, default=-1) + 1


def messages_for_model(entries: Sequence[Entry], end: int) -> tuple[Message, ...]:
    """Return the messages before position `end` of a branch, as a model receives them."""
    return tuple(_messages_for_model(entries, end))


def _messages_for_model(entries: Sequence[Entry], end: int) -> Iterator[Message]:
    notes = [entry.message for entry in entries if isinstance(entry.message, NoteMessage)]
    summary = next((note for note in reversed(notes) if 0 < note.covers <= end), None)
    if summary is not None:
        yield summary
    for entry in entries[summary.covers if summary else 0 : end]:
        message = entry.message
        if isinstance(message, NoteMessage) and message.covers:
            continue
        if entry.state is MessageState.COMPLETED:
            yield message
        elif isinstance(message, AssistantMessage) and message.text:
            yield message
            yield _CUT


def open_calls(entries: Sequence[Entry]) -> bool:
    """Whether the branch ends between a call and its result."""
    answered = 0
    for entry in reversed(entries):
        match entry.message:
            case ToolMessage():
                answered += 1
            case AssistantMessage(calls=calls):
                return answered < len(calls)
            case _:
                return False
    return False


def title_of(text: str) -> str:
    """Return the first line of `text` that is not blank, cut to `TITLE_LIMIT` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= TITLE_LIMIT else line[: TITLE_LIMIT - 1] + "…"
