"""The transcript of a conversation, which renders only the items that are visible.

One widget shows all items. Items outside the window have estimated heights until they are shown, so
neither the number of messages nor the length of an answer slows down a key or a delta. While a
person reads earlier lines, the first visible line stays where it is.
"""

from collections import OrderedDict
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from treadle.tui.actions import Where
from treadle.tui.conversation.items import (
    CallItem,
    CodeItem,
    Item,
    OutcomeItem,
    PromptItem,
    ProseItem,
    ReasoningItem,
)
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.key_bindings import bindings
from treadle.tui.transcript.heights import Heights
from treadle.tui.transcript.look import Look
from treadle.tui.transcript.renderer import Renderer

GUTTER = 2
"""Columns in front of each line. They show which item is selected."""
CACHED_LINES = 5_000
"""The number of rendered lines that are kept."""


class Transcript(ScrollView, can_focus=True):
    """Shows the items of `state`. Call `sync` after the state has changed."""

    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        background: $background;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
    }
    """
    ALLOW_SELECT = True
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.TRANSCRIPT)

    class Toggled(Message):
        """A person folded or unfolded an item."""

        def __init__(self, item: Item) -> None:
            super().__init__()
            self.item = item

    def __init__(self, state: TranscriptState, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.state = state
        self.following = True
        """Whether the end of the transcript stays visible while text arrives."""
        self.selected: int | None = None
        """The position of the selected item."""
        self._heights = Heights()
        self._renderer: Renderer | None = None
        self._cache: OrderedDict[int, tuple[int, list[Strip]]] = OrderedDict()
        self._cached_lines = 0
        self._settling = False

    def sync(self) -> None:
        """Show the changes of the state since the last call."""
        changed = self.state.take_changes()
        if len(self.state.items) < len(self._heights):
            self._restart()
        elif changed:
            for position in changed:
                if position < len(self._heights):
                    self._drop(position)
                    self._heights[position] = self._estimate(self.state.items[position])
            for position in range(len(self._heights), len(self.state.items)):
                self._heights.append(self._estimate(self.state.items[position]))
            self._settle()

    def select(self, position: int | None) -> None:
        """Select the item at a position, and scroll so that it is visible."""
        self.selected = position
        if position is not None:
            self.following = False
            self._rendered(position)
            top = self._heights.before(position)
            bottom = top + self._heights[position]
            window = self.size.height
            if top < self.scroll_offset.y or self._heights[position] >= window:
                self._scroll_to_line(top)
            elif bottom > self.scroll_offset.y + window:
                self._scroll_to_line(bottom - window)
        self.refresh()

    def select_next(self, step: int, kind: type[Item] | None = None) -> None:
        """Select the next visible item in a direction, of a class or of any class."""
        items = self.state.items
        if not items:
            return
        position = self.selected
        if position is None:
            first, _ = self._heights.find(
                self.scroll_offset.y + (self.size.height if step < 0 else 0)
            )
            position = min(first, len(items) - 1) + (1 if step < 0 else -1)
        position += step
        while 0 <= position < len(items):
            item = items[position]
            if (kind is None or isinstance(item, kind)) and self._rendered(position):
                self.select(position)
                return
            position += step

    def follow(self) -> None:
        """Scroll to the end, and keep it visible."""
        self.following = True
        self.selected = None
        self._settle()

    def action_follow(self) -> None:
        """Run the action of the same name."""
        self.follow()

    def toggle(self, position: int) -> None:
        """Fold or unfold the item at a position."""
        item = self.state.items[position]
        if isinstance(item, CallItem | OutcomeItem | PromptItem | ReasoningItem):
            self.state.toggle(item)
            self.post_message(self.Toggled(item))
            self.sync()

    def restyle(self) -> None:
        """Render everything again, after a change of the theme."""
        self._renderer = None
        self._cache.clear()
        self._cached_lines = 0
        self.refresh()

    # Textual calls the methods below.

    def on_mount(self) -> None:
        """Follow changes of the theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self.restyle())

    def on_resize(self, _: events.Resize) -> None:
        """Keep the first visible line when the width changes."""
        anchor = None if self.following or not len(self._heights) else self._anchor()
        self._restart()
        if anchor is not None:
            self._scroll_to_line(self._heights.before(anchor))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end if the person scrolled there."""
        super().watch_scroll_y(old_value, new_value)
        if not self._settling:
            self.following = new_value >= self.max_scroll_y
            self._settle()

    def on_click(self, event: events.Click) -> None:
        """Select the clicked item, and fold or unfold it."""
        if len(self._heights):
            position, _ = self._heights.find(self.scroll_offset.y + event.y)
            self.selected = position
            self.toggle(position)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Render one line of the window."""
        base = self.rich_style
        line = self.scroll_offset.y + y
        width = self.size.width
        if line >= self._heights.total:
            return Strip.blank(width, base)
        position, offset = self._heights.find(line)
        strips = self._rendered(position)
        text = strips[offset] if offset < len(strips) else Strip([])
        selected = position == self.selected and self.has_focus
        gutter = Strip([Segment("▌ ", self._accent)]) if selected else Strip.blank(GUTTER)
        strip = Strip.join([gutter, text]).crop_extend(0, width, None)
        if (selection := self.text_selection) is not None:
            strip = self._with_selection(strip, selection, line)
        return strip.apply_style(base).apply_offsets(0, line)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, and the line end after it."""
        first = 0 if selection.start is None else selection.start.y
        last = self._heights.total - 1 if selection.end is None else selection.end.y
        lines = []
        for line in range(first, last + 1):
            position, offset = self._heights.find(line)
            strips = self._rendered(position)
            text = " " * GUTTER + (strips[offset].text if offset < len(strips) else "")
            span = selection.get_span(line)
            start, end = span or (0, 0)
            lines.append(text[start : None if end == -1 else end].rstrip())
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002
        """Show the new selection."""
        self.refresh()

    # The methods below keep heights and rendered lines.

    @property
    def _accent(self) -> RichStyle:
        return self.app.stylesheet.parse_style("$primary").rich_style

    def _with_selection(self, strip: Strip, selection: Selection, line: int) -> Strip:
        span = selection.get_span(line)
        if span is None:
            return strip
        start, end = span
        end = strip.cell_length if end == -1 else end
        style = self.screen.get_component_rich_style("screen--selection")
        middle = Strip(
            [segment._replace(style=(segment.style or RichStyle()) + style)
             for segment in strip.crop(start, end)]
        )  # fmt: skip
        return Strip.join([strip.crop(0, start), middle, strip.crop(end)])

    def _restart(self) -> None:
        """Forget all heights, for another width or other items."""
        self._renderer = None
        self._cache.clear()
        self._cached_lines = 0
        self._heights.clear()
        self.state.take_changes()
        for item in self.state.items:
            self._heights.append(self._estimate(item))
        if self.selected is not None and self.selected >= len(self.state.items):
            self.selected = None
        self._settle()

    def _anchor(self) -> int:
        return self._heights.find(self.scroll_offset.y)[0]

    def _settle(self) -> None:
        """Render the visible items, so that their heights are exact, and keep the position."""
        if self._settling or not self.size.height:
            return
        self._settling = True
        try:
            if self.following:
                self._render_end()
                self.virtual_size = Size(self.size.width, self._heights.total)
                self.scroll_to(y=self._heights.total, animate=False, force=True)
            elif len(self._heights):
                position, offset = self._heights.find(self.scroll_offset.y)
                before = self._heights.before(position)
                self._render_from(position, offset)
                self.virtual_size = Size(self.size.width, self._heights.total)
                if self._heights.before(position) != before:
                    self.scroll_to(
                        y=self._heights.before(position) + offset, animate=False, force=True
                    )
        finally:
            self._settling = False
        self.refresh()

    def _render_end(self) -> None:
        lines = 0
        for position in range(len(self._heights) - 1, -1, -1):
            lines += len(self._rendered(position))
            if lines > self.size.height:
                return

    def _render_from(self, position: int, offset: int) -> None:
        lines = -offset
        while position < len(self._heights) and lines <= self.size.height:
            lines += len(self._rendered(position))
            position += 1

    def _rendered(self, position: int) -> list[Strip]:
        """The lines of an item. Its height is exact afterwards."""
        item = self.state.items[position]
        cached = self._cache.get(position)
        if cached is not None and cached[0] == item.revision:
            self._cache.move_to_end(position)
            return cached[1]
        self._drop(position)
        if self._renderer is None:
            look = Look(self.size.width - GUTTER - 1, self.app.stylesheet.parse_style)
            self._renderer = Renderer(look)
        strips = self._renderer.render(item)
        self._cache[position] = item.revision, strips
        self._cached_lines += len(strips)
        while self._cached_lines > CACHED_LINES and len(self._cache) > 1:
            _, (_, dropped) = self._cache.popitem(last=False)
            self._cached_lines -= len(dropped)
        if self._heights[position] != len(strips):
            self._heights[position] = len(strips)
        return strips

    def _drop(self, position: int) -> None:
        cached = self._cache.pop(position, None)
        if cached is not None:
            self._cached_lines -= len(cached[1])

    def _estimate(self, item: Item) -> int:
        """The approximate height of an item that was not rendered at this width."""
        width = max(8, self.size.width - GUTTER)
        match item:
            case ProseItem(text=text) | PromptItem(text=text):
                return 1 + text.count("\n") + len(text) // width
            case CodeItem(lines=lines):
                return len(lines) + int(item.starts) + int(item.ends)
        return 1

    def _scroll_to_line(self, line: int) -> None:
        self.scroll_to(y=line, animate=False, force=True)
