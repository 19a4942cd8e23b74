"""Splits a streaming answer into the items of a transcript."""

import re
from collections.abc import Iterable
from itertools import pairwise
from uuid import UUID

from treadle.display.markdown_stream import Block, Kind, MarkdownSplitter
from treadle.tui.conversation.items import CodeItem, Item, ProseItem

CODE_LINES = 40
"""The maximum number of lines of a code item.

A longer code block has several items. Therefore only the lines of the last item are rendered again
when a line arrives.
"""
CONTEXT_CHARACTERS = 10_000
"""A code item is highlighted together with the earlier lines of its block.

If these lines have this number of characters or more, the item is highlighted without them.
"""
TABLE_CELLS = 400
"""The maximum number of cells of a table in one item. More cells would block the event loop."""
PREVIEW_CHARACTERS = 4_000
"""The maximum number of characters that are shown of an unfinished block."""

_SNIPPET = re.compile(r'\s*<code="(?P<path>[^"\n]*)"')
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*(?P<label>[^\s`]*)")

_TABLE = re.compile(r" {0,3}(?=.*\|)\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
"""Matches the line between the head and the rows of a table."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BEFORE_TABLE = 10
"""The number of lines at the start of a block that are searched for a table."""


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
            dropped = self._drop_preview()
            self._code = CodeItem(label=_label(block.text), request_id=self._request_id)
            return [*dropped, self._code]
        head, first, *rest = _table_parts(block.text)
        new: list[Item] = [
            ProseItem(text=part, table_head=head, request_id=self._request_id) for part in rest
        ]
        if self._preview is not None:
            self._preview.text, self._preview.finished = first, True
            self._preview.touch()
            self._preview = None
        elif first.strip():
            new.insert(0, ProseItem(text=first, request_id=self._request_id))
        return new

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
            before = [*self._code.before, *self._code.lines]
            whole = self._code.starts or self._code.before
            self._code = CodeItem(
                label=self._code.label,
                starts=False,
                before=before if whole and sum(map(len, before)) < CONTEXT_CHARACTERS else (),
                request_id=self._request_id,
            )
            new.append(self._code)
        self._code.lines.append(line.rstrip("\n"))
        self._code.touch()
        return new

    def _end_code(self) -> None:
        assert self._code is not None
        self._code.ends = True
        self._code.touch()
        self._code = None


def _table_parts(text: str) -> list[str]:
    """Split a block with a large table.

    The first text of the result is the first two lines of the table, and the other texts are the
    parts. If the block has no large table, the first text is empty and the block is the only part.
    """
    lines = _LINE.findall(text)
    delimiter = next((at for at, line in enumerate(lines[:_BEFORE_TABLE]) if _TABLE.match(line)), 0)
    rows = max(1, TABLE_CELLS // max(1, len(lines[delimiter].split("|")))) if delimiter else 0
    first = delimiter + 1 + rows
    if not delimiter or len(lines) <= first or lines[delimiter - 1].startswith("    "):
        return ["", text]
    head = "".join(lines[delimiter - 1 : delimiter + 1])
    # The last line may be blank, so it is not a part of its own.
    ends = [*range(first, len(lines) - 1, rows), len(lines)]
    parts = ["".join(lines[start:end]) for start, end in pairwise([0, *ends])]
    return [head, *parts]


def _label(line: str) -> str:
    found = _SNIPPET.match(line) or _FENCE.match(line)
    return "" if found is None else found[1]
