"""A list of rows of one line each, which draws only the visible rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

T = TypeVar("T")

_MARKER = "▌ "
"""Marks the highlighted row, so that a person can see it without colours."""
_MAIN_COLUMNS = 24
"""The first field keeps this number of columns. Other fields are dropped to make room for it."""


@dataclass(frozen=True, slots=True)
class Row(Generic[T]):
    """A row of a list. `draw` returns its text for a number of columns.

    `key` identifies the row when the list is read again. A row with the value None is a heading: it
    cannot be highlighted. `searched` is the text in which a filter searches.
    """

    key: str
    value: T | None
    draw: Callable[[int], Content]
    searched: str = ""


def fields(columns: int, main: Content, *sides: tuple[Content, int]) -> Content:
    """Lay out a row: `main`, and fields of fixed widths at the right end.

    Fields are dropped from the right if `main` has too few columns. A field of width 0 is left out.
    """
    kept: list[tuple[Content, int]] = []
    left = columns
    for side, width in (each for each in sides if each[1]):
        if left - width - 2 < min(_MAIN_COLUMNS, columns):
            break
        kept.append((side, width))
        left -= width + 2
    shown = [main.truncate(left, ellipsis=True, pad=True)]
    for side, width in kept:
        cut = side.truncate(width, ellipsis=True)
        shown += [Content("  "), Content(" " * (width - cut.cell_length)), cut]
    return Content.assemble(*shown)


class RowList(ScrollView, Generic[T], can_focus=True):
    """Shows rows and highlights one of them. Its height does not depend on the number of rows."""

    DEFAULT_CSS = """
    RowList {
        height: 1fr;
        padding: 0 1 0 0;
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        & > .row-list--highlighted {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
        & > .row-list--heading {
            color: $text-muted;
            text-style: bold;
        }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--highlighted", "row-list--heading"}
    BINDINGS: ClassVar[list[BindingType]] = []
    ALLOW_SELECT = False

    class Highlighted(Message):
        """Another row is highlighted, or none."""

    class Chosen(Message):
        """A person clicked on a row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Row[T]] = ()
        self._position: int | None = None

    @property
    def highlighted(self) -> Row[T] | None:
        """The highlighted row. None if the list has no row with a value."""
        return None if self._position is None else self.rows[self._position]

    def show_rows(self, rows: Sequence[Row[T]], *, keep: bool = True) -> None:
        """Replace the rows. With `keep`, the row with the highlighted key stays highlighted."""
        before = self.highlighted
        self.rows = rows
        self.virtual_size = Size(self.size.width, len(rows))
        found = None
        if keep and before is not None:
            keys = (i for i, row in enumerate(rows) if row.key == before.key and _selectable(row))
            found = next(keys, None)
        if found is None:
            found = next((i for i, row in enumerate(rows) if _selectable(row)), None)
        self._position = None
        self._highlight(found)
        self.refresh()

    def highlight(self, key: str) -> None:
        """Highlight the row with a key, if it exists."""
        for position, row in enumerate(self.rows):
            if row.key == key and _selectable(row):
                self._highlight(position)
                return

    def move(self, step: int) -> None:
        """Highlight the row that is `step` rows below, or above if `step` is negative.

        Headings are skipped. The highlight stops at the ends of the list.
        """
        if self._position is None:
            return
        direction = 1 if step > 0 else -1
        target = max(0, min(len(self.rows) - 1, self._position + step))
        candidates = [*range(target, len(self.rows) if step > 0 else -1, direction)]
        candidates += range(target, self._position, -direction)
        found = (each for each in candidates if _selectable(self.rows[each]))
        self._highlight(next(found, self._position))

    def move_page(self, direction: int) -> None:
        """Move by one page."""
        self.move(direction * max(1, self.size.height - 1))

    def move_to_end(self, direction: int) -> None:
        """Highlight the first or the last row."""
        self.move(direction * max(1, len(self.rows)))

    def _highlight(self, position: int | None) -> None:
        if position == self._position and position is not None:
            return
        self._position = position
        self._show_highlighted()
        self.post_message(self.Highlighted())

    def _show_highlighted(self) -> None:
        """Scroll to the highlighted row and the headings above it."""
        if self._position is not None:
            top = self._position
            while top > 0 and not _selectable(self.rows[top - 1]):
                top -= 1
            region = Region(0, top, 1, self._position - top + 1)
            self.scroll_to_region(region, animate=False, force=True, immediate=True)
        self.refresh()

    # Textual calls the methods below.

    def on_click(self, event: events.Click) -> None:
        """Highlight the clicked row and choose it."""
        position = self.scroll_offset.y + event.y
        if position < len(self.rows) and _selectable(self.rows[position]):
            self._highlight(position)
            self.post_message(self.Chosen())

    def on_resize(self, _: events.Resize) -> None:
        """Keep the highlighted row visible."""
        self.virtual_size = Size(self.size.width, len(self.rows))
        self._show_highlighted()

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        position = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if position >= len(self.rows) or width <= len(_MARKER):
            return Strip.blank(width, self.visual_style.rich_style)
        row = self.rows[position]
        style = self.visual_style
        marker = " " * len(_MARKER)
        if not _selectable(row):
            style = self.get_visual_style("row-list--heading")
        elif position == self._position:
            style = self.get_visual_style("row-list--highlighted")
            marker = _MARKER
        text = row.draw(width - len(_MARKER)).truncate(width - len(_MARKER), ellipsis=True)
        if marker == _MARKER:
            text = Content(text.plain)  # the colours of fields lack contrast to the highlight
        line = Content.assemble(marker, text)
        strips = Visual.to_strips(self, line, width, 1, style, pad=True)
        return strips[0].crop_extend(0, width, style.rich_style)


def _selectable(row: Row[T]) -> bool:
    return row.value is not None
