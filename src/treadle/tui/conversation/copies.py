"""Finds the texts of a transcript that a person can copy."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from treadle.display.call_arguments import main_argument
from treadle.tui.conversation.items import (
    CallItem,
    CodeItem,
    Item,
    NoticeItem,
    OutcomeItem,
    PromptItem,
    ProseItem,
    ReasoningItem,
)

_SHELLS = frozenset({"sh", "bash", "zsh", "fish", "shell", "console", "shellsession"})
_PROMPT_SIGN = re.compile(r"^[$%#] ", re.MULTILINE)


def message_text(items: Sequence[Item], position: int) -> str:
    """Return the whole message around a position, as Markdown.

    If a tool call is at the position, return the result of the call.
    """
    match items[position]:
        case PromptItem(text=text) | NoticeItem(text=text) | ReasoningItem(text=text):
            return text
        case CallItem() as call:
            return call.details or call.content or call.summary
        case OutcomeItem():
            return _answer(items, _answer_before(items, position))
        case _:
            return _answer(items, position)


def code_text(items: Sequence[Item], position: int) -> str | None:
    """Return the code block at a position, or the nearest code block in the same turn."""
    return next((_code(items, found) for found in _nearest_code(items, position)), None)


def command_text(items: Sequence[Item], position: int) -> str | None:
    """Return the main argument of the call at a position.

    If no call is there, return the nearest code block of the same turn with shell commands.
    """
    item = items[position]
    if isinstance(item, CallItem):
        return main_argument(item.arguments)
    for found in _nearest_code(items, position):
        if _block(items, found)[0].label.lower() in _SHELLS:
            return _PROMPT_SIGN.sub("", _code(items, found)).strip()
    return None


def _nearest_code(items: Sequence[Item], position: int) -> Iterator[int]:
    """Yield the positions of the code items in the same turn.

    The search goes from `position` upwards, and then from the next position downwards.
    """
    for step in (-1, 1):
        at = position if step < 0 else position + 1
        while 0 <= at < len(items) and not (
            isinstance(items[at], PromptItem) and (step > 0 or at != position)
        ):
            if isinstance(items[at], CodeItem):
                yield at
            at += step


def _code(items: Sequence[Item], position: int) -> str:
    return "".join(f"{line}\n" for part in _block(items, position) for line in part.lines)


def _answer_before(items: Sequence[Item], position: int) -> int:
    while position > 0 and not isinstance(items[position], ProseItem | CodeItem | PromptItem):
        position -= 1
    return position


def _answer(items: Sequence[Item], position: int) -> str:
    """Return the prose and code around a position as Markdown.

    The text ends at the nearest items of other kinds.
    """

    def is_answer(item: Item) -> bool:
        return isinstance(item, ProseItem | CodeItem)

    before = [*takewhile(is_answer, reversed(items[:position]))]
    parts = [*reversed(before), *takewhile(is_answer, items[position:])]
    return "".join(map(_markdown, parts)).strip("\n") + "\n"


def _markdown(item: Item) -> str:
    match item:
        case ProseItem(text=text):
            return text
        case CodeItem(label=label, lines=lines):
            fence = "~~~" if any("```" in line for line in lines) else "```"
            opening = f"{fence}{label}\n" if item.starts else ""
            ending = f"{fence}\n\n" if item.ends else ""
            return opening + "".join(f"{line}\n" for line in lines) + ending
    return ""


def _block(items: Sequence[Item], position: int) -> list[CodeItem]:
    """Return all items of the code block at a position."""
    first = position
    while first > 0 and isinstance(item := items[first], CodeItem) and not item.starts:
        first -= 1
    parts: list[CodeItem] = []
    for item in items[first:]:
        if not isinstance(item, CodeItem) or (parts and item.starts):
            break
        parts.append(item)
    return parts
