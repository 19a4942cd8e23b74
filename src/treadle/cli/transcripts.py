"""Formats a conversation for people: as lines for a terminal, and as Markdown."""

from collections.abc import Iterator, Sequence

from treadle.display.lines import when
from treadle.llm.messages import AssistantMessage, NoteMessage, ToolMessage, UserMessage
from treadle.session import Conversation, Entry
from treadle.session.conversation import MessageState

_RESULT_SHOWN = 200

_STATES = {
    MessageState.PENDING: "no reply arrived",
    MessageState.GENERATING: "incomplete: the process ended",
    MessageState.FAILED: "incomplete: the reply failed",
    MessageState.CANCELLED: "incomplete: cancelled",
}


def as_lines(conversation: Conversation, tree: Sequence[Entry]) -> Iterator[str]:
    """Yield the messages of the current branch, then the last message of each other branch."""
    yield f"{conversation.title}\n{conversation.id}  {when(conversation.created_us)}"
    for entry in conversation.entries:
        yield from _lines(entry)
        if entry.stop_reason is not None and entry.stop_reason != "completed":
            yield f"  (this turn ended: {entry.stop_reason})"
    for end in other_ends(conversation, tree):
        yield f"\nAnother branch ends at message {end.number} ({when(end.at_us)})."


def as_markdown(conversation: Conversation) -> str:
    """Format the current branch as Markdown. Results of tool calls are in collapsed sections."""
    parts = [
        f"# {conversation.title or 'A conversation'}",
        f"{when(conversation.created_us)}, {conversation.model}, {conversation.root}",
    ]
    for entry in conversation.entries:
        match entry.message:
            case UserMessage(text=text, attached=attached):
                parts += ["## You", text.strip()]
                parts += [_folded(f"Attached: {each.name}", each.text) for each in attached]
            case AssistantMessage(text=text, calls=calls):
                parts += [f"- `{call.name}` {_code(call.arguments)}" for call in calls]
                if text:
                    parts += ["## Treadle", text.strip()]
            case ToolMessage(content=content, ok=ok):
                parts.append(_folded("Result" if ok else "Failure", content))
            case NoteMessage(text=text):
                parts.append(f"*{' '.join(text.split())}*")
            case _:
                pass
        if entry.state is not MessageState.COMPLETED:
            parts.append(f"*({_STATES[entry.state]})*")
        if entry.stop_reason is not None and entry.stop_reason != "completed":
            parts.append(f"*(this turn ended: {entry.stop_reason})*")
    return "\n\n".join(parts) + "\n"


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
        yield f"  ({_STATES[entry.state]})"


def _code(text: str) -> str:
    """Format `text` as inline code, even if it contains backticks."""
    line = " ".join(text.split())
    fence = "`" * (_longest_run(line) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"


def _folded(title: str, text: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"<details><summary>{title}</summary>\n\n{fence}\n{text}\n{fence}\n\n</details>"


def _longest_run(text: str) -> int:
    """Return the length of the longest sequence of backticks in `text`."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
