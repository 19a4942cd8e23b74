"""Renders the lines of a diff, with line numbers, highlighted code and marks on changed words."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.syntax import Syntax
from textual.content import Content
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions

from treadle.display.diffs import DiffRow, RowKind, changed_words
from treadle.edits.freshness import Freshness
from treadle.edits.model import ChangeKind
from treadle.tui.diff.document import DiffFile, DiffHunk, Review
from treadle.tui.diff.layout import WIDENS, Entry, Layout, Part, fold
from treadle.tui.text import foreign_line
from treadle.tui.transcript.look import Look

CHUNK_ROWS = 100
"""The number of rows that are highlighted together."""
_CHUNKS = 64
"""The number of highlighted chunks that are kept."""
_LINES = 4_000
"""The number of rendered entries that are kept."""

_FRESHNESS = {
    Freshness.FRESH: "",
    Freshness.CHANGED: "the file has changed since",
    Freshness.GONE: "the file is gone",
    Freshness.IN_THE_WAY: "a file is already at this path",
}
_KINDS = {
    ChangeKind.MODIFY: "changed",
    ChangeKind.CREATE: "new file",
    ChangeKind.DELETE: "deleted",
    ChangeKind.RENAME: "renamed",
}


@dataclass(frozen=True, slots=True)
class DiffStyles:
    """The styles of a diff in the present theme."""

    context: Style
    removed: Style
    added: Style
    removed_word: Style
    added_word: Style
    empty: Style
    """The style of a side of a row that has no line."""
    left_out: Style
    number: Style
    head: Style
    file: Style


class DiffRenderer:
    """Renders the entries of a layout. Call `forget` after a decision about a hunk."""

    def __init__(
        self,
        layout: Layout,
        review: Review,
        look: Look,
        styles: DiffStyles,
        parse: Callable[[str], Style],
        *,
        decides: bool,
        plain_changes: bool = False,
    ) -> None:
        """`decides` states whether the person can take and leave hunks.

        With `plain_changes`, each changed line has one colour, and its code is not highlighted.
        """
        self._layout = layout
        self._document = layout.document
        self._review = review
        self._look = look
        self._styles = styles
        self._options = RenderOptions(
            get_style=lambda style: parse(style) if isinstance(style, str) else style,
            rules={"text_wrap": "nowrap", "text_overflow": "clip"},
        )
        self._decides = decides
        self._plain_changes = plain_changes
        self._chunks: OrderedDict[tuple[int, int, bool], Sequence[Content]] = OrderedDict()
        self._lines: OrderedDict[int, list[Strip]] = OrderedDict()

    def forget(self) -> None:
        """Forget the rendered lines, but not the highlighted code."""
        self._lines.clear()

    def render(self, position: int, width: int) -> list[Strip]:
        """Return the rendered lines of the entry at a position."""
        found = self._lines.get(position)
        if found is None:
            found = self._entry(self._layout.entries[position], width)
            self._lines[position] = found
            if len(self._lines) > _LINES:
                self._lines.popitem(last=False)
        return found

    def _entry(self, entry: Entry, width: int) -> list[Strip]:
        if entry.part is Part.FILE:
            file = self._document.files[entry.file]
            return [self._line(_file_head(file, decides=self._decides), width, self._styles.file)]
        hunk = self._document.hunks[entry.hunk - 1]
        if entry.part is Part.HUNK:
            return [self._line(self._hunk_head(hunk), width, self._styles.head)]
        row = hunk.rows[entry.row]
        if self._layout.side_by_side:
            return self._both_sides(hunk, entry.row, row)
        return self._unified(hunk, entry, row)

    def _hunk_head(self, hunk: DiffHunk) -> Content:
        where = "" if hunk.line is None else f" · line {hunk.line:,}"
        about = f"hunk {hunk.number} of {len(self._document.hunks)}{where}"
        if hunk.denied:
            return Content.assemble(("⊖ denied earlier  ", "$text-warning"), about)
        if not self._decides:
            return Content(about)
        if self._review.is_taken(hunk.number):
            return Content.assemble(("✓ take  ", "$text-success bold"), about)
        return Content.assemble(("✗ leave out  ", "$text-error bold"), about)

    def _unified(self, hunk: DiffHunk, entry: Entry, row: DiffRow) -> list[Strip]:
        columns = self._layout.columns
        old = entry.part is Part.OLD
        new = entry.part is Part.NEW
        numbers = [None if new else row.old_number, None if old else row.new_number]
        if not columns.both_numbers:
            numbers = [row.old_number if old else row.new_number]
        gutter = " ".join(_number(each, columns.number) for each in numbers)
        return self._rows(hunk, entry.row, gutter, "-" if old else "+" if new else " ")

    def _both_sides(self, hunk: DiffHunk, index: int, row: DiffRow) -> list[Strip]:
        changed = row.kind is not RowKind.CONTEXT
        left, right = (
            []
            if text is None
            else self._rows(
                hunk, index, _number(number, self._layout.columns.number), mark, old=mark != "+"
            )
            for text, number, mark in (
                (row.old, row.old_number, "-" if changed else " "),
                (row.new, row.new_number, "+" if changed else " "),
            )
        )
        height = max(len(left), len(right))
        line = Strip([Segment("│", self._styles.number.rich_style)])
        left += [self._blank(missing=row.old is None)] * (height - len(left))
        right += [self._blank(missing=row.new is None)] * (height - len(right))
        return [Strip.join([one, line, two]) for one, two in zip(left, right, strict=True)]

    def _blank(self, *, missing: bool) -> Strip:
        style = self._styles.empty if missing else self._styles.context
        width = self._layout.columns.number + 3 + self._layout.columns.text
        return Strip.blank(width, style.rich_style)

    def _rows(
        self, hunk: DiffHunk, index: int, gutter: str, mark: str, *, old: bool | None = None
    ) -> list[Strip]:
        """Render one side of a row.

        If the text wraps, only its first line has the line number and the mark.
        """
        style = {"-": self._styles.removed, "+": self._styles.added}.get(mark, self._styles.context)
        if not self._is_taken(hunk):
            style = self._styles.left_out
        text = self._text(hunk, index, old=mark != "+" if old is None else old)
        columns = self._layout.columns.text
        lines: list[Strip] = []
        for start, end in fold(text.plain, columns):
            number = gutter if not lines else " " * len(gutter)
            between = f" {mark if not lines else ' '} "
            lines.append(
                Strip.join(
                    [
                        Strip([Segment(number, (style + self._styles.number).rich_style)]),
                        Strip([Segment(between, style.rich_style)]),
                        self._line(text[start:end], columns, style),
                    ]
                )
            )
        return lines

    def _is_taken(self, hunk: DiffHunk) -> bool:
        """Whether a hunk is shown in colours, because it is taken or no decision is possible."""
        return not self._decides or self._review.is_taken(hunk.number)

    def _line(self, content: Content, width: int, style: Style) -> Strip:
        strips = content.render_strips(width, None, style, self._options) or [Strip([])]
        return strips[0].crop_extend(0, width, style.rich_style)

    def _text(self, hunk: DiffHunk, index: int, *, old: bool) -> Content:
        """Return the highlighted text of one side of a row, with marks on changed words."""
        row = hunk.rows[index]
        text = self._highlighted(hunk, index // CHUNK_ROWS, old=old)[index % CHUNK_ROWS]
        if not self._is_taken(hunk) or WIDENS in text.plain:  # a style would split the emoji
            return Content(text.plain)
        if self._plain_changes and row.kind is not RowKind.CONTEXT:
            text = Content(text.plain)
        if row.kind is RowKind.CHANGED:
            removed, added = changed_words(row.old or "", row.new or "")
            style = self._styles.removed_word if old else self._styles.added_word
            for start, end in removed if old else added:
                text = text.stylize(style, start, end)
        return text

    def _highlighted(self, hunk: DiffHunk, chunk: int, *, old: bool) -> Sequence[Content]:
        key = (hunk.number, chunk, old)
        found = self._chunks.get(key)
        if found is None:
            rows = hunk.rows[chunk * CHUNK_ROWS : (chunk + 1) * CHUNK_ROWS]
            lines = [(row.old if old else row.new) or "" for row in rows]
            found = self._chunks[key] = self._highlight(lines, self._document.files[hunk.file])
            if len(self._chunks) > _CHUNKS:
                self._chunks.popitem(last=False)
        else:
            self._chunks.move_to_end(key)
        return found

    def _highlight(self, lines: list[str], file: DiffFile) -> Sequence[Content]:
        language = _language(file.shown.file.target or file.shown.file.path)
        if language:
            code = self._look.code(lines, language)
            parts = code.split("\n", allow_blank=True)
            if [each.plain for each in parts[: len(lines)]] == lines:
                return parts
        return [Content(line) for line in lines]


def _language(path: str) -> str | None:
    """Return Pygments' name for the language of a file, or None if the language is unknown."""
    name = Syntax.guess_lexer(path)
    return None if name == "default" else name


def _number(number: int | None, columns: int) -> str:
    return " " * columns if number is None else f"{number:>{columns}}"


def _file_head(file: DiffFile, *, decides: bool) -> Content:
    shown = file.shown
    # An applied proposal has changed its files itself.
    freshness = shown.freshness if decides else Freshness.FRESH
    path = (
        shown.file.path if shown.file.target is None else f"{shown.file.path} → {shown.file.target}"
    )
    notes = [_FRESHNESS[freshness], "undone" if shown.file.undone else ""]
    return Content.assemble(
        foreign_line(path, "bold"),
        f"  {_KINDS[shown.file.kind]} ",
        (f"+{shown.file.added:,}", "$text-success"), " ",
        (f"-{shown.file.removed:,}", "$text-error"),
        *(("  " + note, "$text-warning") for note in notes if note),
    )  # fmt: skip
