"""The flight recorder: the trace of an answer as a tree, with the details of the chosen span."""

import asyncio
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass

from textual import work
from textual.content import Content

from treadle.diagnosis.evidence import SpanReference
from treadle.display.trace_tree import describe
from treadle.errors import TreadleError
from treadle.spans.page_links import span_link
from treadle.tui.actions import Where
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.picker import Picker
from treadle.tui.screens.row_list import Row
from treadle.tui.text import foreign
from treadle.tui.trace.row_view import draw_row
from treadle.tui.trace.span_detail import span_detail
from treadle.tui.trace.trace_tree_state import TraceTreeState
from treadle.tui.workbench import Workbench

_NO_SERVER = (
    "No server shows this repository. Start `treadle serve` in another terminal, then try again."
)


@dataclass(frozen=True, slots=True)
class AnalystQuestion:
    """A person wants to ask the analyst (an agent) about a span.

    If `about` has no span id, the question is about the whole trace.
    """

    about: SpanReference


class TraceScreen(Picker[int, AnalystQuestion]):
    """Shows one trace. The value of a row is its position in the tree."""

    TITLE_TEXT = "Flight recorder"
    ENTER = "Fold or unfold"
    PLACE = Where.TRACE
    FILTER = "Type to find spans by name, content of the row, or id"
    EMPTY = "The trace has no spans."
    NO_MATCH = "No span matches."
    BINDINGS = bindings(Where.TRACE)

    def __init__(self, workbench: Workbench, trace_id: str, span_id: str | None = None) -> None:
        super().__init__()
        self._workbench = workbench
        self._trace_id = trace_id
        self._wanted = span_id
        self._tree: TraceTreeState | None = None
        self._whole = False
        self._details: tuple[int, bool, Content] | None = None

    async def find_rows(self, query: str) -> Sequence[Row[int]]:
        """The visible rows of the tree. The first call reads the trace."""
        if self._tree is None:
            view = await self._workbench.trace_view(self._trace_id)
            self._tree = await asyncio.to_thread(TraceTreeState, view)
        tree = self._tree
        positions = await asyncio.to_thread(tree.visible, query)
        if self._wanted is not None:
            self.call_after_refresh(self._show_wanted)
        total_us = _total_us(tree)
        return [_row(tree, position, total_us) for position in positions]

    async def choose_row(self, value: int) -> None:
        """Fold or unfold a row."""
        tree = self._tree
        if tree is not None and (tree.unfold(value) or tree.fold(value)):
            self.reload()

    async def preview(self, value: int, columns: int) -> Content:  # noqa: ARG002
        """The details of a span. For an event, the text of its row."""
        tree = self._tree
        if tree is None or value >= len(tree.view.rows):  # the trace is being read again
            return Content()
        row = tree.view.rows[value]
        if row.span_id is None:
            return foreign("\n".join((row.name, row.detail, *row.notes)))
        if self._details is not None and self._details[:2] == (value, self._whole):
            return self._details[2]
        span = await self._workbench.span(tree.view.trace_id, row.span_id)
        content = await asyncio.to_thread(span_detail, span, row, whole=self._whole)
        self._details = value, self._whole, content
        return content

    def summary(self) -> str:
        """The user and the release of the trace, and its totals."""
        if self._tree is None:
            return ""
        view = self._tree.view
        return "  ".join(filter(None, (view.origin, describe(view.totals))))

    def action_trace_fold(self) -> None:
        """Hide the rows below the highlighted row.

        If there are none to hide, highlight the parent of the row in the tree.
        """
        tree, position = self._tree, self.highlighted
        if tree is None or position is None:
            return
        if tree.fold(position):
            self.reload()
        elif (parent := tree.parent(position)) is not None:
            self.highlight(str(parent))

    def action_trace_unfold(self) -> None:
        """Show the rows below the highlighted row."""
        position = self.highlighted
        if self._tree is not None and position is not None and self._tree.unfold(position):
            self.reload()

    def action_trace_whole(self) -> None:
        """Show the whole content of the span, or the shortened content again."""
        self._whole = not self._whole
        self.reload_preview()

    def action_trace_reload(self) -> None:
        """Read the trace again, for example while its turn still runs."""
        self._tree, self._details = None, None
        self.reload()

    def action_trace_analyse(self) -> None:
        """Close the trace, and ask the analyst about it."""
        span_id = ""
        if self._tree is not None and self.highlighted is not None:
            span_id = self._tree.view.rows[self.highlighted].span_id or ""
        trace_id = self._trace_id if self._tree is None else self._tree.view.trace_id
        self.finish(AnalystQuestion(SpanReference(trace_id, span_id)))

    @work(exclusive=True, group="browser")
    async def action_trace_browser(self) -> None:
        """Open the span on the page of a running server."""
        if self._tree is None:
            return
        position = self.highlighted
        span_id = "" if position is None else self._tree.view.rows[position].span_id or ""
        try:
            address = await self._workbench.page_address()
        except TreadleError as error:
            self.show_error(error)
            return
        if address is None:
            self.show_message(_NO_SERVER, error=True)
            return
        link = f"{address}{span_link(self._tree.view.trace_id, span_id)}"
        opened = await asyncio.to_thread(_open, link)
        self.show_message(f"Opened {link}" if opened else f"Open this address yourself: {link}")

    def _show_wanted(self) -> None:
        """Highlight the span for which the screen was opened."""
        span_id, self._wanted = self._wanted, None
        position = None if self._tree is None or span_id is None else self._tree.position(span_id)
        if position is None:
            if span_id:
                self.show_message(f"The trace has no span {span_id} yet. Read it again later.")
            return
        self.highlight(str(position))


def _row(tree: TraceTreeState, position: int, total_us: int) -> Row[int]:
    def draw(columns: int) -> Content:
        mark = " "
        if tree.has_children(position):
            mark = "▸" if tree.is_folded(position) else "▾"
        return draw_row(tree.view.rows[position], columns, total_us=total_us, mark=mark)

    return Row(str(position), position, draw)


def _total_us(tree: TraceTreeState) -> int:
    """The time from the first start to the last known moment."""
    ends = [(row.offset_us or 0) + (row.duration_us or 0) for row in tree.view.rows]
    return max(ends, default=0)


def _open(link: str) -> bool:
    """Open a link in a graphical browser. A text browser would draw over this terminal."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    in_terminal = type(browser) is webbrowser.GenericBrowser
    return not in_terminal and getattr(browser, "background", True) and browser.open(link)
