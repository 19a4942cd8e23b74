"""Exports a conversation as Markdown or JSON, and writes the text to a new file."""

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from treadle.app.conversation_answers import (
    SavedMessage,
    SavedNote,
    SavedReply,
    SavedResult,
    SavedUserMessage,
    Session,
)
from treadle.clock import when
from treadle.errors import OutputExistsError, UsageError
from treadle.json_values import to_json
from treadle.session.conversation import MessageState

REPLY_STATES = {
    MessageState.PENDING: "no reply arrived",
    MessageState.GENERATING: "incomplete: the process ended",
    MessageState.FAILED: "incomplete: the reply failed",
    MessageState.CANCELLED: "incomplete: cancelled",
}
"""The states of replies that did not complete, in words."""


class ExportFormat(StrEnum):
    """The format of an exported conversation."""

    MARKDOWN = "markdown"
    """The current branch."""
    JSON = "json"
    """Every message of every branch."""


def exported(session: Session, form: ExportFormat) -> str:
    """Return a conversation as text, which ends with a line break."""
    if form is ExportFormat.JSON:
        return json.dumps(to_json(session), indent=2) + "\n"
    conversation = session.conversation
    parts = [
        f"# {conversation.title or 'A conversation'}",
        f"{when(conversation.created_us)}, {conversation.model}, {conversation.root}",
    ]
    branch = set(session.branch)
    for message in session.messages:
        if message.entry.number in branch:
            parts += _markdown(message)
    return "\n\n".join(parts) + "\n"


def write_new_file(path: Path, text: str) -> None:
    """Write a text to a file that does not exist yet.

    Raises OutputExistsError, and UsageError if the file cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except FileExistsError as error:
        raise OutputExistsError(path) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"{path} cannot be written: {reason}.", hint="Choose another file."
        ) from error


def _markdown(message: SavedMessage) -> Iterator[str]:
    match message:
        case SavedUserMessage(text=text, attached=attached, images=images):
            yield from ("## You", text.strip())
            for each in attached:
                yield _folded(f"Attached: {each.name}", each.text)
            yield from (f"*Attached image: {_code(each.name)}*" for each in images)
        case SavedReply(text=text, calls=calls):
            for call in calls:
                yield f"- `{call.name}` {_code(call.arguments)}"
            if text:
                yield from ("## Treadle", text.strip())
        case SavedResult(content=content, ok=ok):
            yield _folded("Result" if ok else "Failure", content)
        case SavedNote(text=text):
            yield f"*{' '.join(text.split())}*"
    entry = message.entry
    if entry.state is not MessageState.COMPLETED:
        yield f"*({REPLY_STATES[entry.state]})*"
    if entry.stop_reason is not None and entry.stop_reason != "completed":
        yield f"*(this turn ended: {entry.stop_reason})*"


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
