"""The main screen: the transcript, the prompt and the status line."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from treadle.clock import Clock
from treadle.tui.actions import Where
from treadle.tui.activity_line import ActivityLine
from treadle.tui.approvals.panel import ApprovalPanel
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.key_bindings import bindings
from treadle.tui.prompt.area import PromptArea
from treadle.tui.prompt.prompt import Prompt
from treadle.tui.screens.transcript_actions import TranscriptActions
from treadle.tui.status import Status
from treadle.tui.status_line import StatusLine
from treadle.tui.transcript.find_bar import FindBar
from treadle.tui.transcript.transcript import Transcript

_HEIGHTS = [(0, "-tiny"), (3, "-low"), (10, "-tall")]


class ConversationScreen(TranscriptActions):
    """One conversation. The application passes events to `state` and calls `sync`.

    The prompt is docked to the bottom. Therefore a small terminal cuts off all other parts before
    it cuts off the prompt.
    """

    DEFAULT_CSS = """
    ConversationScreen {
        overflow: hidden;
        & PromptArea { dock: bottom; margin: 0 0 1 0; }
        & StatusLine { dock: bottom; }
        &.-low, &.-tiny {
            Prompt, QueueView, ApprovalPanel { border: none !important; }
        }
        &.-tiny {
            PromptArea { margin: 0; }
            StatusLine { display: none; }
        }
    }
    """
    VERTICAL_BREAKPOINTS = _HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.CONVERSATION)

    def __init__(
        self, state: TranscriptState, area: PromptArea, status: Status, clock: Clock
    ) -> None:
        super().__init__()
        self.state = state
        self.area = area
        self._activity = ActivityLine(state, clock)
        self._status = StatusLine(status)

    def compose(self) -> ComposeResult:
        """Create the parts of the screen."""
        yield Transcript(self.state)
        yield FindBar()
        yield self._activity
        yield ApprovalPanel()
        yield self.area
        yield self._status

    def on_mount(self) -> None:
        """Move the focus to the prompt, so that the person can type at once."""
        self.query_one(Prompt).focus()

    def on_resize(self) -> None:
        """Fit the prompt and the parts above it to the height of the terminal."""
        self.area.fit(self.size.height)

    def on_screen_resume(self) -> None:
        """Show what changed behind an overlay."""
        self.sync()

    def sync(self) -> None:
        """Show the changes of the state."""
        for transcript in self.query(Transcript):  # missing before the first paint, and at the end
            transcript.sync()
        self._activity.sync()
        self._status.sync()

    def keep_still(self) -> None:
        """Do not count the seconds of a turn."""
        self._activity.still = True

    def action_write(self) -> None:
        """Go back to the prompt."""
        self.query_one(Prompt).focus()
