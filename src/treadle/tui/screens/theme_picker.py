"""Chooses the theme. The terminal shows the highlighted theme at once."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual.content import Content

from treadle.tui.screens.picker import Picker, filtered
from treadle.tui.screens.row_list import Row, RowList
from treadle.tui.themes import THEMES

_ABOUT = {
    "dark": "light text on a dark background",
    "light": "dark text on a light background",
    "high-contrast": "white text on black, and strong colours",
    "ansi": "the 16 colours and the background of your terminal",
}


class ThemePicker(Picker[str, str]):
    """Lists the themes. The result is the name of a theme."""

    TITLE_TEXT = "Theme"
    ENTER = "Use"
    NO_MATCH = "No theme has such a name."
    HAS_PREVIEW: ClassVar[bool] = False

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    async def find_rows(self, query: str) -> Sequence[Row[str]]:
        """The themes."""
        rows = [Row(name, name, partial(_draw, name), name) for name in THEMES]
        return filtered(rows, query)

    async def choose_row(self, value: str) -> None:
        """Close the picker with the chosen theme."""
        self.finish(value)

    def on_mount(self) -> None:
        """Highlight the present theme."""
        self.call_after_refresh(self.highlight, self.app.theme)

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        """Show the highlighted theme."""
        message.stop()
        if self.highlighted is not None:
            self._show(self.highlighted)


def _draw(name: str, columns: int) -> Content:
    return Content(f"{name:<15}{_ABOUT[name]}").truncate(columns, ellipsis=True)
