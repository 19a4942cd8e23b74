"""Builds the items of a saved conversation.

This module imports much of Treadle. Therefore it is loaded only when a conversation is resumed.
"""

from collections.abc import Collection, Iterator
from uuid import UUID

from treadle.app.conversation_answers import (
    SavedNote,
    SavedReply,
    SavedResult,
    SavedUserMessage,
    Session,
)
from treadle.events.types import CallKey
from treadle.session.conversation import MessageState
from treadle.session.sources import lines_read
from treadle.tui.conversation.answer_parts import AnswerParts
from treadle.tui.conversation.items import (
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
    be incomplete.
    """
    branch = set(session.branch)
    prompt: SavedUserMessage | None = None
    calls: dict[CallKey, CallItem] = {}
    for message in session.messages:
        if message.entry.number not in branch:
            continue
        match message:
            case SavedUserMessage(steers=False):
                yield from _end(prompt, running)
                prompt = message
                yield _prompt(message)
            case SavedUserMessage():
                yield _prompt(message)
            case SavedReply(text=text):
                request_id = None if prompt is None else prompt.entry.request_id
                runs = request_id in running
                parts = AnswerParts(request_id)
                yield from [*parts.feed(text or ""), *parts.finish()]
                for call in message.calls:
                    calls[call.key] = item = CallItem(
                        request_id=request_id, key=call.key, name=call.name,
                        arguments=call.arguments,
                        state=CallState.RUNNING if runs else CallState.CANCELLED,
                    )  # fmt: skip
                    yield item
                if message.entry.state is not MessageState.COMPLETED and not runs:
                    yield NoticeItem(
                        request_id=request_id, text=_CUT[message.entry.state], level="warning"
                    )
            case SavedResult(key=key, ok=ok, content=content) if key in calls:
                calls[key].state = CallState.DONE if ok else CallState.FAILED
                calls[key].content = content
                calls[key].sources = tuple(lines_read(content))
            case SavedNote(text=text):
                yield NoticeItem(text=text)
    yield from _end(prompt, running)


def _prompt(message: SavedUserMessage) -> PromptItem:
    entry = message.entry
    return PromptItem(
        request_id=entry.request_id, text=message.text, number=entry.number, steers=message.steers
    )


def _end(prompt: SavedUserMessage | None, running: Collection[UUID]) -> Iterator[Item]:
    """Yield the outcome of a saved turn, or a notice if no stop reason is saved.

    A stop reason is missing if the process of the turn was killed, or if the turn still runs in
    another process.
    """
    if prompt is None or prompt.entry.request_id in running:
        return
    reason, request_id = prompt.entry.stop_reason, prompt.entry.request_id
    if reason is None:
        yield NoticeItem(request_id=request_id, text=_NO_END, level="warning")
    else:
        yield OutcomeItem(request_id=request_id, stop_reason=reason)
