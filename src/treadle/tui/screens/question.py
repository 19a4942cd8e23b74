"""Asks the person whether to do something that cannot be undone."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from treadle.tui.actions import Where, actions_in
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.key_line import KeyLine
from treadle.tui.screens.overlay import Overlay


class QuestionScreen(Overlay[bool]):
    """Returns whether the person agreed. Only the key of the action `confirm` agrees."""

    DEFAULT_CSS = """
    QuestionScreen {
        align: center middle;
        & > Vertical {
            width: 80%; max-width: 90; height: auto; max-height: 100%; padding: 0 1;
            border: round $warning; background: $surface;
        }
        Static { height: auto; }
        KeyLine { height: 1; margin: 1 0 0 0; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.QUESTION, Where.OVERLAY, priority=True)

    def __init__(self, question: Content) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Create the parts of the screen."""
        with Vertical():
            yield Static(self._question)
            yield KeyLine(actions_in(Where.QUESTION, Where.OVERLAY))

    def action_confirm(self) -> None:
        """Agree."""
        _ = self.dismiss(True)

    def action_close(self) -> None:
        """Do nothing."""
        _ = self.dismiss(False)
