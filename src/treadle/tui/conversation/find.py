"""Finds a text in the items of a transcript."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Found:
    """The positions of the items that contain a text, oldest first."""

    text: str
    positions: tuple[int, ...]

    def next(self, position: int | None, step: int) -> int | None:
        """Return the next position after `position`, or before it if `step` is negative.

        The match after the last one is the first one, and the match before the first one is the
        last one. If `position` is None, return the newest match. Returns None without matches.
        """
        if not self.positions:
            return None
        if position is None:
            return self.positions[-1]
        if step > 0:
            later = (each for each in self.positions if each > position)
            return next(later, self.positions[0])
        earlier = (each for each in reversed(self.positions) if each < position)
        return next(earlier, self.positions[-1])

    def number(self, position: int | None) -> int:
        """Return the number of the match at a position, from 1, or 0 if no match is there."""
        return 0 if position not in self.positions else self.positions.index(position) + 1


def find(items: Sequence[Item], text: str, among: Iterable[int] | None = None) -> Found:
    """Find the items that contain `text`. Upper and lower case do not matter.

    `among` are the positions to search. None means all positions.
    """
    searched = text.casefold()
    if not searched:
        return Found(text, ())
    count = len(items)
    positions = range(count) if among is None else (each for each in among if each < count)
    found = (
        position
        for position in positions
        if any(
            searched in part.casefold()
            for part in (*_shown(items[position]), *_folded(items[position]))
        )
    )
    return Found(text, tuple(found))


def is_folded_match(item: Item, text: str) -> bool:
    """Whether a match in an item is hidden, because only its folded part contains `text`."""
    searched = text.casefold()
    return not item.unfolded and not any(searched in part.casefold() for part in _shown(item))


def _shown(item: Item) -> Iterator[str]:
    match item:
        case ProseItem(text=text) | NoticeItem(text=text):
            yield text
        case PromptItem():
            yield item.beginning
        case CodeItem(lines=lines, label=label):
            yield label
            yield "\n".join(lines)
        case CallItem(name=name, summary=summary):
            yield name
            yield summary
        case OutcomeItem(error=error):
            yield error or ""


def _folded(item: Item) -> Iterator[str]:
    match item:
        case ReasoningItem(text=text):
            yield text
        case CallItem(arguments=arguments, details=details, content=content):
            yield arguments
            yield details or content
        case PromptItem(sources=sources) | OutcomeItem(sources=sources):
            if isinstance(item, PromptItem):
                yield item.text
            for source in sources:
                yield f"{source.file}:{source.start_line}-{source.end_line}"
                yield source.name
