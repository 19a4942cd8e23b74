"""Shows one proposal as a diff, in which the person takes, leaves out and edits hunks."""

import asyncio
from pathlib import PurePosixPath
from typing import ClassVar
from uuid import UUID

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from treadle.app.proposal_answers import ShownProposal
from treadle.display.editor import edit
from treadle.edits.service import OPEN_STATES
from treadle.errors import TreadleError
from treadle.events.types import ApprovalRequested, ApprovalScope
from treadle.tui.actions import Action, Where, actions_in
from treadle.tui.approvals.decisions import Decision, carry_out
from treadle.tui.diff.document import DiffDocument, Review
from treadle.tui.diff.view import DiffView
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.answer import WHY_NOT, AnswerScreen
from treadle.tui.screens.key_line import KeyLine
from treadle.tui.screens.overlay import Overlay
from treadle.tui.screens.words import WordsScreen
from treadle.tui.text import foreign, foreign_line
from treadle.tui.workbench import Workbench

_NARROW_COLUMNS = 60
"""On a narrower terminal, the title does not contain the state."""


class ProposalScreen(Overlay[None]):
    """The diff of a proposal.

    `question` is the waiting question of a tool call about this proposal. The decision of the
    person answers it.

    Hunks that the person leaves out are denied when the rest is applied.
    """

    DEFAULT_CSS = """
    ProposalScreen {
        background: $background;
        & > Vertical { width: 100%; height: 100%; }
        #title { height: 1; padding: 0 1; background: $panel; text-style: bold; }
        #notes { height: auto; max-height: 4; padding: 0 1; display: none; color: $text-warning; }
        #message { height: auto; max-height: 6; padding: 0 1; display: none; }
        #message.-error { color: $text-error; }
        KeyLine { padding: 0 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(Where.PROPOSAL, Where.DECISION),
        *bindings(Where.OVERLAY, priority=True),
    ]

    def __init__(
        self,
        workbench: Workbench,
        proposal_id: UUID,
        *,
        question: ApprovalRequested | None = None,
    ) -> None:
        super().__init__()
        self._workbench = workbench
        self._proposal_id = proposal_id
        self.question = question
        self._review: Review | None = None

    def compose(self) -> ComposeResult:
        """Create the parts of the screen."""
        with Vertical():
            yield Static(id="title")
            yield Static(id="notes")
            yield DiffView()
            yield Static(id="message")
            yield KeyLine(_main_actions(decides=True))

    def on_mount(self) -> None:
        """Read the proposal."""
        self.query_one(DiffView).focus()
        self._load()

    def settle(self, approval_id: UUID, outcome: str) -> None:
        """Forget the question if it was answered elsewhere. `outcome` states the answer."""
        if self.question is not None and self.question.approval_id == approval_id:
            self.question = None
            self._say(f"The question was answered: {outcome}.")
            self._load()

    @property
    def review(self) -> Review | None:
        """The decisions of the person. None until the proposal has been read."""
        return self._review

    @work(exclusive=True)
    async def _load(self) -> None:
        try:
            shown = await self._workbench.proposal(self._proposal_id)
        except TreadleError as error:
            self._say(str(error), error=True)
            return
        document = await asyncio.to_thread(DiffDocument, shown)
        before = self._review
        self._review = Review(document) if before is None else before.carry_over(document)
        decides = shown.proposal.state in OPEN_STATES
        self.query_one(DiffView).show(self._review, decides=decides)
        self.query_one(KeyLine).show(_main_actions(decides=decides))
        self._show_notes(shown)
        self._show_title()

    def _show_notes(self, shown: ShownProposal) -> None:
        proposal = shown.proposal
        notes = [*proposal.warnings, *proposal.notes]
        if proposal.reason:
            notes.insert(0, proposal.reason)
        if proposal.words:
            notes.append(f"Your words: {proposal.words}")
        line = self.query_one("#notes", Static)
        line.display = bool(notes)
        line.update(Content("\n").join(foreign(f"! {note}") for note in notes))

    def _show_title(self) -> None:
        review = self._review
        if review is None:
            return
        proposal = review.document.shown.proposal
        view = self.query_one(DiffView)
        total = len(review.document.hunks)
        state = "waits for your answer" if self.question is not None else proposal.state.value
        left = f" · {len(review.left_out)} left out" if review.left_out else ""
        where = f"hunk {view.hunk} of {total}{left}" if total else "no text changes"
        about = where if self.size.width < _NARROW_COLUMNS else f"{state} · {where}"
        columns = max(10, self.size.width - len(about) - 6)
        summary = foreign_line(proposal.summary, columns=columns)
        title = Content.assemble(summary, "  ", (about, "not bold $text-muted"))
        self.query_one("#title", Static).update(title)

    def _say(self, text: str, *, error: bool = False) -> None:
        """Show a message, which may be foreign, below the diff."""
        line = self.query_one("#message", Static)
        line.set_class(error, "-error")
        line.display = bool(text)
        line.update(foreign(text))

    def on_diff_view_hunk_selected(self) -> None:
        """Show the number of the hunk."""
        self._show_title()

    def on_diff_view_hunk_toggled(self) -> None:
        """Take the clicked hunk, or leave it out."""
        self.action_toggle_hunk()

    def on_resize(self) -> None:
        """Fit the title to the width."""
        self._show_title()

    @property
    def _can_decide(self) -> bool:
        """Whether the proposal is open. If not, a message states why nothing happens."""
        review = self._review
        if review is None:
            return False
        state = review.document.shown.proposal.state
        if state not in OPEN_STATES:
            self._say(f"The proposal is {state.value}, so its hunks cannot be chosen.")
            return False
        return True

    def _redraw(self) -> None:
        self._say("")
        self.query_one(DiffView).restyle()
        self._show_title()

    # The methods that run the actions in `treadle.tui.actions`.

    def action_close(self) -> None:
        """Close the screen. Its question stays open."""
        _ = self.dismiss(None)

    def action_toggle_hunk(self) -> None:
        """Take the current hunk, or leave it out."""
        if self._can_decide and self._review is not None and self._review.document.hunks:
            self._review.toggle(self.query_one(DiffView).hunk)
            self._redraw()

    def action_toggle_file(self) -> None:
        """Take all hunks of the current file, or leave them out."""
        if self._can_decide and self._review is not None and self._review.document.hunks:
            hunk = self._review.document.hunks[self.query_one(DiffView).hunk - 1]
            self._review.toggle_file(hunk.file)
            self._redraw()

    def action_next_hunk(self) -> None:
        """Go to the next hunk."""
        view = self.query_one(DiffView)
        view.select(view.hunk + 1)

    def action_previous_hunk(self) -> None:
        """Go to the previous hunk."""
        view = self.query_one(DiffView)
        view.select(view.hunk - 1)

    def action_next_file(self) -> None:
        """Go to the next file."""
        self.query_one(DiffView).select_file(1)

    def action_previous_file(self) -> None:
        """Go to the previous file."""
        self.query_one(DiffView).select_file(-1)

    def action_switch_sides(self) -> None:
        """Change between a side-by-side and a unified diff."""
        self.query_one(DiffView).switch_sides()

    @work(exclusive=True, group="decision")
    async def action_apply_proposal(self) -> None:
        """Apply the hunks that the person takes. A waiting call gets its answer."""
        review = self._review
        if review is None or not self._can_decide:
            return
        if not review.taken:
            self._say("No hunk is taken. Take one, or deny the proposal.", error=True)
        elif self.question is not None:
            await self._answer(self.question, review)
        else:
            hunks = review.taken if review.left_out else None
            await self._decide(Decision.APPLY, hunks=hunks)

    @work(exclusive=True, group="decision")
    async def action_deny_proposal(self) -> None:
        """Ask for a reason, and deny the whole proposal."""
        if not self._can_decide:
            return
        words = await self.app.push_screen_wait(WordsScreen(WHY_NOT))
        if words is None:
            return
        if self.question is not None:
            await self._send(self.question, ApprovalScope.DENIED, words or None)
        else:
            await self._decide(Decision.DENY, words=words or None)

    @work(exclusive=True, group="decision")
    async def action_undo_proposal(self) -> None:
        """Undo the applied proposal."""
        await self._decide(Decision.UNDO)

    @work(exclusive=True, group="decision")
    async def action_undo_unchanged(self) -> None:
        """Undo the proposal in the files that nobody has changed since it was applied."""
        await self._decide(Decision.UNDO_UNCHANGED)

    @work(exclusive=True, group="decision")
    async def action_redo_proposal(self) -> None:
        """Apply the undone proposal again."""
        await self._decide(Decision.REDO)

    @work(exclusive=True, group="decision")
    async def action_restage_proposal(self) -> None:
        """Fit the proposal to the present files."""
        await self._decide(Decision.RESTAGE)

    @work(exclusive=True, group="decision")
    async def action_edit_result(self) -> None:
        """Edit the content that the proposal gives to the current file."""
        review = self._review
        if review is None or not self._can_decide or not review.document.hunks:
            return
        hunk = review.document.hunks[self.query_one(DiffView).hunk - 1]
        file = review.document.files[hunk.file].shown.file
        path = file.target or file.path
        try:
            data = await self._workbench.proposed_content(self._proposal_id, file.path)
            suffix = "".join(PurePosixPath(path).suffixes[-1:])
            with self.app.suspend():
                edited = await edit(data, suffix=suffix, line=hunk.line or 1)
            if edited != data:
                await self._workbench.amend(self._proposal_id, file.path, edited)
                self._say(f"The proposal has your content of {path}.")
        except TreadleError as error:
            self._say(str(error), error=True)
        self._load()

    async def _answer(self, question: ApprovalRequested, review: Review) -> None:
        try:
            choices = await self._workbench.choices(question.approval_id)
        except TreadleError as error:
            self._say(str(error), error=True)
            return
        left = len(review.left_out)
        them = "it" if left == 1 else "them"
        denied = f" {left} left out: the model learns that you denied {them}." if left else ""
        taken = len(review.taken)
        note = Content(f"Applies {'1 hunk' if taken == 1 else f'{taken} hunks'}.{denied}")
        answer = await self.app.push_screen_wait(AnswerScreen(question, choices, note=note))
        if answer is None:
            return
        words = answer.words
        if answer.scope is not ApprovalScope.DENIED and left:
            given = await self.app.push_screen_wait(WordsScreen(_why_not_hunks(left)))
            if given is None:
                return
            words = given or None
            try:
                await self._workbench.deny(self._proposal_id, hunks=review.left_out, words=words)
            except TreadleError as error:
                self._say(str(error), error=True)
                return
        await self._send(question, answer.scope, words)

    async def _send(
        self, question: ApprovalRequested, scope: ApprovalScope, words: str | None
    ) -> None:
        try:
            waited = await self._workbench.answer(question.approval_id, scope, words)
        except TreadleError as error:
            self._say(str(error), error=True)
            return
        if waited:
            _ = self.dismiss(None)
        else:
            self.question = None
            self._say("The question no longer waits: it was answered elsewhere, or its turn ended.")
            self._load()

    async def _decide(
        self, decision: Decision, *, hunks: list[int] | None = None, words: str | None = None
    ) -> None:
        try:
            outcome = await carry_out(
                self._workbench, decision, self._proposal_id, hunks=hunks, words=words
            )
        except TreadleError as error:
            self._say(str(error), error=True)
        else:
            self._say(outcome)
        self._load()


def _why_not_hunks(count: int) -> Content:
    which = "this hunk" if count == 1 else f"these {count:,} hunks"
    return Content(f"Why not {which}? The model reads your words. Leave the line empty for none.")


def _main_actions(*, decides: bool) -> list[Action]:
    """The actions of the key line. The most important ones are first, and `close` is last.

    `decides` states whether the proposal is open.
    """
    deciding = ("toggle_hunk", "apply_proposal", "deny_proposal", "edit_result", "toggle_file")
    first = deciding if decides else ("undo_proposal", "redo_proposal")
    every = [
        each for each in actions_in(Where.PROPOSAL, Where.DECISION)
        if decides or each.name not in deciding
    ]  # fmt: skip
    ranked = sorted(every, key=lambda each: first.index(each.name) if each.name in first else 9)
    return [*ranked, *actions_in(Where.OVERLAY)]
