"""The items of a saved conversation.

The module is loaded when a conversation is resumed, because it needs the assistant.
"""

from collections.abc import Iterator

from treadle.app.conversation_answers import (
    SavedNote,
    SavedReply,
    SavedResult,
    SavedUserMessage,
    Session,
)
from treadle.events import types as ev
from treadle.session.conversation import MessageState
from treadle.tui.conversation.answer_parts import AnswerParts
from treadle.tui.conversation.items import (
    CallItem,
    CallState,
    Item,
    NoticeItem,
    OutcomeItem,
    PromptItem,
)

_INTERRUPTED = "This turn was interrupted: its process ended before the answer was complete."


def saved_items(session: Session) -> Iterator[Item]:
    """The items of the current branch."""
    branch = set(session.branch)
    prompt: SavedUserMessage | None = None
    calls: dict[ev.CallKey, CallItem] = {}
    for message in session.messages:
        if message.entry.number not in branch:
            continue
        match message:
            case SavedUserMessage(steers=False):
                yield from _saved_end(prompt)
                prompt = message
                yield _saved_prompt(message)
            case SavedUserMessage():
                yield _saved_prompt(message)
            case SavedReply(text=text):
                parts = AnswerParts()
                yield from [*parts.feed(text or ""), *parts.finish()]
                for call in message.calls:
                    calls[call.key] = item = CallItem(
                        key=call.key, name=call.name, arguments=call.arguments,
                        state=CallState.CANCELLED,
                    )  # fmt: skip
                    yield item
                if message.entry.state is not MessageState.COMPLETED:
                    yield NoticeItem(text="The reply was interrupted here.", level="warning")
            case SavedResult(key=key, ok=ok, content=content) if key in calls:
                calls[key].state = CallState.DONE if ok else CallState.FAILED
                calls[key].content = content
            case SavedNote(text=text):
                yield NoticeItem(text=text)
    yield from _saved_end(prompt)


def _saved_prompt(message: SavedUserMessage) -> PromptItem:
    entry = message.entry
    return PromptItem(
        request_id=entry.request_id, text=message.text, number=entry.number, steers=message.steers
    )


def _saved_end(prompt: SavedUserMessage | None) -> Iterator[Item]:
    """The outcome of a saved turn. A turn without a stop reason was killed or still runs."""
    if prompt is None:
        return
    reason, request_id = prompt.entry.stop_reason, prompt.entry.request_id
    if reason is None:
        yield NoticeItem(request_id=request_id, text=_INTERRUPTED, level="warning")
    else:
        yield OutcomeItem(request_id=request_id, stop_reason=reason)
