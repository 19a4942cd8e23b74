"""Splits a streaming answer into the items of a transcript."""

import re
from collections.abc import Iterable
from uuid import UUID

from treadle.display.markdown_stream import Block, Kind, MarkdownSplitter
from treadle.tui.conversation.items import CodeItem, Item, ProseItem

CODE_LINES = 40
"""The maximum number of lines of a code item.

A longer code block has several items. Therefore only the lines of the last item are rendered again
when a line arrives.
"""
PREVIEW_CHARACTERS = 4_000
"""The maximum number of characters that are shown of an unfinished block."""

_SNIPPET = re.compile(r'\s*<code="(?P<path>[^"\n]*)"')
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*(?P<label>[^\s`]*)")


class AnswerParts:
    """The items of one answer. Only the last item can still change.

    Therefore the cost of showing new text does not grow with the length of the answer.
    """

    def __init__(self, request_id: UUID | None = None) -> None:
        self._request_id = request_id
        self._splitter = MarkdownSplitter()
        self._code: CodeItem | None = None
        self._preview: ProseItem | None = None

    def feed(self, text: str) -> list[Item]:
        """Add text, and return the new items, in order. The last earlier item may change, too."""
        return self._add(self._splitter.feed(text), unfinished=True)

    def finish(self) -> list[Item]:
        """End the answer, and return the items of the text that was not yet in an item."""
        new = self._add(self._splitter.finish(), unfinished=False)
        if self._code is not None:
            self._end_code()
        return new

    def _add(self, blocks: Iterable[Block], *, unfinished: bool) -> list[Item]:
        new: list[Item] = []
        for block in blocks:
            new += self._block(block)
        rest = self._splitter.unfinished(PREVIEW_CHARACTERS) if unfinished else ""
        if self._preview is not None:
            self._preview.text = rest
            self._preview.touch()
        elif rest.strip() and self._code is None:
            self._preview = ProseItem(text=rest, finished=False, request_id=self._request_id)
            new.append(self._preview)
        return new

    def _block(self, block: Block) -> list[Item]:
        if block.kind is Kind.CODE:
            return self._code_line(block.text)
        if block.kind is Kind.FENCE:
            if self._code is not None:
                self._end_code()
                return []
            new = self._drop_preview()
            self._code = CodeItem(label=_label(block.text), request_id=self._request_id)
            return [*new, self._code]
        if self._preview is not None:
            self._preview.text, self._preview.finished = block.text, True
            self._preview.touch()
            self._preview = None
            return []
        if not block.text.strip():
            return []
        return [ProseItem(text=block.text, request_id=self._request_id)]

    def _drop_preview(self) -> list[Item]:
        """Empty the preview, because its text was the opening line of a code block."""
        if self._preview is not None:
            self._preview.text, self._preview.finished = "", True
            self._preview.touch()
            self._preview = None
        return []

    def _code_line(self, line: str) -> list[Item]:
        assert self._code is not None
        new: list[Item] = []
        if len(self._code.lines) >= CODE_LINES:
            self._code = CodeItem(label=self._code.label, starts=False, request_id=self._request_id)
            new.append(self._code)
        self._code.lines.append(line.rstrip("\n"))
        self._code.touch()
        return new

    def _end_code(self) -> None:
        assert self._code is not None
        self._code.ends = True
        self._code.touch()
        self._code = None


def _label(line: str) -> str:
    found = _SNIPPET.match(line) or _FENCE.match(line)
    return "" if found is None else found[1]
