"""The editor in which a person writes a message."""

from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from treadle.tui.actions import Where
from treadle.tui.key_bindings import bindings

_LINE_BREAKS = frozenset({"shift+enter", "alt+enter", "ctrl+j"})


class Prompt(TextArea):
    """A text of many lines. Enter sends it. Shift+Enter, Alt+Enter and Ctrl+J break the line."""

    DEFAULT_CSS = """
    Prompt {
        height: auto;
        max-height: 40vh;
        border: round $border;
        &:focus { border: round $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.PROMPT)

    class Submitted(Message):
        """The person sent a message."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()
            event.stop()
            if self.text.strip():
                self.post_message(self.Submitted(self.text))
                self.clear()
        elif event.key in _LINE_BREAKS:
            event.prevent_default()
            event.stop()
            self.insert("\n")
        else:
            await super()._on_key(event)
