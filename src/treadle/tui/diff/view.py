"""Shows the diff of a proposal, and renders only the lines that are visible."""

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from treadle.tui.diff.document import Review
from treadle.tui.diff.layout import Layout, Part
from treadle.tui.diff.renderer import DiffRenderer, DiffStyles
from treadle.tui.transcript.look import Look

SIDE_BY_SIDE_COLUMNS = 120
"""From this width on, the old and the new side are next to each other by default."""
GUTTER = 2
"""The columns in front of each line that mark the current hunk."""


class DiffView(ScrollView, can_focus=True):
    """Shows the diff of `review`, with one current hunk.

    `decides` states whether the person can take and leave hunks. `side_by_side` is the person's
    choice. If it is None, the width decides whether the two sides are next to each other.
    """

    DEFAULT_CSS = """
    DiffView {
        height: 1fr;
        background: $background;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        & > .diff--removed { background: $error 15%; }
        & > .diff--added { background: $success 15%; }
        & > .diff--removed-word { background: $error 45%; text-style: bold; }
        & > .diff--added-word { background: $success 40%; text-style: bold; }
        & > .diff--empty { background: $surface; }
        & > .diff--left-out { color: $text-disabled; text-style: dim; }
        & > .diff--number { color: $text-muted; }
        & > .diff--head { background: $surface; color: $text-muted; }
        & > .diff--file { background: $panel; }
        &:ansi > .diff--removed { background: ansi_default; color: $error; }
        &:ansi > .diff--added { background: ansi_default; color: $success; }
        &:ansi > .diff--removed-word {
            background: ansi_default; color: $error; text-style: bold underline;
        }
        &:ansi > .diff--added-word {
            background: ansi_default; color: $success; text-style: bold underline;
        }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "diff--context", "diff--removed", "diff--added", "diff--removed-word", "diff--added-word",
        "diff--empty", "diff--left-out", "diff--number", "diff--head", "diff--file",
    }  # fmt: skip
    ALLOW_SELECT = False

    class HunkSelected(Message):
        """Another hunk became the current hunk."""

    class HunkToggled(Message):
        """The person clicked on the head of the current hunk."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.review: Review | None = None
        self.decides = False
        self.side_by_side: bool | None = None
        self.hunk = 1
        """The number of the current hunk. Hunks have numbers from 1 over all files."""
        self._layout: Layout | None = None
        self._renderer: DiffRenderer | None = None
        self._moving = False

    def show(self, review: Review, *, decides: bool) -> None:
        """Show a diff from its beginning.

        If the view already shows an earlier version of this diff, the scroll position stays.
        """
        first = self.review is None
        self.review, self.decides = review, decides
        self.hunk = max(1, min(self.hunk, len(review.document.hunks)))
        self._arrange()
        if first:
            self.scroll_to(y=0, animate=False, force=True)
        self.post_message(self.HunkSelected())

    @property
    def is_side_by_side(self) -> bool:
        """Whether the two sides are next to each other."""
        if self.side_by_side is not None:
            return self.side_by_side
        return self.size.width >= SIDE_BY_SIDE_COLUMNS

    def switch_sides(self) -> None:
        """Change between a side-by-side and a unified diff."""
        self.side_by_side = not self.is_side_by_side
        self._arrange()
        self.select(self.hunk)

    def restyle(self) -> None:
        """Render the diff again after a decision or a change of the theme."""
        self._renderer = None
        self.refresh()

    def select(self, number: int) -> None:
        """Make a hunk the current one, and scroll to it. An unknown number has no effect."""
        if self.review is None or not 1 <= number <= len(self.review.document.hunks):
            return
        self.hunk = number
        if self._layout is not None:
            first, end = self._layout.hunk_lines(number)
            window = self.size.height
            top = self.scroll_offset.y
            if first < top or end > top + window:
                self._moving = True
                target = first if end - first >= window else max(0, min(first, end - window // 2))
                self.scroll_to(y=max(0, target - 1), animate=False, force=True)
                self._moving = False
        self.refresh()
        self.post_message(self.HunkSelected())

    def select_file(self, step: int) -> None:
        """Make the first hunk of the next or previous file the current one."""
        if self.review is None or not self.review.document.hunks:
            return
        document = self.review.document
        file = document.hunks[self.hunk - 1].file + step
        while 0 <= file < len(document.files):
            if hunks := document.files[file].hunks:
                self.select(hunks[0].number)
                return
            file += step

    # Textual calls the methods below.

    def on_resize(self, _: events.Resize) -> None:
        """Keep the current hunk visible when the width changes."""
        if self.review is not None:
            self._arrange()
            self.select(self.hunk)

    def notify_style_update(self) -> None:
        """Render the diff again when the theme changes."""
        super().notify_style_update()
        self._renderer = None

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Make a visible hunk the current one if the current hunk was scrolled out of the view."""
        super().watch_scroll_y(old_value, new_value)
        if self._moving or self._layout is None or self.review is None:
            return
        top, bottom = round(new_value), round(new_value) + self.size.height
        hunks = len(self.review.document.hunks)
        if not hunks:
            return
        first, end = self._layout.hunk_lines(self.hunk)
        if end <= top or first >= bottom:
            line = min(top if end <= top else bottom - 1, self._layout.total - 1)
            position, _ = self._layout.find(line)
            entry = self._layout.entries[position]
            number = entry.hunk or self._first_hunk(entry.file)
            self.hunk = max(1, min(hunks, number))
            self.refresh()
            self.post_message(self.HunkSelected())

    def on_click(self, event: events.Click) -> None:
        """Select the clicked hunk. A click on the head of the current hunk takes or leaves it."""
        if self._layout is None or self.scroll_offset.y + event.y >= self._layout.total:
            return
        position, _ = self._layout.find(self.scroll_offset.y + event.y)
        entry = self._layout.entries[position]
        if entry.hunk and entry.hunk != self.hunk:
            self.hunk = entry.hunk
            self.refresh()
            self.post_message(self.HunkSelected())
        elif entry.part is Part.HUNK:
            self.post_message(self.HunkToggled())

    def render_line(self, y: int) -> Strip:
        """Render one line of the window."""
        width = self.size.width
        line = self.scroll_offset.y + y
        base = self.visual_style.rich_style
        if self._layout is None or line >= self._layout.total:
            return Strip.blank(width, base)
        position, offset = self._layout.find(line)
        entry = self._layout.entries[position]
        strips = self._rendering().render(position, width - GUTTER)
        text = strips[offset] if offset < len(strips) else Strip([])
        accent = self.app.stylesheet.parse_style("$primary").rich_style
        current = entry.hunk == self.hunk
        gutter = Strip([Segment("▌ ", accent)]) if current else Strip.blank(GUTTER)
        return Strip.join([gutter.apply_style(base), text]).crop_extend(0, width, base)

    def _arrange(self) -> None:
        assert self.review is not None
        if not self.size.width:
            return
        self._layout = Layout(
            self.review.document, self.size.width - GUTTER, side_by_side=self.is_side_by_side
        )
        self._renderer = None
        self.virtual_size = Size(self.size.width, self._layout.total)
        self.refresh()

    def _rendering(self) -> DiffRenderer:
        assert self._layout is not None
        assert self.review is not None
        if self._renderer is None:
            parse = self.app.stylesheet.parse_style
            names = DiffStyles.__dataclass_fields__
            styles = DiffStyles(
                **{name: self.get_visual_style(f"diff--{name.replace('_', '-')}") for name in names}
            )
            look = Look(self.size.width - GUTTER, parse)
            self._renderer = DiffRenderer(
                self._layout,
                self.review,
                look,
                styles,
                parse,
                decides=self.decides,
                plain_changes=self.app.native_ansi_color,
            )
        return self._renderer

    def _first_hunk(self, file: int) -> int:
        assert self.review is not None
        hunks = self.review.document.files[file].hunks
        return hunks[0].number if hunks else 1
