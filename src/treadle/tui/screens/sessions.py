"""The picker of saved conversations."""

import asyncio
import re
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple
from uuid import UUID

from textual import work
from textual.binding import BindingType
from textual.content import Content

from treadle.app.conversation_answers import Session
from treadle.app.conversation_export import ExportFormat, exported, write_new_file
from treadle.display.lines import short_id
from treadle.errors import TreadleError
from treadle.session import ConversationSummary
from treadle.traces.amounts import cost as cost_text
from treadle.tui.actions import Where
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.branches import BranchesScreen
from treadle.tui.screens.conversation_preview import conversation_preview, end_of
from treadle.tui.screens.picker import CLOSE_BINDINGS, LIST_BINDINGS, Picker, filtered
from treadle.tui.screens.question import QuestionScreen
from treadle.tui.screens.row_list import Row, fields
from treadle.tui.screens.words import WordsScreen
from treadle.tui.text import TIME_COLUMNS, foreign_line, short_when
from treadle.tui.workbench import Workbench

LISTED = 1_000
"""The maximum number of listed conversations."""
_TITLE_COLUMNS = 60


class _Widths(NamedTuple):
    """The widths in columns of the optional fields of a row.

    The width of a field is 0 if no row has the field.
    """

    cost: int
    branches: int
    state: int


class SessionsScreen(Picker[ConversationSummary, Session]):
    """Returns the conversation to resume."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *LIST_BINDINGS,
        *CLOSE_BINDINGS,
        *bindings(Where.SESSIONS, priority=True),
    ]
    TITLE_TEXT = "Sessions"
    ENTER = "Resume"
    PLACE = Where.SESSIONS
    FILTER = "Type to find a session by its title, model or state"
    EMPTY = "There are no sessions yet. Your first message begins one."
    NO_MATCH = "No session matches."

    def __init__(self, workbench: Workbench, current: UUID | None) -> None:
        """`current` is the conversation on the screen."""
        super().__init__()
        self._workbench = workbench
        self._current = current
        self._found: Sequence[ConversationSummary] = ()
        self._costs: Mapping[UUID, float] = {}
        self._loaded: Session | None = None
        self._stale = True

    async def find_rows(self, query: str) -> Sequence[Row[ConversationSummary]]:
        """Return the conversations that match. The one that changed last comes first."""
        if self._stale:
            self._found = await self._workbench.conversations(limit=LISTED)
            self._stale = False
            self._read_costs()
        widths = _Widths(
            max((len(cost_text(cost)) + 1 for cost in self._costs.values()), default=0),
            11 * any(row.branches > 1 for row in self._found),
            16 * any(end_of(row.stop_reason) for row in self._found),
        )
        return filtered((self._row(each, widths) for each in self._found), query)

    def summary(self) -> str:
        """Return the number of conversations."""
        count = len(self._found)
        if count == LISTED:
            return f"the last {LISTED:,}"
        return f"{count:,}" if count else ""

    async def preview(self, value: ConversationSummary, columns: int) -> Content:  # noqa: ARG002
        """Return the facts and the last exchanges of a conversation."""
        return conversation_preview(await self._session(value))

    async def choose_row(self, value: ConversationSummary) -> None:
        """Resume the conversation."""
        self.finish(await self._workbench.conversation(str(value.id)))

    def reload_all(self) -> None:
        """Read the conversations again, after one of them changed."""
        self._stale, self._loaded = True, None
        self.reload()

    # The methods that run the actions in `treadle.tui.actions`.

    @work
    async def action_rename_session(self) -> None:
        """Ask for a new title of the conversation, and save it."""
        value = await self.settled()
        if value is None:
            return
        question = Content("The new title:")
        title = await self.app.push_screen_wait(WordsScreen(question, value.title))
        if title is None or not " ".join(title.split()):
            return
        await self._change(self._workbench.rename_conversation(value.id, " ".join(title.split())))

    @work
    async def action_show_branches(self) -> None:
        """Show the tree of branches, and resume at the chosen message."""
        value = await self.settled()
        if value is None:
            return
        try:
            session = await self._session(value)
        except TreadleError as error:
            self.show_error(error)
            return
        chosen = await self.app.push_screen_wait(BranchesScreen(self._workbench, session))
        if chosen is not None:
            self.finish(chosen)

    @work
    async def action_export_session(self) -> None:
        """Ask for a path, and write the conversation to a new file."""
        value = await self.settled()
        if value is None:
            return
        question = Content("Write to the file (.json: all branches, otherwise Markdown):")
        suggested = str(Path.cwd() / f"{_file_name(value)}.md")
        path = await self.app.push_screen_wait(WordsScreen(question, suggested))
        if path is None or not path.strip():
            return
        try:
            session = await self._session(value)
            written = await asyncio.to_thread(_export, session, path.strip())
            await self._workbench.note_export(value.id)
        except TreadleError as error:
            self.show_error(error)
        else:
            self.show_message(f"Written to {written}.")

    @work
    async def action_delete_session(self) -> None:
        """State what would be lost, and delete the conversation if the person agrees."""
        value = await self.settled()
        if value is None:
            return
        if await self.app.push_screen_wait(QuestionScreen(self._loss(value))):
            await self._change(self._workbench.delete_conversation(value.id))

    def _loss(self, value: ConversationSummary) -> Content:
        branches = f" on {value.branches} branches" if value.branches > 1 else ""
        turns = "1 turn" if value.turns == 1 else f"{value.turns} turns"
        own = " It is the conversation on the screen." if value.id == self._current else ""
        return Content.assemble(
            "Delete “", foreign_line(value.title, columns=_TITLE_COLUMNS), "” for good?\n\n",
            f"{turns}{branches} will be lost.{own} Recorded traces and changed files stay.",
        )  # fmt: skip

    async def _change(self, changing: Awaitable[None]) -> None:
        """Wait for a change, and read the list again."""
        try:
            await changing
        except TreadleError as error:
            self.show_error(error)
        else:
            self.reload_all()

    async def _session(self, value: ConversationSummary) -> Session:
        """Return the conversation with its messages.

        The conversation that was loaded last is kept, so that it is not loaded again.
        """
        loaded = self._loaded
        if loaded is None or loaded.conversation.id != value.id:
            loaded = self._loaded = await self._workbench.conversation(str(value.id))
        return loaded

    @work(exclusive=True, group="costs")
    async def _read_costs(self) -> None:
        """Add the costs to the rows later, because they may take longer to read than the rows."""
        try:
            self._costs = await self._workbench.conversation_costs([r.id for r in self._found])
        except TreadleError as error:
            self.show_message(f"The costs are unknown: {error}")
        self.reload()

    def _row(self, value: ConversationSummary, widths: _Widths) -> Row[ConversationSummary]:
        cost = self._costs.get(value.id)
        state = end_of(value.stop_reason) if value.turns else "empty"
        turns = f"{value.turns} turn" + "s" * (value.turns != 1)
        branches = f"{value.branches} branches" if value.branches > 1 else ""

        def draw(columns: int) -> Content:
            mark = "● " if value.id == self._current else ""
            title = foreign_line(value.title or short_id(str(value.id)), columns=columns)
            return fields(
                columns,
                Content.assemble((mark, "$text-primary"), title),
                (Content.styled(short_when(value.updated_us), "$text-muted"), TIME_COLUMNS),
                (Content.styled(turns, "$text-muted"), 9),
                (Content.styled("" if cost is None else cost_text(cost)), widths.cost),
                (Content.styled(branches, "$text-muted"), widths.branches),
                (Content.styled(state, "$text-warning"), widths.state),
            )

        return Row(str(value.id), value, draw, f"{value.title} {value.model} {state}")


def _export(session: Session, path: str) -> Path:
    """Write a conversation to a new file in the format of its suffix."""
    target = Path(path).expanduser()
    form = ExportFormat.JSON if target.suffix == ".json" else ExportFormat.MARKDOWN
    write_new_file(target, exported(session, form))
    return target


def _file_name(value: ConversationSummary) -> str:
    """Return a file name without a suffix, from the letters and digits of the title."""
    words = re.findall(r"\w+", value.title.casefold())
    return "-".join(words)[:60].strip("-") or short_id(str(value.id))
