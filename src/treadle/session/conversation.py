"""A conversation in memory: one branch of its tree of messages.

The entry of a user message states why its run ended.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from treadle.events.types import Mode, StopReason
from treadle.json_values import JsonField
from treadle.llm.messages import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from treadle.secrets import redact
from treadle.session.context_choices import ContextChoices
from treadle.session.history import begins_turn, has_instructions

TITLE_LIMIT = 80
"""The maximum length of a title in characters."""

_CUT = NoteMessage("The reply above was interrupted; its text up to that point is kept.")


class MessageState(StrEnum):
    """The state of a message. Only a model's reply can have a state other than completed."""

    PENDING = "pending"
    """The request was sent, and no part of the reply has arrived."""
    GENERATING = "generating"
    """The model is sending the reply.

    The text so far is saved. If the process is killed, the saved reply keeps this state.
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
    request_id: UUID | None = None


@dataclass(slots=True)
class Conversation:
    """One conversation about the repository at `root`. Times are Unix microseconds.

    `agent` is the name of the agent that answers, or None for the assistant. `entries` are the
    messages of the current branch, oldest first. `next_number` is the number of the next message.
    It is above the numbers of all messages, including those of other branches.
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
    choices: Annotated[ContextChoices, JsonField(omit=True)] = field(default_factory=ContextChoices)
    mode: Mode = Mode.NORMAL

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages as a model receives them.

        After an interrupted reply, a note states the interruption. Messages that a summary replaces
        or that a person left out are omitted.
        """
        return messages_for_model(self.entries, len(self.entries), self.choices)

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


def messages_for_model(
    entries: Sequence[Entry], end: int, choices: ContextChoices
) -> tuple[Message, ...]:
    """Return the messages before position `end` of a branch, as a model receives them."""
    return tuple(message for _, message in numbered_messages(entries, end, choices))


def numbered_messages(
    entries: Sequence[Entry], end: int, choices: ContextChoices
) -> Iterator[tuple[int, Message]]:
    """Yield the messages of `messages_for_model`, each with the number of its entry.

    The newest user message and the messages after it are never left out. Instruction files stay
    even if a summary replaces the messages around them.
    """
    if (summary := summary_before(entries, end)) is not None:
        yield summary.number, summary.message
    replaced = entries[: covered_by(summary)]
    yield from ((each.number, each.message) for each in replaced if has_instructions(each.message))
    newest = max((e.number for e in entries[:end] if begins_turn(e.message)), default=None)
    left_out = False
    for entry in entries[covered_by(summary) : end]:
        message = entry.message
        if begins_turn(message):
            left_out = entry.number in choices.left_out and entry.number != newest
        if (left_out and not has_instructions(message)) or _is_summary(message):
            continue
        if isinstance(message, UserMessage) and not choices.automatic_context:
            message = replace(message, context="")
        if entry.state is MessageState.COMPLETED:
            yield entry.number, message
        elif isinstance(message, AssistantMessage) and message.text:
            yield entry.number, message
            yield entry.number, _CUT


def _is_summary(message: Message) -> bool:
    return isinstance(message, NoteMessage) and message.covers > 0


def summary_before(entries: Sequence[Entry], end: int) -> Entry | None:
    """Return the last summary that replaces only messages before position `end`, or None."""
    return next((each for each in reversed(entries) if 0 < covered_by(each) <= end), None)


def covered_by(summary: Entry | None) -> int:
    """Return the number of messages at the beginning of the branch that a summary replaces.

    The number is 0 if `summary` is None or is not a summary.
    """
    return summary.message.covers if summary and isinstance(summary.message, NoteMessage) else 0


def open_calls(entries: Sequence[Entry]) -> bool:
    """Whether the branch ends with a reply some of whose calls have no result yet."""
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
