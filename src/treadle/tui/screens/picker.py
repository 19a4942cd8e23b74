"""The base of overlays in which a person chooses from a list.

A picker has a title line, a filter line, a list, a preview of the highlighted row, a line for
messages and a line with its keys. On a wide terminal, the preview is next to the list. On a tall
terminal, it is below the list. A small terminal shows no preview.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from treadle.errors import TreadleError
from treadle.tui.actions import Action, Where, actions_in
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.key_line import KeyLine
from treadle.tui.screens.overlay import Overlay
from treadle.tui.screens.row_list import Row, RowList
from treadle.tui.text import foreign

T = TypeVar("T")
R = TypeVar("R")

LIST_BINDINGS = bindings(Where.LIST)
CLOSE_BINDINGS = bindings(Where.OVERLAY, priority=True)

_WIDTHS = [(0, "-small"), (60, "-medium"), (100, "-wide")]
_HEIGHTS = [(0, "-low"), (20, "-tall")]


class Picker(Overlay[R | None], Generic[T, R]):
    """Lets a person choose a row with a value of type T, and returns a result of type R or None.

    A subclass sets the class variables, reads the rows in `find_rows`, and overrides `choose_row`.
    A subclass with keys of its own sets `PLACE`, and has a method `action_<name>` for each action
    of that place in the registry.
    """

    DEFAULT_CSS = """
    Picker {
        & > #panel {
            padding: 0 1;
            border: round $primary;
            background: $surface;
        }
        &.-small > #panel { padding: 0; border: none; }
        #title { height: 1; text-style: bold; text-wrap: nowrap; text-overflow: ellipsis; }
        #filter {
            height: 1; border: none; padding: 0; margin: 0 0 1 0; background: $boost;
        }
        &.-small #filter { margin: 0; }
        #columns { height: 1fr; layout: vertical; }
        #list { height: 1fr; }
        #preview {
            display: none; height: 45%; padding: 0 1; border-top: solid $border-blurred;
            scrollbar-size-vertical: 1;
        }
        &.-tall #preview { display: block; }
        &.-wide #columns { layout: horizontal; }
        &.-wide #list { width: 1fr; height: 100%; }
        &.-wide #preview {
            display: block; width: 44%; height: 100%; border-top: none;
            border-left: solid $border-blurred;
        }
        &.-plain #preview { display: none; }
        #message { height: auto; max-height: 5; display: none; }
        #message.-error { color: $text-error; }
    }
    """
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [*LIST_BINDINGS, *CLOSE_BINDINGS]
    AUTO_FOCUS = ""

    TITLE_TEXT: ClassVar[str]
    """The name of the overlay, in its title line."""
    ENTER: ClassVar[str | None]
    """What Enter does with the highlighted row. None if the last line does not list this key."""
    PLACE: ClassVar[Where | None] = None
    """The part of the terminal whose actions this picker has."""
    FILTER: ClassVar[str | None] = "Type to filter"
    """The hint in the empty filter line. None for a picker without a filter."""
    HAS_PREVIEW: ClassVar[bool] = True
    EMPTY: ClassVar[str] = "There is nothing to show."
    """The message if there are no rows although the filter is empty."""
    NO_MATCH: ClassVar[str] = "Nothing matches."
    """The message if the filter matches no row."""

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self._query = query
        self._is_empty = False
        self._list: RowList[T] = RowList()
        self._list.id = "list"
        self._rows_requested = self._choose_later = False
        self._rows_read = asyncio.Event()
        """Set, except while rows are read."""
        self._rows_read.set()
        self._read_query = query
        """The text of the filter for which the shown rows were read."""
        self._preview_requested = self._drawing_preview = False
        self._message = "", False

    # A subclass overrides the methods below.

    @abstractmethod
    async def find_rows(self, query: str) -> Sequence[Row[T]]:
        """The rows that match the text of the filter. Raises TreadleError.

        The picker calls this method when the picker opens, after each change of the filter, and for
        `reload`. It never makes two calls at the same time.
        """

    @abstractmethod
    async def choose_row(self, value: T) -> None:
        """A person chose a row. Raises TreadleError."""

    async def preview(self, value: T, columns: int) -> Content:  # noqa: ARG002
        """The preview of a row. Raises TreadleError."""
        return Content()

    def summary(self) -> Content | str:
        """The text after the title, such as the number of rows. A `str` must not be foreign."""
        return ""

    # A subclass uses the methods below.

    @property
    def query_text(self) -> str:
        """The text of the filter."""
        return self._query

    @property
    def highlighted(self) -> T | None:
        """The value of the highlighted row."""
        row = self._list.highlighted
        return None if row is None else row.value

    async def settled(self) -> T | None:
        """Wait until the rows are read, and return the value of the highlighted row.

        An action on the highlighted row calls this method in a worker, so that a key is not lost if
        the person presses it while rows are read. The action must not affect a row that the person
        did not see. Therefore the result is None if another row is highlighted after the rows are
        read, unless the person changed the filter. It is also None if there are no rows.
        """
        seen, query = self._list.highlighted, self._read_query
        await self._rows_read.wait()
        row = self._list.highlighted
        is_other = seen is not None and row is not None and row.key != seen.key
        if row is None or (is_other and query == self._read_query):
            return None
        return row.value

    def reload(self, message: str = "", *, error: bool = False) -> None:
        """Read the rows again. The highlighted row stays highlighted if it still exists.

        `message`, which may be foreign, is shown with the new rows.
        """
        self._message = message, error
        self._rows_requested = True
        if self._rows_read.is_set() and self.is_attached:
            self._rows_read.clear()
            self._read_rows()

    def reload_preview(self) -> None:
        """Draw the preview again."""
        self._preview_requested = True
        if not self._drawing_preview and self.is_attached:
            self._drawing_preview = True
            self._draw_preview()

    def highlight(self, key: str) -> None:
        """Highlight the row with a key, if it exists."""
        self._list.highlight(key)

    def finish(self, result: R | None) -> None:
        """Close the picker with a result."""
        _ = self.dismiss(result)  # a handler must not wait until its screen has closed

    def show_message(self, message: Content | str, *, error: bool = False) -> None:
        """Show a message below the list. A `str` may be foreign. An empty message is hidden."""
        content = foreign(message) if isinstance(message, str) else message
        line = self.query_one("#message", Static)
        line.set_class(error, "-error")
        line.display = bool(content.plain)
        line.update(content)

    def show_error(self, error: TreadleError) -> None:
        """Show an error with its hint."""
        self.show_message(str(error), error=True)

    # Textual calls the methods below.

    def compose(self) -> ComposeResult:
        """Create the parts of the picker."""
        self.set_class(not self.HAS_PREVIEW, "-plain")
        places = [self.PLACE] if self.PLACE else []
        close = actions_in(Where.OVERLAY)
        with Vertical(id="panel"):
            yield Static(self._title("reading …"), id="title")
            if self.FILTER is not None:
                field = Input(self._query, placeholder=self.FILTER, id="filter", compact=True)
                field.cursor_blink = False  # a blinking cursor needs a timer
                yield field
            with Container(id="columns"):
                yield self._list
                with VerticalScroll(id="preview", can_focus=False):
                    yield Static(id="preview-text")
            yield Static(id="message")
            choose = [] if self.ENTER is None else [choose_action(self.ENTER)]
            yield KeyLine([*choose, *actions_in(*places), *close])

    def on_mount(self) -> None:
        """Let the person type, and read the rows."""
        for field in self.query(Input):
            field.focus()
        if self.FILTER is None:
            self._list.focus()
        self.reload()

    def on_resize(self, _: events.Resize) -> None:
        """Draw the preview for the new width."""
        self.reload_preview()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Find the rows that match."""
        message.stop()
        if message.value != self._query:
            self._query = message.value
            self.show_message("")
            self.reload()

    async def on_input_submitted(self, message: Input.Submitted) -> None:
        """Choose the highlighted row."""
        message.stop()
        await self.action_choose()

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        """Show the preview of the row."""
        message.stop()
        self.reload_preview()

    async def on_row_list_chosen(self, message: RowList.Chosen) -> None:
        """Choose the clicked row."""
        message.stop()
        await self.action_choose()

    @work
    async def _read_rows(self) -> None:
        try:
            while self._rows_requested:
                self._rows_requested = False
                await self._read_rows_once()
        finally:
            self._rows_read.set()
        if self._choose_later:
            self._choose_later = False
            await self.action_choose()

    async def _read_rows_once(self) -> None:
        query = self._query
        try:
            rows = await self.find_rows(query)
        except TreadleError as error:
            self._list.show_rows(())
            self.query_one("#title", Static).update(Content(self.TITLE_TEXT))
            self.show_error(error)
            return
        (message, is_error), self._message = self._message, ("", False)
        self._list.show_rows(rows)
        self._read_query = query
        if message:
            self._is_empty = not rows
            self.show_message(message, error=is_error)
        elif not rows or self._is_empty:
            self._is_empty = not rows
            self.show_message("" if rows else self._absence)
        self.query_one("#title", Static).update(self._title(self.summary()))

    def _title(self, summary: Content | str) -> Content:
        muted = Content.assemble("  ", summary).stylize("not bold $text-muted")
        return Content.assemble(self.TITLE_TEXT, muted)

    @property
    def _absence(self) -> str:
        """The reason why the list is empty."""
        return self.NO_MATCH if self._query.strip() else self.EMPTY

    @work
    async def _draw_preview(self) -> None:
        try:
            while self._preview_requested:
                self._preview_requested = False
                await self._draw_preview_once()
        finally:
            self._drawing_preview = False

    async def _draw_preview_once(self) -> None:
        pane = self.query_one("#preview", VerticalScroll)
        value = self.highlighted
        if not pane.display:
            return
        try:
            content = (
                Content()
                if value is None
                else await self.preview(value, pane.scrollable_content_region.width)
            )
        except TreadleError as error:
            content = foreign(str(error), "$text-error")
        if not self._preview_requested:
            self.query_one("#preview-text", Static).update(content)
            pane.scroll_home(animate=False)

    # The methods that run the actions in `treadle.tui.actions`.

    def action_close(self) -> None:
        """Close the picker without a result."""
        self.finish(None)

    async def action_choose(self) -> None:
        """Choose the highlighted row. While rows are read, the choice waits for the new rows."""
        value = self.highlighted
        if not self._rows_read.is_set():
            self._choose_later = True
            return
        if value is None:
            return
        try:
            await self.choose_row(value)
        except TreadleError as error:
            self.show_error(error)

    def action_row_up(self) -> None:
        """Highlight the row above."""
        self._list.move(-1)

    def action_row_down(self) -> None:
        """Highlight the row below."""
        self._list.move(1)

    def action_page_up(self) -> None:
        """Go up by one page."""
        self._list.move_page(-1)

    def action_page_down(self) -> None:
        """Go down by one page."""
        self._list.move_page(1)

    def action_first_row(self) -> None:
        """Highlight the first row."""
        self._list.move_to_end(-1)

    def action_last_row(self) -> None:
        """Highlight the last row."""
        self._list.move_to_end(1)

    def action_preview_up(self) -> None:
        """Scroll the preview up."""
        self.query_one("#preview", VerticalScroll).scroll_page_up(animate=False)

    def action_preview_down(self) -> None:
        """Scroll the preview down."""
        self.query_one("#preview", VerticalScroll).scroll_page_down(animate=False)


def choose_action(title: str) -> Action:
    """The action that chooses a row. `title` names its effect in the present list."""
    (choose,) = (action for action in actions_in(Where.LIST) if action.name == "choose")
    return replace(choose, title=title)


def filtered(rows: Iterable[Row[T]], query: str) -> list[Row[T]]:
    """The rows that contain every word of the query, and the headings that still have rows."""
    words = query.casefold().split()
    found: list[Row[T]] = []
    for row in rows:
        if row.value is None:
            if found and found[-1].value is None:
                found.pop()
            found.append(row)
        elif all(word in row.searched.casefold() for word in words):
            found.append(row)
    if found and found[-1].value is None and words:
        found.pop()
    return found
