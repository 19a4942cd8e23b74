"""Adds instruction files to a conversation: each file once, and again if it changed.

The files come as notes behind the history. The system prompt and the earlier messages stay the
same, so a provider's cache of them stays valid.
"""

import json
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from treadle.events import Outcome
from treadle.events.types import InstructionFile, ToolCallCompleted
from treadle.instructions.model import Instructions
from treadle.llm.messages import InstructionText, Message, NoteMessage, ToolCall
from treadle.visible import in_line

ReadInstructions = Callable[
    [AbstractSet[str], AbstractSet[tuple[str, str]], int], Awaitable[Instructions]
]
"""The type of functions that load instructions.

The function gets paths of files or folders, relative to the root, and loads the instructions of
their folders. It skips the files whose path and digest it gets. The last argument is the number of
tokens of the instructions that the conversation has already.
"""

HEADING = (
    "Instructions for the work in this repository. If a file occurs again, its later text holds. "
    "The nearer a file is to the code in question, the more weight it has."
)

MAX_PATHS = 200
"""The maximum number of paths of one message or reply that are examined."""
_PATH = re.compile(r"[\w.@+-]{0,100}(?:/[\w.@+-]{1,100}){1,40}")
_KEYS = frozenset({"file", "path", "files", "paths", "target"})
_SHOWN = 4
"""The maximum number of files that a notice names."""


class InstructionState:
    """The instructions that a conversation has, and the paths that were examined already."""

    def __init__(self, read: ReadInstructions, root: str) -> None:
        self._read = read
        self._root = root
        self._examined: set[str] = set()

    async def load(
        self, paths: Iterable[str], messages: Sequence[Message], *, first: bool = False
    ) -> Instructions | None:
        """Load the instructions of the folders of `paths` that `messages` do not contain.

        The files of the root are loaded too if this is the `first` load of a session. Returns None
        if there is nothing to examine.
        """
        new = {path for each in paths if (path := self._relative(each))} - self._examined
        if not new and not first:
            return None
        self._examined |= new
        texts = instruction_texts(messages)
        known = {(each.path, each.digest) for each in texts}
        return await self._read(new, known, sum(each.tokens for each in texts))

    def _relative(self, path: str) -> str:
        below = path.removeprefix(f"{self._root}{os.sep}").replace("\\", "/")
        return "" if below.startswith("/") else below.removeprefix("./")


def instruction_texts(messages: Iterable[Message]) -> list[InstructionText]:
    """Return the instruction files in `messages`, oldest first."""
    return [
        each
        for message in messages
        if isinstance(message, NoteMessage)
        for each in message.instructions
    ]


def instruction_note(loaded: Instructions) -> NoteMessage | None:
    """Return the note with the loaded texts, or None if there are none."""
    texts = tuple(
        InstructionText(each.path, each.text, each.digest, each.tokens, own=each.own)
        for each in loaded.files
        if each.text
    )
    return NoteMessage(HEADING, instructions=texts) if texts else None


def reported_files(loaded: Instructions) -> tuple[InstructionFile, ...]:
    """Return the loaded files as the event `InstructionsLoaded` states them."""
    return tuple(
        InstructionFile(each.path, each.tokens, each.whole_tokens, each.cut, each.reason)
        for each in loaded.files
    )


def omissions(loaded: Instructions) -> str | None:
    """Describe in a sentence what was cut or left out, or return None if nothing was."""
    omitted = [each for each in loaded.files if each.reason is not None]
    if not omitted:
        return None
    described = [
        f"{in_line(each.path)} is {'cut' if each.cut else 'left out'}: {each.reason}"
        for each in omitted[:_SHOWN]
    ]
    if more := len(omitted) - _SHOWN:
        described += [f"{more} more."] if more > 0 else []
    return f"Not all instructions are in the prompt. {' '.join(described)}"


def paths_in_text(text: str) -> set[str]:
    """Return the words of a message that look like paths with a folder."""
    found = (match[0].rstrip(".") for match in _PATH.finditer(text))
    return {path for path, _ in zip(found, range(MAX_PATHS), strict=False)}


def paths_of_calls(calls: Sequence[ToolCall], outcomes: Sequence[Outcome]) -> set[str]:
    """Return the paths that completed calls name in their arguments and results."""
    completed = {each.key: each for each in outcomes if isinstance(each, ToolCallCompleted)}
    found: set[str] = set()
    for call in calls:
        if (outcome := completed.get(call.key)) is None:
            continue
        for text in (call.arguments, outcome.content):
            for path in _paths_in_json(text):
                if len(found) == MAX_PATHS:
                    return found
                found.add(path)
    return found


def _paths_in_json(text: str) -> Iterator[str]:
    try:
        waiting: list[object] = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        match waiting.pop():
            case dict(fields):
                for key, value in fields.items():
                    values = value if isinstance(value, list) else [value]
                    if key in _KEYS:
                        yield from (each for each in values if isinstance(each, str))
                    waiting += [each for each in values if isinstance(each, dict | list)]
            case list(values):
                waiting += values
