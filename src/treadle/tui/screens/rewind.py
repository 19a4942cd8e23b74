"""Lists the prompts of a conversation, so that the person can rewind to one of them."""

from collections.abc import Sequence

from textual import work
from textual.content import Content

from treadle.app.conversation_answers import Session
from treadle.app.rewind_plan import RewindOutcome
from treadle.tui.conversation.branches import Exchange, current_exchanges
from treadle.tui.screens.conversation_preview import exchange_preview
from treadle.tui.screens.picker import Picker, filtered
from treadle.tui.screens.rewind_plan import RewindPlanScreen
from treadle.tui.screens.row_list import Row, fields
from treadle.tui.text import TIME_COLUMNS, foreign_line, short_when
from treadle.tui.workbench import Workbench


class RewindScreen(Picker[Exchange, RewindOutcome]):
    """Lets the person choose a prompt of the current branch, and then what to rewind.

    The person can rewind the conversation, the code, or both.
    """

    TITLE_TEXT = "Rewind"
    ENTER = "Show the plan"
    FILTER = "Type to find a prompt. Enter shows what changes before it happens."
    EMPTY = "The conversation has no prompt yet."
    NO_MATCH = "No prompt matches."

    def __init__(self, workbench: Workbench, session: Session) -> None:
        super().__init__()
        self._workbench = workbench
        self._session = session
        self._exchanges = [each for each in current_exchanges(session) if each.prompt]

    async def find_rows(self, query: str) -> Sequence[Row[Exchange]]:
        """Return the prompts, newest first."""
        return filtered(map(_row, reversed(self._exchanges)), query)

    async def preview(self, value: Exchange, columns: int) -> Content:  # noqa: ARG002
        """Return the texts of the exchange."""
        return Content("\n\n").join(exchange_preview(value))

    async def choose_row(self, value: Exchange) -> None:
        """Show the plan of the rewind."""
        self._show_plan(value)

    def summary(self) -> str:
        """Return the number of prompts."""
        count = len(self._exchanges)
        return "1 prompt" if count == 1 else f"{count} prompts"

    @work
    async def _show_plan(self, exchange: Exchange) -> None:
        identity = self._session.conversation.id
        screen = RewindPlanScreen(self._workbench, identity, exchange)
        if (outcome := await self.app.push_screen_wait(screen)) is not None:
            self.finish(outcome)


def _row(exchange: Exchange) -> Row[Exchange]:
    prompt = exchange.prompt
    text = prompt.text.strip() if prompt else ""
    at = exchange.messages[0].entry.at_us

    def draw(columns: int) -> Content:
        time = Content.styled(short_when(at), "$text-muted")
        return fields(columns, foreign_line(text, columns=columns), (time, TIME_COLUMNS))

    return Row(str(exchange.end), exchange, draw, text)
