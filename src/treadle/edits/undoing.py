"""Undoing and redoing: which changes are made, and what a proposal is once they are."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from treadle.edits.applying import results
from treadle.edits.model import EditError, FileChange, Proposal, ProposalState
from treadle.edits.proposal_store import Made, Written
from treadle.edits.relocating import relocate, reverse
from treadle.edits.tree import Tree
from treadle.events.types import ErrorKind


@dataclass(frozen=True, slots=True)
class Backwards:
    """What is to be made to undo or redo a proposal, and why some of its files are left out."""

    changes: tuple[FileChange, ...]
    conflicts: tuple[EditError, ...] = ()


def backwards(
    tree: Tree, proposal: Proposal, last: Made, goal: ProposalState, *, keep_changed: bool
) -> Backwards:
    """The changes that take back what was made last, as far as `goal` asks for it.

    Files on which they do not fit any more are left out with `keep_changed`, if others are left.
    Raises EditError of kind conflict that names each of them otherwise.
    """
    wanted = tuple(_wanted(proposal, last, goal))
    if goal is not ProposalState.UNDONE:
        return Backwards(wanted)
    fitting: list[FileChange] = []
    conflicts: list[EditError] = []
    for change in wanted:
        try:
            list(results(tree, [change], relocate))
            fitting.append(change)
        except EditError as error:  # also a folder or a link that is in the place of the file
            conflicts.append(error)
    if conflicts and not (keep_changed and fitting):
        raise _conflict(proposal, conflicts, len(wanted), fitting)
    return Backwards(tuple(fitting), tuple(conflicts))


def _wanted(proposal: Proposal, last: Made, goal: ProposalState) -> Iterator[FileChange]:
    if proposal.state is not ProposalState.PARTLY_UNDONE:
        yield from map(reverse, reversed(last.changes))
        return
    undone = {proposal.changes[number].path for number in proposal.undone}
    if goal is ProposalState.UNDONE:
        yield from (reverse(each) for each in reversed(last.changes) if each.path not in undone)
    else:
        yield from (each for each in last.changes if each.path in undone)


def _conflict(
    proposal: Proposal,
    conflicts: Sequence[EditError],
    count: int,
    fitting: Collection[FileChange],
) -> EditError:
    reasons = " ".join(error.message for error in conflicts)
    hint = "Restore its earlier content, or make the change by hand."
    if fitting:
        others = ", ".join(sorted(map(_name, fitting)))
        hint = (
            f"`treadle edits undo {proposal.id} --keep-changed` undoes the others ({others}) "
            f"and keeps the changed files. Or: {hint[0].lower()}{hint[1:]}"
        )
    return EditError(
        ErrorKind.CONFLICT,
        f"Conflict in {len(conflicts)} of {count} {'file' if count == 1 else 'files'}, so nothing "
        f"is undone: {reasons}",
        path=conflicts[0].path,
        hint=hint,
    )


def settled(
    proposal: Proposal,
    goal: ProposalState,
    made: Made,
    last: Made | None,
    conflicts: Sequence[EditError] = (),
) -> tuple[Proposal, Made | None]:
    """The proposal once `made` is written, and what is undone or redone next.

    `last` is what was made before that. None leaves it so.
    """
    after = replace(proposal, state=goal, reason=None, undone=frozenset())
    if goal is ProposalState.PARTLY_UNDONE:
        names = {_name(change) for change in made.changes}
        numbers = {n for n, each in enumerate(proposal.changes) if each.path in names}
        reason = " ".join(["Some files are kept.", *(error.message for error in conflicts)])
        return replace(after, reason=reason, undone=proposal.undone | numbers), None
    if proposal.state is not ProposalState.PARTLY_UNDONE or last is None:
        return after, made
    return after, _reversed(last) if goal is ProposalState.UNDONE else None


def _name(change: FileChange) -> str:
    """The path by which the proposal names a file that `change` takes back."""
    return change.target or change.path


def _reversed(made: Made) -> Made:
    written = (replace(each, before=each.after, after=each.before) for each in made.written)
    return Made(tuple(map(reverse, reversed(made.changes))), tuple[Written, ...](written))
