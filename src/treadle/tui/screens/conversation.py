"""The main screen: the transcript, the prompt and the status line."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from treadle.tui.actions import Where
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.key_bindings import bindings
from treadle.tui.prompt.prompt import Prompt
from treadle.tui.status_line import StatusLine
from treadle.tui.transcript.transcript import Transcript


class ConversationScreen(Screen[None]):
    """One conversation. The application passes events to `state` and calls `sync`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.CONVERSATION)

    def __init__(self, state: TranscriptState) -> None:
        super().__init__()
        self.state = state

    def compose(self) -> ComposeResult:
        """Create the parts of the screen."""
        yield Transcript(self.state)
        yield Prompt()
        yield StatusLine()

    def on_mount(self) -> None:
        """Let the person type at once."""
        self.query_one(Prompt).focus()

    def sync(self) -> None:
        """Show the changes of the state."""
        self.query_one(Transcript).sync()
