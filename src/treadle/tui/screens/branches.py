"""The tree of the branches of a conversation."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from treadle.app.conversation_answers import Session
from treadle.clock import when
from treadle.tui.conversation.branches import Exchange, exchanges
from treadle.tui.screens.conversation_preview import exchange_preview
from treadle.tui.screens.picker import CLOSE_BINDINGS, LIST_BINDINGS, Picker, filtered
from treadle.tui.screens.row_list import Row, fields
from treadle.tui.text import TIME_COLUMNS, foreign_line, short_when
from treadle.tui.workbench import Workbench


class BranchesScreen(Picker[Exchange, Session]):
    """Lets the person choose an exchange of any branch.

    The conversation continues after this exchange.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*LIST_BINDINGS, *CLOSE_BINDINGS]
    TITLE_TEXT = "Branches"
    ENTER = "Continue"
    FILTER = "Type to find a message. Enter continues after it."
    NO_MATCH = "No message matches."

    def __init__(self, workbench: Workbench, session: Session) -> None:
        super().__init__()
        self._workbench = workbench
        self._session = session
        self._exchanges = exchanges(session)

    async def find_rows(self, query: str) -> Sequence[Row[Exchange]]:
        """Return the exchanges as a tree."""
        found = filtered(map(_row, self._exchanges), query)
        if not query:
            self.call_after_refresh(self._highlight_end)
        return found

    async def preview(self, value: Exchange, columns: int) -> Content:  # noqa: ARG002
        """Return the texts of the exchange."""
        facts = f"message {value.end}, {when(value.messages[-1].entry.at_us)}"
        if value.last:
            facts += ", the end of the current branch"
        return Content("\n\n").join(
            [Content.styled(facts, "$text-muted"), *exchange_preview(value)]
        )

    async def choose_row(self, value: Exchange) -> None:
        """Continue the conversation after the exchange."""
        identity = self._session.conversation.id
        self.finish(await self._workbench.branch_conversation(identity, value.end))

    def summary(self) -> str:
        """Return the number of branches."""
        ends: set[int | None] = {each.entry.number for each in self._session.messages}
        ends -= {each.entry.parent for each in self._session.messages}
        return f"{len(ends)} {'branch' if len(ends) == 1 else 'branches'}"

    def _highlight_end(self) -> None:
        last = next((each for each in self._exchanges if each.last), None)
        if last is not None and not self.query_text:
            self.highlight(str(last.end))


def _row(exchange: Exchange) -> Row[Exchange]:
    prompt = exchange.prompt
    text = exchange.answer if prompt is None else prompt.text
    style = "" if exchange.current else "$text-muted"

    def draw(columns: int) -> Content:
        mark = "● " if exchange.last else ""
        lines = text.strip().splitlines() or [""]
        title = foreign_line(lines[0], style, columns=columns)
        head = Content.assemble((exchange.guides, "$text-muted"), (mark, "$text-primary"), title)
        at = Content.styled(short_when(exchange.messages[-1].entry.at_us), "$text-muted")
        return fields(columns, head, (at, TIME_COLUMNS))

    return Row(str(exchange.end), exchange, draw, f"{text} {exchange.answer}")
