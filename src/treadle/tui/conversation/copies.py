"""Texts of a transcript that a person can copy."""

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
    """The whole message around a position, as Markdown. For a call, its result."""
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
    """The code block at a position, or the nearest one in the same turn."""
    return next((_code(items, found) for found in _nearest_code(items, position)), None)


def command_text(items: Sequence[Item], position: int) -> str | None:
    """The main argument of a call, or the nearest commands for a shell in the same turn."""
    item = items[position]
    if isinstance(item, CallItem):
        return main_argument(item.arguments)
    for found in _nearest_code(items, position):
        if _block(items, found)[0].label.lower() in _SHELLS:
            return _PROMPT_SIGN.sub("", _code(items, found)).strip()
    return None


def _nearest_code(items: Sequence[Item], position: int) -> Iterator[int]:
    """The positions of code in the turn of a position: first upwards, then downwards."""
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
    """The text and code around a position, up to a prompt, a call or another item."""

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
    """The parts of the code block at a position."""
    first = position
    while first > 0 and isinstance(item := items[first], CodeItem) and not item.starts:
        first -= 1
    parts: list[CodeItem] = []
    for item in items[first:]:
        if not isinstance(item, CodeItem) or (parts and item.starts):
            break
        parts.append(item)
    return parts
