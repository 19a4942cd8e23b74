"""What a key does to a text, and the positions that keys move to.

A position is an index into the text, from 0 to its length.
"""

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """An action that a change of the text cannot express, so the editor carries it out."""

    UNDO = "undo"
    REDO = "redo"
    UP = "up"
    """Move to the line above, or show an older message."""
    DOWN = "down"
    """Move to the line below, or show a newer message."""
    SEARCH = "search"
    """Search the sent messages."""


@dataclass(frozen=True, slots=True)
class Change:
    """Replaces the text from `start` to `end`, exclusive, by `text`."""

    start: int
    end: int
    text: str = ""

    def apply(self, text: str) -> str:
        """The changed text."""
        return text[: self.start] + self.text + text[self.end :]


@dataclass(frozen=True, slots=True)
class Step:
    """What a key does. `cursor` is the position of the cursor after the change.

    `anchor` is the other end of the selection. None means that nothing is selected. `effects`
    happen after the change.
    """

    cursor: int
    change: Change | None = None
    anchor: int | None = None
    effects: tuple[Effect, ...] = ()


def line_start(text: str, at: int) -> int:
    """The start of the line at a position."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """The end of the line at a position, before its line break."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def first_word(text: str, at: int) -> int:
    """The position of the first character of a line that is not a space.

    The line is the one at the position `at`. If it has only spaces, its end is returned.
    """
    start, end = line_start(text, at), line_end(text, at)
    while start < end and text[start].isspace():
        start += 1
    return start


def line_of(text: str, number: int) -> int:
    """The start of the line with a number. The first line has the number 0.

    A number that is too large means the last line.
    """
    at = 0
    for _ in range(min(number, text.count("\n"))):
        at = text.index("\n", at) + 1
    return at


def moved_lines(text: str, at: int, step: int) -> int:
    """The position `step` lines below `at`, or above it if `step` is negative.

    The column stays the same if the other line is long enough.
    """
    column = at - line_start(text, at)
    number = text.count("\n", 0, at) + step
    start = line_of(text, max(0, number))
    return min(start + column, line_end(text, start))


def word_kind(character: str) -> int:
    """0 for a space, 1 for a letter, a digit or an underscore, and 2 for other characters."""
    if character.isspace():
        return 0
    return 1 if character.isalnum() or character == "_" else 2


def next_word(text: str, at: int) -> int:
    """The start of the next word, or the end of the text."""
    end = len(text)
    if at < end and (kind := word_kind(text[at])):
        while at < end and word_kind(text[at]) == kind:
            at += 1
    while at < end and not word_kind(text[at]):
        at += 1
    return at


def previous_word(text: str, at: int) -> int:
    """The start of the word before a position, or the start of the text."""
    while at > 0 and not word_kind(text[at - 1]):
        at -= 1
    if at > 0:
        kind = word_kind(text[at - 1])
        while at > 0 and word_kind(text[at - 1]) == kind:
            at -= 1
    return at


def word_end(text: str, at: int) -> int:
    """The end of the word at a position or of the next word, or the end of the text."""
    end = len(text)
    while at < end and not word_kind(text[at]):
        at += 1
    if at < end:
        kind = word_kind(text[at])
        while at < end and word_kind(text[at]) == kind:
            at += 1
    return at
