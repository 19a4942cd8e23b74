"""Lists the proposals of the repository with their states, and carries out decisions."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar
from uuid import UUID

from textual import work
from textual.binding import BindingType
from textual.content import Content

from treadle.app.proposal_answers import ListedProposal, ShownFile
from treadle.clock import when
from treadle.edits.freshness import Freshness
from treadle.edits.model import Proposal, ProposalState
from treadle.edits.service import OPEN_STATES
from treadle.errors import TreadleError
from treadle.events.types import ApprovalRequested
from treadle.tui.actions import Where
from treadle.tui.approvals.decisions import Decision, carry_out
from treadle.tui.approvals.panel import diff_lines
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.answer import WHY_NOT
from treadle.tui.screens.picker import Picker
from treadle.tui.screens.proposal import ProposalScreen
from treadle.tui.screens.row_list import Row, fields
from treadle.tui.screens.words import WordsScreen
from treadle.tui.text import foreign, foreign_line
from treadle.tui.workbench import Workbench

_STATES = {
    ProposalState.STAGED: "$text-primary",
    ProposalState.APPLIED: "$text-success",
    ProposalState.DENIED: "$text-muted",
    ProposalState.CONFLICTED: "$text-error",
    ProposalState.FAILED: "$text-error",
    ProposalState.UNDONE: "$text-muted",
    ProposalState.PARTLY_UNDONE: "$text-warning",
}
_PREVIEW_LINES = 200


class ProposalsScreen(Picker[ListedProposal, None]):
    """All proposals, newest first. `question_about` finds the waiting question about a proposal."""

    TITLE_TEXT = "Proposals"
    ENTER = "Open"
    PLACE = Where.DECISION
    FILTER = None
    EMPTY = "There are no proposals yet. They appear here when the model edits files."
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.DECISION)

    def __init__(
        self,
        workbench: Workbench,
        question_about: Callable[[UUID], ApprovalRequested | None],
    ) -> None:
        super().__init__()
        self._workbench = workbench
        self._question_about = question_about
        self._count = 0
        self._open_count = 0

    async def find_rows(self, query: str) -> Sequence[Row[ListedProposal]]:  # noqa: ARG002
        """All proposals."""
        found = await self._workbench.proposals()
        self._count = len(found)
        self._open_count = sum(each.proposal.state in OPEN_STATES for each in found)
        return [Row(str(each.proposal.id), each, partial(_row, each)) for each in found]

    def summary(self) -> str:
        """The number of proposals."""
        return f"{self._count:,}, {self._open_count:,} open" if self._count else ""

    async def preview(self, value: ListedProposal, columns: int) -> Content:  # noqa: ARG002
        """The state of the proposal, its files with their freshness, and the start of its diff."""
        shown = await self._workbench.proposal(value.proposal.id)
        proposal = shown.proposal
        lines = [
            foreign(proposal.summary, "bold"),
            Content.assemble((proposal.state.value, _STATES[proposal.state]),
                             f"  {when(proposal.changed_us)}"),
        ]  # fmt: skip
        if self._question_about(proposal.id) is not None:
            lines.append(Content.styled("The model waits for your answer.", "$text-warning"))
        notes = [proposal.reason, *proposal.warnings, *proposal.notes]
        lines += [foreign(f"! {note}", "$text-warning") for note in notes if note]
        if proposal.words:
            lines.append(foreign(f"Your words: {proposal.words}", "$text-muted"))
        lines.append(Content())
        lines += [_file_line(file, proposal) for file in shown.files]
        lines.append(Content())
        taken = [file for file in shown.files if len(file.denied_hunks) < file.hunks]
        diff = "\n".join(file.diff.rstrip("\n") for file in taken or shown.files)
        lines += diff_lines(diff, _PREVIEW_LINES)
        return Content("\n").join(lines)

    async def choose_row(self, value: ListedProposal) -> None:
        """Open the diff of the proposal."""
        proposal_id = value.proposal.id
        screen = ProposalScreen(
            self._workbench, proposal_id, question=self._question_about(proposal_id)
        )
        await self.app.push_screen(screen, lambda _: self.reload())

    @work(exclusive=True, group="decision")
    async def _decide(self, decision: Decision) -> None:
        value = await self.settled()
        if value is None:
            return
        answers = decision in {Decision.APPLY, Decision.DENY}
        if answers and self._question_about(value.proposal.id) is not None:
            await self.choose_row(value)
            return
        words = None
        if decision is Decision.DENY:
            words = await self.app.push_screen_wait(WordsScreen(WHY_NOT))
            if words is None:
                return
        try:
            outcome = await carry_out(
                self._workbench, decision, value.proposal.id, words=words or None
            )
        except TreadleError as error:
            self.reload(str(error), error=True)
        else:
            self.reload(outcome)

    # The methods that run the actions in `treadle.tui.actions`.

    def action_apply_proposal(self) -> None:
        """Apply the highlighted proposal."""
        self._decide(Decision.APPLY)

    def action_deny_proposal(self) -> None:
        """Deny the highlighted proposal."""
        self._decide(Decision.DENY)

    def action_undo_proposal(self) -> None:
        """Undo the highlighted proposal."""
        self._decide(Decision.UNDO)

    def action_undo_unchanged(self) -> None:
        """Undo the proposal in the files that nobody has changed since it was applied."""
        self._decide(Decision.UNDO_UNCHANGED)

    def action_redo_proposal(self) -> None:
        """Apply the highlighted proposal again."""
        self._decide(Decision.REDO)

    def action_restage_proposal(self) -> None:
        """Fit the highlighted proposal to the present files."""
        self._decide(Decision.RESTAGE)


def _row(listed: ListedProposal, columns: int) -> Content:
    proposal = listed.proposal
    added = sum(file.added for file in listed.files)
    removed = sum(file.removed for file in listed.files)
    paths = ", ".join(file.path for file in listed.files)
    main = Content.assemble(
        (f"{proposal.state.value:<13} ", _STATES[proposal.state]), foreign_line(paths)
    )
    return fields(
        columns,
        main,
        (Content(f"+{added:,} -{removed:,}"), 12),
        (Content(when(proposal.changed_us)), 16),
    )


def _file_line(file: ShownFile, proposal: Proposal) -> Content:
    """The path of a file with its changes, and whether the proposal still fits the file."""
    denied = len(file.denied_hunks)
    notes = [
        f"{denied} of {file.hunks} hunks denied" if 0 < denied < file.hunks else "",
        "denied" if denied and denied == file.hunks else "",
        "undone" if file.file.undone else "",
    ]
    if proposal.state in OPEN_STATES and file.freshness is not Freshness.FRESH:
        notes.append(file.freshness.value)
    return Content.assemble(
        foreign_line(file.file.path),
        f"  {file.file.kind.value} ",
        (f"+{file.file.added:,}", "$text-success"),
        " ",
        (f"-{file.file.removed:,}", "$text-error"),
        *((f"  {note}", "$text-warning") for note in notes if note),
    )
