"""The line above the prompt that states in words what the running turn does."""

from textual import work
from textual.content import Content
from textual.widgets import Static

from treadle.clock import Clock
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.text import foreign_line

TICK_SECONDS = 1.0


class ActivityLine(Static):
    """Shows the activity of `state` while a turn runs.

    The line counts the seconds of a wait, unless the attribute `still` is set. This
    attribute is set if the person wants reduced motion.
    """

    DEFAULT_CSS = """
    ActivityLine {
        height: 1;
        padding: 0 1;
        color: $text-muted;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        display: none;
    }
    """

    def __init__(self, state: TranscriptState, clock: Clock) -> None:
        super().__init__()
        self._state = state
        self._clock = clock
        self._ticks = False
        self.still = False

    def sync(self) -> None:
        """Show the present activity, or hide the line if no turn runs."""
        self.display = bool(self._state.running)
        if self.display:
            self._show()
            if not self._ticks and not self.still:
                self._ticks = True
                self._tick()

    def _show(self) -> None:
        activity = self._state.activity
        words = foreign_line(activity.words(seconds=not self.still), columns=200)
        mark, style = ("? ", "$text-warning") if activity.asks else ("● ", "$text-primary")
        line = Content.assemble((mark, style), words, ("  Esc ends the turn", "$text-muted"))
        if line != self.content:
            self.update(line, layout=False)

    @work
    async def _tick(self) -> None:
        """Refresh the line every second until the turn ends."""
        try:
            while self._state.running and not self.still:
                await self._clock.sleep(TICK_SECONDS)
                if self._state.running and self.screen.is_current:
                    self._show()
        finally:
            self._ticks = False
