"""The help: every key of a screen, grouped by the part of the screen in which it works."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from treadle.tui.actions import Action, Where
from treadle.tui.key_bindings import KeySet, key_labels, keys_of
from treadle.tui.screen_actions import actions_of
from treadle.tui.screens.picker import Picker, filtered
from treadle.tui.screens.row_list import Row, RowList

_KEY_COLUMNS = 26
_TEXTUAL: dict[type[Widget], str] = {
    TextArea: "in a text",
    Input: "in a line of text",
    ScrollableContainer: "to scroll",
}
"""Widgets of Textual with keys of their own, and where these keys work."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the help. `action` is None for a key of Textual."""

    keys: str
    title: str
    help: str
    action: Action | None = None

    def draw(self, columns: int) -> Content:
        """The line, with the keys in a column of their own."""
        width = min(_KEY_COLUMNS, columns // 2)
        keys = Content.styled(self.keys, "bold").truncate(width, ellipsis=True, pad=True)
        return Content.assemble(keys, "  ", self.title).truncate(columns, ellipsis=True)


class Help(Picker[Entry, str]):
    """Lists the keys of a screen. The result is the name of an action to run."""

    TITLE_TEXT = "Keys and commands"
    ENTER = "Run"
    NO_MATCH = "No key or command matches."
    HAS_PREVIEW: ClassVar[bool] = False

    def __init__(self, screen: Screen[object], key_set: KeySet) -> None:
        super().__init__()
        self._rows = list(_rows(screen, key_set))

    async def find_rows(self, query: str) -> Sequence[Row[Entry]]:
        """The keys and commands that contain every word of the query."""
        return filtered(self._rows, query)

    async def choose_row(self, value: Entry) -> None:
        """Run the action if the command palette has it. The help closes first."""
        if value.action is not None and value.action.in_palette:
            self.finish(value.action.name)

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        """Explain the highlighted action."""
        message.stop()
        if self.highlighted is not None:
            self.show_message(Content(self.highlighted.help))


def _rows(screen: Screen[object], key_set: KeySet) -> Iterator[Row[Entry]]:
    actions = actions_of(screen)
    for where in Where:
        entries = [_entry(action, key_set) for action in actions if action.where is where]
        if entries:
            yield _heading(where)
            yield from (_row(entry.title, entry) for entry in entries)
    for kind, where_text in _TEXTUAL.items():
        if any(node.focusable for node in screen.query(kind)):
            yield _heading(where_text)
            for title, keys in _keys_of_class(kind).items():
                entry = Entry(key_labels(keys), title, f"{title}.")
                yield _row(f"{kind.__name__} {title}", entry)


def _entry(action: Action, key_set: KeySet) -> Entry:
    slash = f"/{action.slash} {action.argument or ''}".rstrip() if action.slash else ""
    keys = key_labels(keys_of(action, key_set))
    shown = ", ".join(part for part in (keys, slash) if part)
    return Entry(shown, action.title, action.help, action)


def _keys_of_class(kind: type[Widget]) -> dict[str, list[str]]:
    """Map the description of each key binding of a widget class to the keys."""
    found: dict[str, list[str]] = {}
    for binding in Binding.make_bindings(kind.BINDINGS):
        if binding.description:
            found.setdefault(binding.description, []).append(binding.key)
    return found


def _row(key: str, entry: Entry) -> Row[Entry]:
    return Row(key, entry, entry.draw, f"{entry.keys} {entry.title} {entry.help}")


def _heading(where: str) -> Row[Entry]:
    text = f"Keys {where}"
    return Row(text, None, lambda columns: Content(text).truncate(columns, ellipsis=True))
