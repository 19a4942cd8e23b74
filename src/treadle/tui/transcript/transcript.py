"""The transcript of a conversation, which renders only the items that are visible.

One widget shows all items. Items outside the window have estimated heights until they are shown. So
key presses and new text are fast even in a long conversation. While a person reads earlier lines,
the first visible line stays where it is.
"""

from collections import OrderedDict
from typing import Any, ClassVar

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
    FOLDABLE,
    CallItem,
    CodeItem,
    Item,
    PromptItem,
    ProseItem,
    Target,
)
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.key_bindings import bindings
from treadle.tui.transcript.heights import Heights
from treadle.tui.transcript.look import Look
from treadle.tui.transcript.marks import with_matches, with_style
from treadle.tui.transcript.renderer import Rendered, Renderer

GUTTER = 2
"""Columns in front of each line. They show which item is selected."""
DRAWN_LINES = 1_000
"""The number of drawn lines that are kept."""
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

    class TargetChosen(Message):
        """A person chose a line that leads to a target."""

        def __init__(self, item: Item, target: Target) -> None:
            super().__init__()
            self.item = item
            self.target = target

    def __init__(self, state: TranscriptState, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.state = state
        self.following = True
        """Whether the end of the transcript stays visible while text arrives."""
        self.selected: int | None = None
        """The position of the selected item."""
        self.selected_line: int | None = None
        """The line of the selected target within its item. None if the whole item is selected."""
        self.searched = ""
        """The text whose matches are marked."""
        self._items = state.items
        """The items that are shown. `sync` replaces them when `state` has another conversation."""
        self._heights = Heights()
        self._renderer: Renderer | None = None
        self._cache: OrderedDict[int, tuple[int, Rendered]] = OrderedDict()
        self._cached_lines = 0
        self._drawn: dict[tuple[int, int, int, int], Strip] = {}
        """Lines that were drawn without a selection. They make scrolling fast."""
        self._settling = False

    def sync(self) -> None:
        """Show the changes of the state since the last call."""
        if self.state.items is not self._items:
            self._restart()
        elif changed := self.state.take_changes():
            for position in changed:
                if position < len(self._heights):
                    self._drop(position)
                    self._heights[position] = self._estimate(self._items[position])
            for item in self._items[len(self._heights) :]:
                self._heights.append(self._estimate(item))
                self._follow_entry(item)
            self._settle()

    @property
    def selected_item(self) -> Item | None:
        """The selected item."""
        return None if self.selected is None else self._items[self.selected]

    @property
    def selected_target(self) -> Target | None:
        """The target of the selected line."""
        if self.selected is None or self.selected_line is None:
            return None
        return self._rendered(self.selected).targets.get(self.selected_line)

    def select(self, position: int | None, line: int | None = None) -> None:
        """Select the item at a position, or a line of it, and scroll so that it is visible."""
        self.selected, self.selected_line = position, line
        if position is not None:
            self.following = False
            height = len(self._rendered(position).strips)
            top = self._heights.before(position) + (line or 0)
            bottom = top + (height if line is None else 1)
            window = self.size.height
            if top < self.scroll_offset.y or bottom - top >= window:
                self._scroll_to_line(top)
            elif bottom > self.scroll_offset.y + window:
                self._scroll_to_line(bottom - window)
        self.refresh()

    def select_next(self, step: int, kind: type[Item] | None = None) -> None:
        """Select the next item that has lines, in the direction `step`.

        With `kind`, only items of this class are selected.
        """
        items = self._items
        position = self._from_window(step) if self.selected is None else self.selected
        position += step
        while 0 <= position < len(items):
            item = items[position]
            if (kind is None or isinstance(item, kind)) and self._rendered(position).strips:
                self.select(position)
                return
            position += step

    def step(self, step: int) -> None:
        """Select the next item or target in a direction. A tall item is scrolled first."""
        if self.selected is not None:
            lines = sorted(self._rendered(self.selected).targets)
            stops = [None, *lines]
            following = stops.index(self.selected_line) + step if self.selected_line in stops else 0
            if 0 <= following < len(stops):
                self.select(self.selected, stops[following])
                return
            if self._scrolled_within(step):
                return
        before = self.selected
        self.select_next(step)
        if step < 0 and self.selected not in {None, before}:
            lines = sorted(self._rendered(self.selected or 0).targets)
            if lines:
                self.select(self.selected, lines[-1])

    def follow(self) -> None:
        """Scroll to the end, and keep it visible."""
        self.following = True
        self.selected = self.selected_line = None
        self._settle()

    def activate(self) -> None:
        """Fold or unfold the selected item, or choose its selected target."""
        item, target = self.selected_item, self.selected_target
        if item is None:
            return
        if target is not None:
            self.post_message(self.TargetChosen(item, target))
        elif isinstance(item, FOLDABLE):
            self.state.toggle(item)
            self.sync()
            self.make_room()

    def make_room(self) -> None:
        """Scroll down towards the end of the selected item, but keep its selected line visible.

        Call it after the item grew.
        """
        if self.selected is None or self.following:
            return
        self._rendered(self.selected)
        top = self._heights.before(self.selected)
        line = top + (self.selected_line or 0)
        wanted = min(line, top + self._heights[self.selected] - self.size.height)
        if wanted > self.scroll_offset.y:
            self._settle()
            self._scroll_to_line(wanted)

    def search(self, text: str) -> None:
        """Mark the matches of a text."""
        self.searched = text.casefold()
        self.refresh()

    def action_scroll_end(self) -> None:
        """Scroll to the end, and keep it visible. Textual binds this action to End."""
        self.follow()

    def action_select_previous(self) -> None:
        """Select the item or target above."""
        self.step(-1)

    def action_select_next(self) -> None:
        """Select the item or target below."""
        self.step(1)

    def action_unfold(self) -> None:
        """Fold or unfold the selected item, or choose its selected target."""
        self.activate()

    def restyle(self) -> None:
        """Render everything again, after a change of the theme."""
        self._renderer = None
        self._cache.clear()
        self._drawn.clear()
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
        if anchor is not None and not self.following and anchor < len(self._heights):
            self._scroll_to_line(self._heights.before(anchor))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end if the person scrolled there."""
        super().watch_scroll_y(old_value, new_value)
        if not self._settling:
            self.following = new_value >= self.max_scroll_y
            self._settle()

    def _scroll_to(self, *position: float | None, animate: bool = True, **options: Any) -> bool:  # noqa: ARG002
        """Scroll at once. A scroll during a step of Textual's animation would raise KeyError."""
        return super()._scroll_to(*position, animate=False, **options)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked item or target.

        A click on a fold line folds or unfolds the item, and a click on a target chooses the
        target.
        """
        line = self.scroll_offset.y + event.y
        if self.text_selection is not None or line >= self._heights.total:
            return
        position, offset = self._heights.find(line)
        rendered = self._rendered(position)
        opens = offset == rendered.fold or offset in rendered.targets
        self.selected = position
        self.selected_line = offset if offset in rendered.targets else None
        if opens:
            self.activate()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Render one line of the window."""
        line = self.scroll_offset.y + y
        width = self.size.width
        if line >= self._heights.total:
            return Strip.blank(width, self.rich_style)
        position, offset = self._heights.find(line)
        strips = self._rendered(position).strips
        is_plain = position != self.selected and not self.searched and self.text_selection is None
        key = line, position, offset, self._items[position].revision
        if is_plain and (drawn := self._drawn.get(key)) is not None:
            return drawn
        text = strips[offset] if offset < len(strips) else Strip([])
        if self.searched:
            text = with_matches(text, self.searched, self._style("$text-warning reverse"))
        gutter = Strip.blank(GUTTER)
        if position == self.selected and self._is_marked(offset, text):
            gutter = Strip([Segment("▌ ", self._style("$primary"))])
        strip = Strip.join([gutter, text]).crop_extend(0, width, None)
        if (selection := self.text_selection) is not None and (span := selection.get_span(line)):
            style = self.screen.get_component_rich_style("screen--selection")
            strip = with_style(strip, *span, style)
        strip = strip.apply_style(self.rich_style).apply_offsets(0, line)
        if is_plain:
            if len(self._drawn) >= DRAWN_LINES:
                self._drawn.clear()
            self._drawn[key] = strip
        return strip

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, and the line end after it."""
        first = 0 if selection.start is None else selection.start.y
        last = self._heights.total - 1 if selection.end is None else selection.end.y
        lines = []
        for line in range(first, last + 1):
            position, offset = self._heights.find(line)
            strips = self._rendered(position).strips
            text = " " * GUTTER + (strips[offset].text if offset < len(strips) else "")
            span = selection.get_span(line)
            start, end = span or (0, 0)
            lines.append(text[start : None if end == -1 else end].rstrip())
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002
        """Show the new selection."""
        self.refresh()

    # The methods below keep heights and rendered lines.

    def _style(self, style: str) -> RichStyle:
        return self.app.stylesheet.parse_style(style).rich_style

    def _is_marked(self, offset: int, text: Strip) -> bool:
        """Whether the gutter of a line of the selected item shows the selection."""
        if not self.has_focus and not self.searched:
            return False
        if self.selected_line is not None:
            return offset == self.selected_line
        return offset > 0 or bool(text.text.strip())

    def _from_window(self, step: int) -> int:
        """The position from which a move in a direction starts if no item is selected."""
        if not len(self._heights):
            return 0
        edge = self.scroll_offset.y + (self.size.height if step < 0 else 0)
        position, _ = self._heights.find(edge)
        return position + (1 if step < 0 else -1)

    def _scrolled_within(self, step: int) -> bool:
        """Scroll in a direction within the selected item.

        Returns False if the end of the item in this direction is visible, or the item is not.
        """
        assert self.selected is not None
        top = self._heights.before(self.selected)
        bottom = top + self._heights[self.selected]
        window, first = self.size.height, self.scroll_offset.y
        hidden = bottom - first - window if step > 0 else first - top
        if hidden <= 0 or bottom <= first or top >= first + window:
            return False
        self._scroll_to_line(first + step * min(hidden, max(1, window // 2)))
        return True

    def _restart(self) -> None:
        """Forget all heights, because the width or the items changed."""
        self._renderer = None
        self._cache.clear()
        self._drawn.clear()
        self._cached_lines = 0
        shown = len(self._heights) if self._items is self.state.items else len(self.state.items)
        self._heights.clear()
        self._items = self.state.items
        self.state.take_changes()
        for position, item in enumerate(self._items):
            self._heights.append(self._estimate(item))
            if position >= shown:
                self._follow_entry(item)
        if self.selected is not None and self.selected >= len(self._items):
            self.selected = self.selected_line = None
        self._settle()

    def _follow_entry(self, item: Item) -> None:
        """Follow the end again if the person just sent a message or ran a shell command."""
        entered = isinstance(item, PromptItem) or (isinstance(item, CallItem) and item.is_command)
        if entered and not self.has_focus:
            self.following = True
            self.selected = self.selected_line = None

    def _anchor(self) -> int:
        return self._heights.find(self.scroll_offset.y)[0]

    def _settle(self) -> None:
        """Render the visible items, so that their heights are exact.

        The scroll position stays at the end while `following`, and otherwise at the same line.
        """
        if self._settling or not self.size.height:
            return
        self._settling = True
        try:
            if self.following:
                self._render_end()
                self._set_total()
                self.scroll_to(y=self._heights.total, animate=False, force=True)
            elif len(self._heights):
                position, offset = self._heights.find(self.scroll_offset.y)
                before = self._heights.before(position)
                self._render_from(position, offset)
                self._set_total()
                if self._heights.before(position) != before:
                    self.scroll_to(
                        y=self._heights.before(position) + offset, animate=False, force=True
                    )
        finally:
            self._settling = False
        self.refresh()

    def _set_total(self) -> None:
        """Set the height of all items."""
        size = Size(self.size.width, self._heights.total)
        if self.show_vertical_scrollbar and size.height > self.size.height:
            # Textual lays out the whole screen when `virtual_size` changes. That is only needed
            # when the scroll bar appears or disappears.
            self.set_reactive(Transcript.virtual_size, size)
            self._scroll_update(size)
        else:
            self.virtual_size = size

    def _render_end(self) -> None:
        lines = 0
        for position in range(len(self._heights) - 1, -1, -1):
            lines += len(self._rendered(position).strips)
            if lines > self.size.height:
                return

    def _render_from(self, position: int, offset: int) -> None:
        lines = -offset
        while position < len(self._heights) and lines <= self.size.height:
            lines += len(self._rendered(position).strips)
            position += 1

    def _rendered(self, position: int) -> Rendered:
        """Return the lines of an item, and set its exact height."""
        item = self._items[position]
        cached = self._cache.get(position)
        if cached is not None and cached[0] == item.revision:
            self._cache.move_to_end(position)
            return cached[1]
        self._drop(position)
        if self._renderer is None:
            look = Look(self.size.width - GUTTER - 1, self.app.stylesheet.parse_style)
            self._renderer = Renderer(look)
        rendered = self._renderer.render(item, self._above(position))
        self._cache[position] = item.revision, rendered
        self._cached_lines += len(rendered.strips)
        while self._cached_lines > CACHED_LINES and len(self._cache) > 1:
            _, (_, dropped) = self._cache.popitem(last=False)
            self._cached_lines -= len(dropped.strips)
        if self._heights[position] != len(rendered.strips):
            self._heights[position] = len(rendered.strips)
        return rendered

    def _above(self, position: int) -> Item | None:
        """The nearest item above that has lines."""
        while position > 0:
            position -= 1
            item = self._items[position]
            if not isinstance(item, ProseItem) or item.text.strip():
                return item
        return None

    def _drop(self, position: int) -> None:
        cached = self._cache.pop(position, None)
        if cached is not None:
            self._cached_lines -= len(cached[1].strips)

    def _estimate(self, item: Item) -> int:
        """The approximate height of an item that was not rendered at this width."""
        width = max(8, self.size.width - GUTTER)
        match item:
            case PromptItem(unfolded=False, beginning=beginning):
                return 2 + beginning.count("\n") + len(beginning) // width
            case ProseItem(text=text) | PromptItem(text=text):
                return 2 + text.count("\n") + len(text) // width
            case CodeItem(lines=lines):
                return len(lines) + 2 * int(item.starts)
        return 1

    def _scroll_to_line(self, line: int) -> None:
        self.scroll_to(y=line, animate=False, force=True)
