"""Prepares and writes the files of a proposal that is applied, undone or redone."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from treadle.edits.file_writes import (
    FileWrite,
    UnfinishedError,
    conflict,
    temporary_name,
    write_all,
)
from treadle.edits.model import (
    ChangeKind,
    EditError,
    FileChange,
    Proposal,
    ProposalState,
    content_hash,
    splice,
)
from treadle.edits.proposal_store import AppliedChanges, JournalEntry, ProposalStore, Written
from treadle.edits.relocation import relocate, reverse
from treadle.edits.tree import Tree, as_edit_error
from treadle.errors import StoreError
from treadle.events.types import ErrorKind

WRITTEN_STATES = frozenset({
    ProposalState.APPLIED, ProposalState.UNDONE, ProposalState.PARTLY_UNDONE,
})  # fmt: skip
"""States of a proposal that was written at least once."""

ReadFile = Callable[[str], bytes | None]
"""Returns the content of the file at a path relative to the root, or None if there is no file.

Raises EditError for a path that is not a regular file, and OSError for other failures.
"""

Placing = Callable[[FileChange, bytes], FileChange]
"""Fits a change to the current bytes of its file. Raises EditError if the change does not fit."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Changes that are ready to be written.

    `writes` has one write for each element of `applied.written`.
    """

    applied: AppliedChanges
    writes: tuple[FileWrite, ...]


def require_fresh(change: FileChange, present: bytes) -> FileChange:
    """Return `change` unchanged. Raises EditError if the file has changed since staging."""
    if content_hash(present) == change.base_hash:
        return change
    relocate(change, present)  # raises an error that names the hunks that no longer match
    raise EditError(
        ErrorKind.CONFLICT,
        f"{change.path} has changed outside the edit's location since the edit was staged.",
        path=change.path,
        expected=change.base_hash,
        received=content_hash(present),
        hint="Restage it to rebase it onto the current file.",
    )


def fit_changes(
    read: ReadFile, changes: Sequence[FileChange], placing: Placing
) -> Iterator[tuple[FileChange, bytes | None, bytes | None]]:
    """Fit each change with `placing`. Yield it with its file's content before and after the change.

    The content before is None if the change creates the file. The content after is None if the
    change deletes the file. After a rename, the content is at the target of the rename. Raises
    EditError if a change cannot be made. The kind of the error is conflict when a file is missing,
    or when an existing file is in the way.
    """
    for change in changes:
        try:
            yield _result(read, change, placing)
        except OSError as error:
            raise as_edit_error(change.path, error) from error


def _result(
    read: ReadFile, change: FileChange, placing: Placing
) -> tuple[FileChange, bytes | None, bytes | None]:
    present = read(change.path)
    if change.kind is ChangeKind.CREATE:
        if present is not None:
            raise conflict(change.path, "a file already exists there")
        return change, None, splice(b"", change.hunks)
    if present is None:
        raise conflict(change.path, "it no longer exists")
    if change.target is not None and read(change.target) is not None:
        raise conflict(change.target, "a file already exists there")
    placed = placing(change, present)
    if change.kind is ChangeKind.DELETE:
        return placed, present, None
    after = splice(present, placed.hunks)
    if change.kind is ChangeKind.MODIFY and after == present:
        raise EditError(
            ErrorKind.VALIDATION,
            f"The edit changes nothing: {change.path} already has this content.",
            path=change.path,
            hint="No further step is needed.",
        )
    return replace(placed, result_hash=content_hash(after)), present, after


def prepare(
    tree: Tree, changes: Sequence[FileChange], placing: Placing, last: AppliedChanges | None = None
) -> Prepared:
    """Read the files, fit the changes to them, and compute the writes.

    For an undo or redo, `last` contains the changes that are reverted. In this case, the writes use
    the file permissions and the folders that `last` recorded.
    """
    formerly = {each.path: each for each in last.written} if last else {}
    applied: list[FileChange] = []
    writes: list[FileWrite] = []
    written: list[Written] = []
    for change, before, after in fit_changes(tree.data, changes, placing):
        applied.append(change)
        try:
            writes += _writes(tree, change, before, after, formerly)
            written += [_written_record(tree, write) for write in writes[len(written) :]]
        except OSError as error:
            raise as_edit_error(change.path, error) from error
    return Prepared(AppliedChanges(tuple(applied), tuple(written)), tuple(writes))


def _writes(
    tree: Tree,
    change: FileChange,
    before: bytes | None,
    after: bytes | None,
    formerly: Mapping[str, Written],
) -> Iterator[FileWrite]:
    old = None if before is None else content_hash(before)
    path, target = change.path, change.target
    known = formerly.get(path)
    if target is not None:
        folders = tree.missing_folders(target)
        yield FileWrite(target, None, after, temporary_name(), like=path, folders=folders)
        after = None
    if before is None:
        mode = known.mode if known else None
        folders = tree.missing_folders(path)
        yield FileWrite(path, None, after, temporary_name(), mode=mode, folders=folders)
    elif after is None:
        folders = known.folders if known else ()
        yield FileWrite(path, old, None, temporary_name(), folders=folders)
    else:
        yield FileWrite(path, old, after, temporary_name())


def _written_record(tree: Tree, write: FileWrite) -> Written:
    mode = tree.mode(write.path) if write.after is None else None
    return Written(write.path, write.before, write.after_hash, mode, write.folders)


def write_prepared(
    tree: Tree,
    store: ProposalStore,
    proposal: Proposal,
    prepared: Prepared,
    after: tuple[Proposal, AppliedChanges | None],
) -> Proposal:
    """Write the prepared files, and return the proposal as it is stored afterwards.

    `after` contains the proposal with its new state, and the changes that the next undo or redo
    reverts (see `settle`). If a write fails, all files are restored before EditError is raised. The
    caller must hold the locks of the files.
    """
    temporaries = tuple(write.temporary for write in prepared.writes)
    store.begin(proposal, JournalEntry(proposal.id, after[0].state, prepared.applied, temporaries))
    try:
        write_all(tree, prepared.writes)
    except UnfinishedError:
        raise  # the journal entry remains for a later recovery
    except EditError as error:
        try:
            store.end(proposal, fail_proposal(proposal, error), applied=None)
        # the journal entry remains, and a later recovery finds all files restored
        except StoreError as second:
            error.add_note(str(second))
        raise
    return store.end(proposal, after[0], applied=after[1])


def fail_proposal(proposal: Proposal, error: EditError) -> Proposal:
    """The proposal after a failed write. It has the state conflicted or failed, and a reason.

    After a failed undo or redo, the proposal stays unchanged.
    """
    if proposal.state in WRITTEN_STATES:
        return proposal
    conflicted = error.kind is ErrorKind.CONFLICT
    state = ProposalState.CONFLICTED if conflicted else ProposalState.FAILED
    return replace(proposal, state=state, reason=error.message)


@dataclass(frozen=True, slots=True)
class Reversal:
    """The changes that undo or redo a proposal, and the conflicts of the omitted files."""

    changes: tuple[FileChange, ...]
    conflicts: tuple[EditError, ...] = ()


def plan_reversal(
    read: ReadFile,
    proposal: Proposal,
    last: AppliedChanges,
    goal: ProposalState,
    *,
    keep_changed: bool,
    files: Collection[int] | None = None,
) -> Reversal:
    """The changes that undo or redo the changes `last`, so that the proposal gets the state `goal`.

    If some files have changed so that an undo no longer fits them, `keep_changed` leaves these
    files out. Without `keep_changed`, or if no other file remains, this function raises EditError
    of kind conflict, which names each changed file. `files` limits the changes to the files with
    these numbers.
    """
    if goal is not ProposalState.UNDONE:
        return Reversal(reverting_changes(proposal, last, goal, files))
    fitted = fit_reversal(read, reverting_changes(proposal, last, goal, files))
    if fitted.conflicts and not (keep_changed and fitted.changes):
        raise _conflict(proposal, fitted)
    return fitted


def fit_reversal(read: ReadFile, changes: Sequence[FileChange]) -> Reversal:
    """Separate the changes that fit the current files from the changes that are in conflict."""
    fitting: list[FileChange] = []
    conflicts: list[EditError] = []
    for change in changes:
        try:
            list(fit_changes(read, [change], relocate))
            fitting.append(change)
        except EditError as error:  # also if a folder or a link is at the path of the file
            conflicts.append(error)
    return Reversal(tuple(fitting), tuple(conflicts))


def reverting_changes(
    proposal: Proposal,
    last: AppliedChanges,
    goal: ProposalState,
    files: Collection[int] | None = None,
) -> tuple[FileChange, ...]:
    """The changes that bring the proposal from its current state to the state `goal`.

    Most of them revert changes of `last`. To redo a partly undone proposal, they repeat the changes
    of its undone files. They are not fitted to the current files. `files` limits them to the files
    with these numbers.
    """
    undone = proposal.undone_files()
    if proposal.state is not ProposalState.PARTLY_UNDONE:
        found = tuple(map(reverse, reversed(last.changes)))
    elif goal is ProposalState.UNDONE:
        applied = (each for each in reversed(last.changes) if not _is_in(each, proposal, undone))
        found = tuple(map(reverse, applied))
    else:
        found = tuple(each for each in last.changes if _is_in(each, proposal, undone))
    return found if files is None else tuple(c for c in found if _is_in(c, proposal, files))


def file_numbers(proposal: Proposal, changes: Sequence[FileChange]) -> frozenset[int]:
    """The numbers of the files of the proposal that the changes apply, undo or redo."""
    known = {_paths(each): number for number, each in enumerate(proposal.changes)}
    return frozenset(known[_paths(change)] for change in changes)


def _is_in(change: FileChange, proposal: Proposal, files: Collection[int]) -> bool:
    return not file_numbers(proposal, [change]).isdisjoint(files)


def _paths(change: FileChange) -> frozenset[str]:
    """The paths of a change. Its reversal has the same paths."""
    return frozenset({change.path, change.target or change.path})


def _conflict(proposal: Proposal, fitted: Reversal) -> EditError:
    conflicts, count = fitted.conflicts, len(fitted.conflicts) + len(fitted.changes)
    reasons = " ".join(error.message for error in conflicts)
    hint = "Restore its earlier content, or make the change by hand."
    if fitted.changes:
        names = ", ".join(sorted(map(_name, fitted.changes)))
        hint = (
            f"`treadle edits undo {proposal.id} --keep-changed` undoes the others ({names}) "
            f"and keeps the changed files. Or: {hint[0].lower()}{hint[1:]}"
        )
    return EditError(
        ErrorKind.CONFLICT,
        f"Conflict in {len(conflicts)} of {count} {'file' if count == 1 else 'files'}, so nothing "
        f"is undone: {reasons}",
        path=conflicts[0].path,
        hint=hint,
    )


def is_complete(
    proposal: Proposal, last: AppliedChanges, reversal: Reversal, goal: ProposalState
) -> bool:
    """Whether every file of the proposal has the state `goal` after the reversal."""
    undone = proposal.undone_files() ^ file_numbers(proposal, reversal.changes)
    every = file_numbers(proposal, last.changes)
    return undone == (every if goal is ProposalState.UNDONE else frozenset())


def settle(
    proposal: Proposal,
    goal: ProposalState,
    applied: AppliedChanges,
    last: AppliedChanges | None,
    conflicts: Sequence[EditError] = (),
) -> tuple[Proposal, AppliedChanges | None]:
    """The proposal after `applied` was written, and the changes that the next undo or redo reverts.

    `last` contains the changes that were written before `applied`. If the returned changes are
    None, the stored changes stay.
    """
    after = replace(proposal, state=goal, reason=None, undone=frozenset())
    if goal is ProposalState.PARTLY_UNDONE:
        numbers, undone = file_numbers(proposal, applied.changes), proposal.undone_files()
        kept = "Some files stay undone." if numbers <= undone else "Some files are kept."
        reason = " ".join([kept, *(error.message for error in conflicts)])
        forward = proposal.state is ProposalState.UNDONE and last is not None
        stored = _reversed(last) if forward and last is not None else None
        return replace(after, reason=reason, undone=undone ^ numbers), stored
    if proposal.state is not ProposalState.PARTLY_UNDONE or last is None:
        return after, applied
    return after, _reversed(last) if goal is ProposalState.UNDONE else None


def _name(change: FileChange) -> str:
    """The path that the proposal has for the file that `change` undoes or redoes."""
    return change.target or change.path


def _reversed(applied: AppliedChanges) -> AppliedChanges:
    written = (replace(each, before=each.after, after=each.before) for each in applied.written)
    return AppliedChanges(
        tuple(map(reverse, reversed(applied.changes))), tuple[Written, ...](written)
    )
