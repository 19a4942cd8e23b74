"""The actions of the application about approvals, proposals, permissions and checks."""

from typing import cast

from textual import work
from textual.app import App

from treadle.display.event_lines import RESOLVED
from treadle.errors import TreadleError
from treadle.events import Event
from treadle.events.types import ApprovalRequested, ApprovalResolved
from treadle.tui.approvals.panel import ApprovalPanel
from treadle.tui.approvals.questions import Questions
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.prompt.area import PromptArea
from treadle.tui.prompt.draft import CommandOutput
from treadle.tui.prompt.prompt import Prompt
from treadle.tui.text import foreign
from treadle.tui.workbench import Workbench


class ApprovalActions(App[None]):
    """A base class of the application.

    The application sets the attributes, and opens the workbench.
    """

    state: TranscriptState
    area: PromptArea
    questions: Questions

    async def opened(self) -> Workbench:
        """Wait until the repository is open."""
        raise NotImplementedError

    def report(self, error: TreadleError) -> None:
        """Show an error as a line of the transcript."""
        raise NotImplementedError

    async def read_questions(self, workbench: Workbench) -> None:
        """Read and show the waiting questions. Call this at the start and after lost events."""
        self.questions.replace(await workbench.pending_approvals())
        self._show_question()

    def follow_questions(self, event: Event) -> None:
        """Show a new question, or remove an answered one."""
        from treadle.tui.screens.answer import AnswerScreen
        from treadle.tui.screens.proposal import ProposalScreen

        if not self.questions.apply(event):
            return
        self._show_question()
        if isinstance(event, ApprovalResolved):
            for screen in reversed(self.screen_stack):
                if isinstance(screen, ProposalScreen | AnswerScreen):
                    screen.settle(event.approval_id, RESOLVED[event.scope])

    def _show_question(self) -> None:
        for screen in self.screen_stack:
            for panel in screen.query(ApprovalPanel):
                panel.show(self.questions.first, len(self.questions))

    def on_approval_panel_entered(self) -> None:
        """Let the person answer the question of the panel."""
        self.action_answer()

    # The methods that run the actions in `treadle.tui.actions`.

    def action_answer(self) -> None:
        """Answer the oldest question. Without a question, move to the next widget."""
        question = self.questions.first
        if question is None:
            self.action_focus_next()
        else:
            self._answer(question)

    @work(exclusive=True, group="answer")
    async def _answer(self, question: ApprovalRequested) -> None:
        from treadle.tui.screens.answer import AnswerScreen
        from treadle.tui.screens.proposal import ProposalScreen

        workbench = await self.opened()
        try:
            if question.proposal_id is not None:
                screen = ProposalScreen(workbench, question.proposal_id, question=question)
                await self.push_screen_wait(screen)
            else:
                choices = await workbench.choices(question.approval_id)
                answer = await self.push_screen_wait(AnswerScreen(question, choices))
                if answer is not None:
                    await workbench.answer(question.approval_id, answer.scope, answer.words)
        except TreadleError as error:
            self.report(error)
            await self.read_questions(workbench)
        self._focus_prompt()

    @work(exclusive=True, group="overlay")
    async def action_proposals(self) -> None:
        """Show all proposals."""
        from treadle.tui.screens.proposals import ProposalsScreen

        await self.push_screen(ProposalsScreen(await self.opened(), self.questions.about))

    @work(exclusive=True, group="overlay")
    async def action_permissions(self) -> None:
        """Show the permissions that the person gave."""
        from treadle.tui.screens.permissions import PermissionsScreen

        workbench = await self.opened()
        await self.push_screen(PermissionsScreen(workbench, self.state.conversation_id))

    @work(exclusive=True, group="overlay")
    async def action_checks(self, name: str | None = None) -> None:
        """Run the check `name`. Without a name, show the checks of the repository."""
        from treadle.tui.screens.checks import CheckScreen, ChecksScreen

        workbench = await self.opened()
        screen: ChecksScreen | CheckScreen = ChecksScreen(workbench)
        try:
            if name:
                found = await workbench.checks()
                named = [check for check in found if check.name == name.strip()]
                if named:
                    screen = CheckScreen(workbench, named[0])
                else:
                    self.notify(foreign(f"There is no check {name!r}.").plain, markup=False)
        except TreadleError as error:
            self.report(error)
            return
        output = cast("CommandOutput | None", await self.push_screen_wait(screen))
        if output is not None:
            self.area.offer(output)
            self._focus_prompt()

    def _focus_prompt(self) -> None:
        for prompt in self.screen.query(Prompt):
            prompt.focus()
