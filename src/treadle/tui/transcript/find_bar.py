"""The line in which a person searches the conversation."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from treadle.tui.actions import Where
from treadle.tui.key_bindings import bindings


class FindBar(Horizontal):
    """A text field and the number of matches. It is hidden until a person searches."""

    DEFAULT_CSS = """
    FindBar {
        display: none;
        height: 1;
        padding: 0 1;
        background: $panel;
        & > #find-text { width: 1fr; border: none; padding: 0; background: $panel; }
        & > #find-count { width: auto; color: $text-muted; padding: 0 1; }
        & > #find-label { width: auto; text-style: bold; padding: 0 1 0 0; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.FIND)

    class Changed(Message):
        """The searched text changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Submitted(Message):
        """The person asked for the next match."""

    class Closed(Message):
        """The person closed the line."""

    def compose(self) -> ComposeResult:
        """Create the parts of the line."""
        yield Static("Find", id="find-label")
        field = Input(id="find-text", compact=True)
        field.cursor_blink = False  # a blinking cursor needs a timer
        yield field
        yield Static(id="find-count")

    def open(self, text: str | None) -> None:
        """Show the line, with `text` or with the text of the last search."""
        self.display = True
        field = self.query_one(Input)
        if text is not None:
            field.value = text
        field.focus()
        field.action_select_all()
        self.post_message(self.Changed(field.value))

    def show_count(self, number: int, total: int) -> None:
        """Show the number of the present match and of all matches."""
        if not self.query_one(Input).value:
            text = "Enter: next, Esc: close"
        elif not total:
            text = "no match"
        else:
            text = f"{number} of {total}"
        self.query_one("#find-count", Static).update(Content(text))

    def on_input_changed(self, message: Input.Changed) -> None:
        """Search as the person types."""
        message.stop()
        if self.display:
            self.post_message(self.Changed(message.value))

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Go to the next match."""
        message.stop()
        self.post_message(self.Submitted())

    def action_close_find(self) -> None:
        """Hide the line."""
        self.display = False
        self.post_message(self.Closed())
