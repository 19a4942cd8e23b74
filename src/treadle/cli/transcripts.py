"""Formats a conversation as lines for a terminal."""

from collections.abc import Iterator, Sequence

from treadle.app.conversation_export import REPLY_STATES
from treadle.clock import when
from treadle.llm.messages import AssistantMessage, NoteMessage, ToolMessage, UserMessage
from treadle.session import Conversation, Entry
from treadle.session.conversation import MessageState

_RESULT_SHOWN = 200


def as_lines(conversation: Conversation, tree: Sequence[Entry]) -> Iterator[str]:
    """Yield the messages of the current branch, then the last message of each other branch."""
    yield f"{conversation.title}\n{conversation.id}  {when(conversation.created_us)}"
    for entry in conversation.entries:
        yield from _lines(entry)
        if entry.stop_reason is not None and entry.stop_reason != "completed":
            yield f"  (this turn ended: {entry.stop_reason})"
    for end in other_ends(conversation, tree):
        yield f"\nAnother branch ends at message {end.number} ({when(end.at_us)})."


def other_ends(conversation: Conversation, tree: Sequence[Entry]) -> list[Entry]:
    """Return the last message of each branch other than the current one."""
    parents = {entry.parent for entry in tree}
    used = {entry.number for entry in conversation.entries}
    return [e for e in tree if e.number not in parents and e.number not in used]


def _lines(entry: Entry) -> Iterator[str]:
    number = f"[{entry.number}]"
    match entry.message:
        case UserMessage(text=text, steers=steers, attached=attached):
            yield f"\n{number} You{' (meanwhile)' * steers}: {text}"
            for each in attached:
                yield f"  + {each.name}"
            for image in entry.message.images:
                yield f"  + {image.name}"
        case AssistantMessage(text=text, calls=calls):
            for call in calls:
                yield f"  ● {call.name} {call.arguments}"
            if text:
                yield f"\n{number} Treadle: {text}"
        case ToolMessage(content=content, ok=ok):
            mark = "✓" if ok else "✗"
            shown = f"{content[:_RESULT_SHOWN]}{'…' * (len(content) > _RESULT_SHOWN)}"
            yield f"  {mark} {number} {shown}"
        case NoteMessage(text=text):
            yield f"  ({text})"
        case _:
            pass
    if entry.state is not MessageState.COMPLETED:
        yield f"  ({REPLY_STATES[entry.state]})"
