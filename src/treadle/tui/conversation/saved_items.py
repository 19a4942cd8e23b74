"""Builds the items of a saved conversation.

This module imports much of Treadle. Therefore it is loaded only when a conversation is resumed.
"""

from collections.abc import Collection, Iterator, Sequence
from uuid import UUID

from treadle.agents.definitions import FINAL
from treadle.app.conversation_answers import (
    AgentQuestion,
    SavedMessage,
    SavedNote,
    SavedReply,
    SavedResult,
    SavedUserMessage,
    Session,
)
from treadle.diagnosis.evidence import linked_spans
from treadle.events.types import CallKey
from treadle.session.conversation import MessageState
from treadle.session.sources import lines_read
from treadle.tools.failures import failure_kind
from treadle.tui.conversation.answer_parts import AnswerParts
from treadle.tui.conversation.items import (
    FAILED_STATES,
    CallItem,
    CallState,
    Item,
    NoticeItem,
    OutcomeItem,
    PromptItem,
)

_NO_END = (
    "No end of this turn is saved. It still runs in another process, or its process ended early."
)
_CUT = {
    MessageState.PENDING: "No reply arrived.",
    MessageState.GENERATING: "No end of this reply is saved.",
    MessageState.FAILED: "The reply is cut here: the provider failed.",
    MessageState.CANCELLED: "The reply is cut here: the turn was cancelled.",
}


def saved_items(session: Session, running: Collection[UUID] = ()) -> Iterator[Item]:
    """Yield the items of the current branch of a conversation, oldest first.

    `running` has the ids of the running turns. The last reply and the calls of a running turn may
    be incomplete. A question to an agent comes after the turn that ran when the person asked it, or
    else after the last turn before it.
    """
    branch = set(session.branch)
    asked = sorted(
        (each for each in session.agent_questions if each.after is None or each.after in branch),
        key=lambda each: -1 if each.after is None else each.after,
    )
    turn: list[SavedMessage] = []
    for message in (each for each in session.messages if each.entry.number in branch):
        if isinstance(message, SavedUserMessage) and not message.steers:
            yield from _turn(turn, running)
            yield from _questions(asked, message.entry.number, running)
            turn = []
        turn.append(message)
    yield from _turn(turn, running)
    yield from _questions(asked, None, running)


def _questions(
    asked: list[AgentQuestion], before: int | None, running: Collection[UUID]
) -> Iterator[Item]:
    """Yield the items of the questions before the message with the number `before`.

    These questions are removed from `asked`. If `before` is None, they are all questions.
    """
    while asked and (before is None or asked[0].after is None or asked[0].after < before):
        yield from _turn(asked.pop(0).messages, running)


def _turn(messages: Sequence[SavedMessage], running: Collection[UUID]) -> Iterator[Item]:
    """Yield the items of a turn. Its first message is the prompt."""
    first = next(iter(messages), None)
    prompt = first if isinstance(first, SavedUserMessage) else None
    request_id = None if prompt is None else prompt.entry.request_id
    runs = request_id in running
    calls: dict[CallKey, CallItem] = {}
    answer = ""
    for message in messages:
        match message:
            case SavedUserMessage():
                yield _prompt(message)
            case SavedReply(text=text):
                answer = text or ""
                for item in _reply(request_id, message, runs=runs):
                    if isinstance(item, CallItem):
                        calls[item.key] = item
                    yield item
            case SavedResult(key=key, ok=ok, content=content) if key in calls:
                calls[key].state = CallState.DONE if ok else _failed_state(content)
                calls[key].content = content
                calls[key].sources = tuple(lines_read(content))
                if ok and calls[key].name == FINAL:  # its result is the answer of an agent
                    answer = content
                    yield from _answer(request_id, answer)
            case SavedNote(text=text):
                yield NoticeItem(text=text)
    if prompt is not None and not runs:
        yield _end(prompt, answer)


def _failed_state(content: str) -> CallState:
    kind = failure_kind(content)
    return CallState.FAILED if kind is None else FAILED_STATES.get(kind, CallState.FAILED)


def _reply(request_id: UUID | None, message: SavedReply, *, runs: bool) -> Iterator[Item]:
    yield from _answer(request_id, message.text or "")
    for call in message.calls:
        yield CallItem(
            request_id=request_id, key=call.key, name=call.name, arguments=call.arguments,
            state=CallState.RUNNING if runs else CallState.CANCELLED,
        )  # fmt: skip
    if message.entry.state is not MessageState.COMPLETED and not runs:
        yield NoticeItem(request_id=request_id, text=_CUT[message.entry.state], level="warning")


def _answer(request_id: UUID | None, text: str) -> Iterator[Item]:
    parts = AnswerParts(request_id)
    yield from [*parts.feed(text), *parts.finish()]


def _prompt(message: SavedUserMessage) -> PromptItem:
    entry = message.entry
    return PromptItem(
        request_id=entry.request_id, text=message.text, number=entry.number, steers=message.steers
    )


def _end(prompt: SavedUserMessage, answer: str) -> Item:
    """Return the outcome of a saved turn, or a notice if no stop reason is saved.

    A stop reason is missing if the process of the turn was killed, or if the turn still runs in
    another process.
    """
    reason, request_id = prompt.entry.stop_reason, prompt.entry.request_id
    if reason is None:
        return NoticeItem(request_id=request_id, text=_NO_END, level="warning")
    spans = tuple(dict.fromkeys(linked_spans(answer)))
    return OutcomeItem(request_id=request_id, stop_reason=reason, spans=spans, unfolded=bool(spans))
