"""Carries out decisions about proposals, and describes the outcomes in words."""

from collections.abc import Collection
from enum import Enum, auto
from uuid import UUID

from treadle.app.proposal_answers import ListedProposal
from treadle.edits.model import ProposalState
from treadle.tui.workbench import Workbench


class Decision(Enum):
    """A decision of a person about a proposal."""

    APPLY = auto()
    DENY = auto()
    UNDO = auto()
    UNDO_UNCHANGED = auto()
    """Undo the files that did not change after the proposal was applied, and keep the others."""
    REDO = auto()
    RESTAGE = auto()
    """Adapt the proposal to the present files."""


async def carry_out(
    workbench: Workbench,
    decision: Decision,
    proposal_id: UUID,
    *,
    hunks: Collection[int] | None = None,
    words: str | None = None,
) -> str:
    """Carry out a decision, and describe its outcome.

    `hunks` has the numbers of the hunks to apply or to deny. None means all hunks. `words` are sent
    to the model.

    Raises TreadleError if the decision is not possible.
    """
    match decision:
        case Decision.APPLY:
            after = await workbench.apply(proposal_id, hunks=hunks, words=words)
        case Decision.DENY:
            after = await workbench.deny(proposal_id, hunks=hunks, words=words)
        case Decision.UNDO:
            after = await workbench.undo(proposal_id)
        case Decision.UNDO_UNCHANGED:
            after = await workbench.undo(proposal_id, keep_changed=True)
        case Decision.REDO:
            after = await workbench.redo(proposal_id)
        case _:
            await workbench.restage(proposal_id)
            return "Restaged: the proposal now fits the present files. Nothing is written yet."
    return outcome(after)


def outcome(listed: ListedProposal) -> str:
    """Describe the state of a proposal in a sentence."""
    proposal = listed.proposal
    files = len(listed.files)
    count = "1 file" if files == 1 else f"{files:,} files"
    match proposal.state:
        case ProposalState.APPLIED:
            written = len(proposal.selected())
            return f"Applied: {'1 file is' if written == 1 else f'{written:,} files are'} written."
        case ProposalState.DENIED:
            return "Denied: nothing is written."
        case ProposalState.UNDONE:
            return f"Undone: {count} {'is' if files == 1 else 'are'} restored."
        case ProposalState.PARTLY_UNDONE:
            return f"Partly undone: {proposal.reason or 'some files have changed since.'}"
        case ProposalState.CONFLICTED | ProposalState.FAILED:
            return (
                f"{proposal.state.value.capitalize()}: {proposal.reason or 'nothing is written.'}"
            )
        case ProposalState.STAGED:
            return "Staged: nothing is written yet."
