"""The main screen: the transcript, the prompt and the status line."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from treadle.tui.actions import Where
from treadle.tui.approvals.panel import ApprovalPanel
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.key_bindings import bindings
from treadle.tui.prompt.area import PromptArea
from treadle.tui.prompt.prompt import Prompt
from treadle.tui.screens.transcript_actions import TranscriptActions
from treadle.tui.status_line import StatusLine
from treadle.tui.transcript.find_bar import FindBar
from treadle.tui.transcript.transcript import Transcript


class ConversationScreen(TranscriptActions):
    """One conversation. The application passes events to `state` and calls `sync`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.CONVERSATION)

    def __init__(self, state: TranscriptState, area: PromptArea) -> None:
        super().__init__()
        self.state = state
        self.area = area

    def compose(self) -> ComposeResult:
        """Create the parts of the screen."""
        yield Transcript(self.state)
        yield FindBar()
        yield ApprovalPanel()
        yield self.area
        yield StatusLine()

    def on_mount(self) -> None:
        """Let the person type at once."""
        self.query_one(Prompt).focus()

    def sync(self) -> None:
        """Show the changes of the state."""
        self.query_one(Transcript).sync()

    def action_write(self) -> None:
        """Go back to the prompt."""
        self.query_one(Prompt).focus()
