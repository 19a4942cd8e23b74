"""Asks the person for one line of words."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from treadle.tui.actions import Where, actions_in
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.key_line import KeyLine
from treadle.tui.screens.overlay import Overlay


class WordsScreen(Overlay[str | None]):
    """Returns the words, which may be empty. Returns None if the person closes the screen."""

    DEFAULT_CSS = """
    WordsScreen {
        align: center bottom;
        & > Vertical {
            width: 100%; height: auto; padding: 0 1; border: round $primary; background: $surface;
        }
        Static { height: auto; }
        Input { border: none; padding: 0; height: 1; background: $boost; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.OVERLAY, priority=True)

    def __init__(self, question: Content, words: str = "") -> None:
        """`words` is the text that the field has at first."""
        super().__init__()
        self._question = question
        self._words = words

    def compose(self) -> ComposeResult:
        """Create the parts of the screen."""
        with Vertical():
            yield Static(self._question)
            field = Input(self._words, compact=True, select_on_focus=False)
            field.cursor_blink = False  # a blinking cursor needs a timer
            yield field
            yield KeyLine([*actions_in(Where.LIST)[:1], *actions_in(Where.OVERLAY)])

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Return the words."""
        message.stop()
        _ = self.dismiss(message.value)

    def action_close(self) -> None:
        """Return None."""
        _ = self.dismiss(None)
