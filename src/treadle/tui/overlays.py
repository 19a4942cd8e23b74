"""The actions of the application that open overlays about conversations."""

import asyncio
from typing import TYPE_CHECKING

from textual import work

from treadle.errors import TreadleError
from treadle.events.changes import ConversationChanged
from treadle.tui.exploration import ExplorationActions
from treadle.tui.workbench import Workbench

if TYPE_CHECKING:
    from treadle.app.conversation_answers import Session

_DELETED = "This conversation was deleted. Your next message begins a new one."


class OverlayActions(ExplorationActions):
    """A base of the application.

    The modules of the overlays are loaded when they are opened, so that the start is quick.
    """

    async def opened(self) -> Workbench:
        """Wait until the repository is open."""
        return await asyncio.shield(self._workbench)  # a cancelled worker must not cancel it

    @work
    async def action_sessions(self) -> None:
        """Let the person choose a conversation, and show it."""
        from treadle.tui.screens.sessions import SessionsScreen

        screen = SessionsScreen(await self.opened(), self.state.conversation_id)
        if (session := await self.push_screen_wait(screen)) is not None:
            self.show_session(session)

    def show_session(self, session: "Session") -> None:
        """Show a conversation in place of the present one."""
        self.state.load(session)
        self.read_records()
        self.plan_sync()

    @work(exclusive=True, group="conversation")
    async def follow_change(self, event: ConversationChanged) -> None:
        """Show a change of the present conversation that no turn on the screen made."""
        workbench, shown = await self.opened(), self.state.conversation_id
        if event.conversation_id != str(shown) or self.state.running:
            return
        if event.gone:
            self.state.clear()
            self.state.add_notice(_DELETED, level="warning")
        else:
            try:
                session = await workbench.conversation(str(shown))
            except TreadleError as error:
                self.report(error)
                return
            self.state.title = session.conversation.title
            if tuple(session.branch) != self.state.branch:
                self.state.load(session)
                self.read_records()
        self.plan_sync()
