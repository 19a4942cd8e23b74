"""The tree of a conversation as rows. No branch begins inside of a row."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from treadle.app.conversation_answers import (
    SavedNote,
    SavedReply,
    SavedResult,
    SavedUserMessage,
    Session,
)
from treadle.events.types import StopReason

Saved = SavedUserMessage | SavedReply | SavedResult | SavedNote


@dataclass(frozen=True, slots=True)
class Exchange:
    """Consecutive messages: a prompt with its answer, or a part of an answer after a branch.

    `guides` are the characters in front of the row that draw the lines of the tree. `current`
    states whether the current branch contains the exchange. `last` states whether the current
    branch ends with the exchange.
    """

    messages: tuple[Saved, ...]
    guides: str
    current: bool
    last: bool

    @property
    def end(self) -> int:
        """The number of the last message."""
        return self.messages[-1].entry.number

    @property
    def prompt(self) -> SavedUserMessage | None:
        """The message of the person at the beginning, or None if another message is there."""
        first = self.messages[0]
        return first if isinstance(first, SavedUserMessage) else None

    @property
    def answer(self) -> str:
        """The texts of the replies of the model."""
        texts = (each.text for each in self.messages if isinstance(each, SavedReply))
        return "\n\n".join(text for text in texts if text)

    @property
    def stop_reason(self) -> StopReason | None:
        """The reason why the turn of the prompt ended."""
        return None if self.prompt is None else self.prompt.entry.stop_reason


def exchanges(session: Session) -> list[Exchange]:
    """Return the exchanges of all branches. Each one comes after the one that it continues."""
    return list(_walk(session, _children(session)))


def current_exchanges(session: Session) -> list[Exchange]:
    """Return the exchanges of the current branch, oldest first."""
    return [each for each in exchanges(session) if each.current]


def _children(session: Session) -> Mapping[int | None, Sequence[Saved]]:
    """Map the number of each message to the messages that follow it directly.

    The key None has the first messages. If the parent of a message is lost, the nearest earlier
    message is used as its parent.
    """
    found: dict[int | None, list[Saved]] = {None: []}
    for message in session.messages:
        parent = message.entry.parent
        if parent not in found:
            numbers = (each for each in found if each is not None and each < (parent or 0))
            parent = max(numbers, default=None)
        found[parent].append(message)
        found[message.entry.number] = []
    return found


def _walk(session: Session, children: Mapping[int | None, Sequence[Saved]]) -> Iterator[Exchange]:
    branch = set(session.branch)
    end = session.branch[-1] if session.branch else None
    waiting = _fork(children[None], "")
    while waiting:
        first, own, below = waiting.pop()
        messages = [first]
        while len(following := children[messages[-1].entry.number]) == 1:
            if isinstance(following[0], SavedUserMessage) and not following[0].steers:
                break
            messages.append(following[0])
        last = messages[-1].entry.number
        current = first.entry.number in branch
        yield Exchange(tuple(messages), own, current, current and end == last)
        waiting += _fork(following, below)


def _fork(messages: Sequence[Saved], guides: str) -> list[tuple[Saved, str, str]]:
    """Return the messages in reverse order, for a stack.

    Each message has the guides of its own row and the guides of the rows below it. A single message
    continues the line above it.
    """
    if not messages:
        return []
    if len(messages) == 1:
        return [(messages[0], guides, guides)]
    rows = [(each, f"{guides}├ ", f"{guides}│ ") for each in messages[:-1]]
    rows.append((messages[-1], f"{guides}└ ", f"{guides}  "))
    return rows[::-1]
