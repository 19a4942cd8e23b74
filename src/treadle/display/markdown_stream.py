"""Splits Markdown into blocks while it arrives.

A returned block never changes, so it can be printed at once and is never printed again. A block of
prose ends at a blank line. Each line of a fenced code block is a block of its own.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)")
_SNIPPET = re.compile(r'\s*<code="')
_SNIPPET_END = "</code>"
_LIMIT = 40
"""A block with this number of lines ends before the next list item.

Otherwise a long list without blank lines would be one block.
"""
_ITEM = re.compile(r" {0,3}([-*+]|\d+[.)]) ")


class Kind(StrEnum):
    """How a block is printed: as prose, as a line of code, or as a line that delimits code."""

    PROSE = "prose"
    CODE = "code"
    FENCE = "fence"
    """The line that opens or closes a code block."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the reply, including line ends. All blocks joined together are the reply."""

    kind: Kind
    text: str


class MarkdownSplitter:
    """Splits text into complete blocks. The text may arrive in chunks of any size."""

    def __init__(self) -> None:
        self._partial: list[str] = []
        self._block: list[str] = []
        self._fence: str | None = None

    def unfinished(self, length: int) -> str:
        """Return the text that no returned block contains yet, but at most its last characters.

        `length` is the maximum number of characters.
        """
        end = ""
        for part in chain(reversed(self._partial), reversed(self._block)):
            if len(end) >= length:
                break
            end = part + end
        return end[-length:]

    def feed(self, text: str) -> list[Block]:
        """Add a chunk of text, and return the blocks that it completes."""
        head, newline, rest = text.partition("\n")
        self._partial.append(head)
        if not newline:
            return []
        blocks = self._line("".join(self._partial) + "\n")
        *lines, last = rest.split("\n")
        for line in lines:
            blocks += self._line(line + "\n")
        self._partial = [last] if last else []
        return blocks

    def finish(self) -> list[Block]:
        """End the reply, and return the remaining text as blocks."""
        rest = "".join(self._partial)
        self._partial = []
        blocks = self._line(rest) if rest else []
        return blocks + self._flush()

    def _line(self, line: str) -> list[Block]:
        if self._fence is not None:
            if not _closes(line, self._fence):
                return [Block(Kind.CODE, line)]
            self._fence = None
            return [Block(Kind.FENCE, line)]
        opening = _FENCE.match(line)
        if opening or _SNIPPET.match(line):
            self._fence = opening[1] if opening else _SNIPPET_END
            return [*self._flush(), Block(Kind.FENCE, line)]
        if len(self._block) >= _LIMIT and _ITEM.match(line):
            return [*self._flush(), *self._line(line)]
        self._block.append(line)
        return [] if line.strip() else self._flush()

    def _flush(self) -> list[Block]:
        text = "".join(self._block)
        self._block = []
        return [Block(Kind.PROSE, text)] if text else []


def _closes(line: str, fence: str) -> bool:
    """Whether `line` closes the code block that `fence` opened (CommonMark 0.31, section 4.5)."""
    text = line.strip()
    if fence == _SNIPPET_END:
        return text == fence
    return len(text) >= len(fence) and set(text) == {fence[0]}
