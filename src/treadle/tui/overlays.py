"""The actions of the application that open overlays about conversations."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from textual import work

from treadle.app.choices import Choices
from treadle.errors import TreadleError
from treadle.events import Event
from treadle.events.changes import ConversationChanged
from treadle.events.types import (
    Mode,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
)
from treadle.tui.exploration import ExplorationActions
from treadle.tui.prompt.area import PromptArea
from treadle.tui.status import Status

if TYPE_CHECKING:
    from treadle.app.context_plan import ContextPlan
    from treadle.app.conversation_answers import Session
    from treadle.app.rewind_plan import RewindOutcome
    from treadle.tui.prompt.draft import Draft

_RUNNING = "A turn is running. End it first, with Esc."
_MODES = {
    Mode.READ_ONLY: "Read-only: no tool writes or runs anything. /normal leaves this mode.",
    Mode.NORMAL: "The mode is normal: tools may write and run, with your approval.",
}
_DELETED = "This conversation was deleted. Your next message begins a new one."


class OverlayActions(ExplorationActions):
    """A base class of the application.

    The module of an overlay is loaded when the overlay is opened, so that the terminal starts
    quickly.
    """

    area: PromptArea
    status: Status
    _other_turns: dict[UUID, UUID]
    """Maps each running turn that is not on the screen to its conversation."""
    _choices: Choices
    _restored: "Draft | None" = None
    """The message that the newest rewind put back into the prompt."""

    def is_busy(self) -> bool:
        """Whether a turn runs or starts."""
        raise NotImplementedError

    @work
    async def action_sessions(self) -> None:
        """Let the person choose a conversation, and show it."""
        from treadle.tui.screens.sessions import SessionsScreen

        workbench = await self.opened()
        screen = SessionsScreen(workbench, self.state.conversation_id)
        if (session := await self.push_screen_wait(screen)) is None:
            return
        if self.is_busy():
            self.notify(_RUNNING, markup=False)
        else:
            self.show_session(session, await workbench.running_turns())

    @work
    async def action_rewind(self) -> None:
        """Let the person go back to an earlier prompt."""
        from treadle.tui.screens.rewind import RewindScreen

        workbench, shown = await self.opened(), self.state.conversation_id
        if shown is None:
            self.notify("The conversation has no prompt yet.", markup=False)
            return
        try:
            session = await workbench.conversation(str(shown))
        except TreadleError as error:
            self.report(error)
            return
        outcome = await self.push_screen_wait(RewindScreen(workbench, session))
        if outcome is not None:
            await self._after_rewind(outcome, f"{_went_back(outcome)} /undo-rewind undoes it.")

    @work
    async def action_undo_rewind(self) -> None:
        """Let the person undo the newest rewind."""
        from treadle.tui.screens.rewind_plan import UndoRewindScreen

        workbench, shown = await self.opened(), self.state.conversation_id
        if shown is None:
            self.notify("The conversation has no rewind to undo.", markup=False)
            return
        outcome = await self.push_screen_wait(UndoRewindScreen(workbench, shown))
        if outcome is not None:
            if self._restored is not None:
                self.area.withdraw(self._restored)
            await self._after_rewind(outcome, "The rewind is undone.")

    async def _after_rewind(self, outcome: "RewindOutcome", notice: str) -> None:
        """Show the conversation after a rewind, and put the prompt back into the editor."""
        workbench = await self.opened()
        try:
            self.show_session(await workbench.conversation(str(outcome.conversation_id)))
        except TreadleError as error:
            self.report(error)
        kept = sorted({conflict.path for conflict in outcome.conflicts})
        if kept:
            notice = f"{notice} These files stay as they were: {', '.join(kept)}."
        self.state.add_notice(notice)
        self._restored = None
        if outcome.text is not None:
            draft = self._restored = self.area.restore(outcome.text, outcome.attached)
            if missing := set(outcome.images) - {Path(path).name for path in draft.images}:
                again = f"Attach these images again: {', '.join(sorted(missing))}."
                self.state.add_notice(again, level="warning")
        self.plan_sync()

    @work
    async def action_context(self) -> None:
        """Show the content of the next prompt."""
        from treadle.tui.screens.context_plan import ContextPlanScreen

        workbench, shown, draft = (
            await self.opened(), self.state.conversation_id, self.area.prompt.draft
        )  # fmt: skip

        async def read() -> "ContextPlan":
            return await workbench.plan_context(
                shown, draft.message, choices=self._choices, attachments=draft.attachments
            )

        await self.push_screen_wait(ContextPlanScreen(workbench, read, shown))

    @work
    async def action_models(self) -> None:
        """Let the person choose the model of this session."""
        from treadle.tui.screens.models import ModelsScreen

        screen = ModelsScreen(await self.opened(), self._choices.model)
        if (name := await self.push_screen_wait(screen)) is not None:
            self._choices = replace(self._choices, model=name)
            self.state.add_notice(f"From now on, {name} answers.")
            self.plan_sync()

    @work
    async def advise(self) -> None:
        """Show advice about models if the person has no provider yet."""
        try:
            advice = await (await self.opened()).first_start_advice()
        except TreadleError as error:
            self.report(error)
            return
        if advice is not None:
            self.state.add_notice(advice)
            self.plan_sync()

    def action_new(self) -> None:
        """Begin a new conversation. The present conversation is already saved."""
        if self.is_busy():
            self.notify(_RUNNING, markup=False)
            return
        self.state.clear()
        self.plan_sync()

    def show_session(self, session: "Session", running: Collection[UUID] = ()) -> None:
        """Show a conversation in place of the present one.

        `running` has the ids of the running turns.
        """
        self.state.load(session, running)
        self.status.mode = session.conversation.mode
        self.read_records()
        self.plan_sync()

    async def action_read_only(self) -> None:
        """Enter the mode in which no tool writes or runs anything."""
        await self._change_mode(Mode.READ_ONLY)

    async def action_normal_mode(self) -> None:
        """Leave the read-only mode."""
        await self._change_mode(Mode.NORMAL)

    async def _change_mode(self, mode: Mode) -> None:
        """Change the mode of the conversation. A new conversation gets it when it begins."""
        try:
            if self.state.conversation_id is not None:
                workbench = await self.opened()
                await workbench.change_mode(self.state.conversation_id, mode)
        except TreadleError as error:
            self.report(error)
            return
        self.status.mode = mode
        self.state.add_notice(_MODES[mode])
        self.plan_sync()

    @work(exclusive=True, group="conversation")
    async def follow_change(self, event: ConversationChanged) -> None:
        """Show a change of the present conversation that was not made by a turn on the screen."""
        if event.conversation_id != str(self.state.conversation_id) or self.state.running:
            return
        if event.gone:
            self.state.clear()
            self.state.add_notice(_DELETED, level="warning")
            self.plan_sync()
        else:
            await self._read_again()

    def follow_other_turn(self, event: Event) -> None:
        """When a turn ends that is not on the screen, show its answer.

        It is shown if its conversation is on the screen by then.
        """
        match event:
            case SessionStarted(parent_key=None):
                self._other_turns[event.request_id] = event.session_id
            case SessionFinished() | SessionFailed() | SessionCancelled():
                conversation_id = self._other_turns.pop(event.request_id, None)
                if conversation_id is not None and conversation_id == self.state.conversation_id:
                    self._show_other_answer()

    def follow_joined_turn(self, event: Event) -> None:
        """When a turn of `state.joined` ends, show its saved form."""
        if event.request_id in self.state.joined:
            self.state.joined.discard(event.request_id)
            self._show_other_answer()

    @work(exclusive=True, group="conversation")
    async def _show_other_answer(self) -> None:
        if not self.state.running:
            self.state.branch = ()  # the messages of the branch changed
            await self._read_again()

    async def _read_again(self) -> None:
        """Load the present conversation again, and show it if its messages changed."""
        workbench, shown = await self.opened(), self.state.conversation_id
        try:
            session = await workbench.conversation(str(shown))
        except TreadleError as error:
            self.report(error)
            return
        if session.conversation.id != self.state.conversation_id:
            return  # the person chose another conversation meanwhile
        self.state.title = session.conversation.title
        if tuple(session.branch) != self.state.branch:
            self.state.load(session)
            self.read_records()
        self.plan_sync()


def _went_back(outcome: "RewindOutcome") -> str:
    parts = []
    if outcome.scope.moves_conversation:
        parts.append("The conversation went back.")
    count = len(outcome.proposals)
    if outcome.scope.undoes_code and count:
        parts.append("1 edit is undone." if count == 1 else f"{count} edits are undone.")
    else:
        parts.append("No file changed.")
    return " ".join(parts)
