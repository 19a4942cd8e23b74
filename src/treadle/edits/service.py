"""Stages, denies, applies and undoes the proposals of one repository."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.edits.application import (
    Reversal,
    fail_proposal,
    fit_changes,
    is_complete,
    plan_reversal,
    prepare,
    require_fresh,
    settle,
    write_prepared,
)
from treadle.edits.file_writes import check_single
from treadle.edits.freshness import Freshness, freshness_of
from treadle.edits.model import (
    ChangeKind,
    EditError,
    FileChange,
    Hunk,
    Plan,
    Proposal,
    ProposalState,
    content_hash,
)
from treadle.edits.plan import plan
from treadle.edits.proposal_store import AppliedChanges, ProposalStore
from treadle.edits.recovery import locked, recover
from treadle.edits.relocation import rehunk, relocate
from treadle.edits.requests import EditRequest, RenameFile
from treadle.edits.simulation import Simulation
from treadle.edits.tree import System, Tree, as_edit_error
from treadle.errors import PathRefusedError, StoreError
from treadle.events.types import ErrorKind
from treadle.ids import IdSource, new_id
from treadle.private_files import why_private

OPEN_STATES = frozenset({
    ProposalState.STAGED, ProposalState.CONFLICTED, ProposalState.FAILED,
})  # fmt: skip
"""States of a proposal that was not written, and that a person can still apply or deny."""


Examine = Callable[[str, bytes, bytes], Sequence[str]]
"""Returns sentences about the problems that a change causes in a file.

The parameters are the path of the file, the content before the change, and the content after it.
"""


class Edits:
    """The proposals for the repository at `root`. Every method blocks and is thread-safe.

    Paths are normalized POSIX paths relative to the root. Methods raise EditError for an edit that
    cannot be made, and then write nothing. They raise PathRefusedError for a path that leads out of
    the root or to a private file, and NotFoundError for an unknown proposal. If the store fails,
    they raise StoreError.
    """

    def __init__(
        self,
        root: Path,
        store: ProposalStore,
        *,
        clock: Clock | None = None,
        ids: IdSource = new_id,
        system: System | None = None,
        examine: Examine | None = None,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self._store = store
        self._clock = clock or SystemClock()
        self._ids = ids
        self._system = system or System()
        self._tree = Tree(self.root, self._system)
        self._locks = store.folder / "locks"
        self._examine = examine

    def with_examiner(self, examine: Examine) -> "Edits":
        """Return an object like this one, which adds warnings from `examine` to proposals."""
        return Edits(
            self.root, self._store,
            clock=self._clock, ids=self._ids, system=self._system, examine=examine,
        )  # fmt: skip

    def relative(self, name: str) -> str:
        """See `Tree.relative`."""
        return self._tree.relative(name)

    def read(self, path: str) -> bytes | None:
        """The content of a regular file, or None if there is no file. No link is followed."""
        try:
            content = self._tree.read(path)
        except OSError as error:
            raise EditError(
                ErrorKind.UNAVAILABLE,
                f"{path} cannot be read: {error.strerror}.",
                path=path,
                hint="Check the file and its permissions.",
            ) from error
        return None if content is None else content.data

    def stage(
        self,
        requests: Sequence[EditRequest],
        *,
        request_id: UUID | None = None,
        turn: int = 0,
        slot: int = 0,
        session_id: UUID | None = None,
        private: Collection[Path] = (),
    ) -> Proposal:
        """Match `requests` against the current files, and store the plan. No file is written.

        `private` are the resolved paths of the private files that a person allowed to be edited.
        """
        planned = self._planned([self._normal(each, private) for each in requests])
        now = self._clock.now_us()
        proposal = Proposal(
            self._ids(),
            str(self.root),
            ProposalState.STAGED,
            planned.summary(),
            planned.changes,
            now,
            now,
            request_id,
            turn,
            slot,
            session_id,
            notes=planned.notes,
        )
        proposal = replace(proposal, warnings=self._warnings(proposal))
        self._store.add(proposal)
        return proposal

    def _normal(self, request: EditRequest, private: Collection[Path]) -> EditRequest:
        """Normalize the paths of a request, and check that they may be written."""
        path = self._permitted(request.path, private)
        if isinstance(request, RenameFile):
            return replace(request, path=path, target=self._permitted(request.target, private))
        return replace(request, path=path)

    def _permitted(self, name: str, private: Collection[Path]) -> str:
        path = self.relative(name)
        reason = why_private(path)
        if reason is not None and self.root / path not in private:
            raise PathRefusedError(
                f"{name!r} is not written: {reason}.",
                hint="Ask the person to change it.",
            )
        return path

    def _planned(self, requests: Sequence[EditRequest]) -> Plan:
        seen: dict[str, bytes | None] = {}

        def read_once(path: str) -> bytes | None:
            if path not in seen:
                try:
                    content = self._tree.read(path)
                except OSError as error:
                    raise as_edit_error(path, error) from error
                if content is not None:
                    check_single(path, content.status)
                seen[path] = None if content is None else content.data
            return seen[path]

        return plan(requests, read_once)

    def find(self, reference: str) -> Proposal:
        """Find a proposal of this root by its id, a unique prefix of its id, or "last"."""
        return self._store.get(reference, root=self.root)

    def get(self, proposal_id: UUID) -> Proposal:
        """Get the proposal of this root with the id `proposal_id`."""
        return self._store.get(proposal_id, root=self.root)

    def list(
        self,
        *,
        states: Collection[ProposalState] | None = None,
        session_id: UUID | None = None,
        limit: int = 50,
    ) -> tuple[Proposal, ...]:
        """List at most `limit` proposals of this root, newest first.

        The other parameters filter the proposals.
        """
        return self._store.list(self.root, states=states, session_id=session_id, limit=limit)

    def freshness(self, proposal: Proposal) -> tuple[Freshness, ...]:
        """Compare the current file of each change with its content when the proposal was staged."""
        return tuple(freshness_of(self.read, change) for change in proposal.changes)

    def preview(self, proposal_id: UUID) -> Mapping[str, bytes | None]:
        """The content of each file after the proposal is applied, or None if no file remains.

        Raises EditError of kind conflict when a file has changed since the proposal was staged.
        """
        proposal = self._in_state(proposal_id, OPEN_STATES, "previewed")
        after: dict[str, bytes | None] = {}
        for change, _, data in fit_changes(self._tree.data, proposal.selected(), require_fresh):
            if change.target is not None:
                after[change.path] = None
            after[change.target or change.path] = data
        return after

    def deny(
        self,
        proposal_id: UUID,
        *,
        words: str | None = None,
        hunks: Collection[tuple[int, int]] | None = None,
    ) -> Proposal:
        """Deny the proposal, or those parts of it whose (file, hunk) numbers are in `hunks`.

        Parts that were denied before stay denied. The proposal stays staged while any part is not
        denied. `words` is the person's comment.
        """
        proposal = self._in_state(proposal_id, OPEN_STATES, "denied")
        denied = replace(proposal, words=words or proposal.words)
        if hunks is not None:
            proposal.require_parts(hunks)
            denied = replace(denied, denied=proposal.denied | frozenset(hunks))
        if hunks is None or not denied.selected():
            denied = replace(denied, state=ProposalState.DENIED)
        return self._keep(proposal, denied)

    def amend(self, proposal_id: UUID, path: str, result: bytes) -> Proposal:
        """Change a proposal so that the file at `path` gets the content `result`.

        For a renamed file, `path` is the old path. The new hunks replace all hunks of the file,
        including denied hunks. Raises EditError of kind conflict when the file has changed since
        the proposal was staged.
        """
        proposal = self._in_state(proposal_id, OPEN_STATES, "changed")
        number = next((n for n, each in enumerate(proposal.changes) if each.path == path), None)
        if number is None or proposal.changes[number].kind is ChangeKind.DELETE:
            raise EditError(
                ErrorKind.VALIDATION,
                f"The proposal {proposal_id} does not write {path}.",
                path=path,
                hint="Choose a file that it changes or creates.",
            )
        changes = list(proposal.changes)
        changes[number] = self._amended(changes[number], result)
        amended = replace(
            proposal,
            state=ProposalState.STAGED,
            changes=tuple(changes),
            denied=frozenset(each for each in proposal.denied if each[0] != number),
            reason=None,
        )
        return self._keep(proposal, amended)

    def _amended(self, change: FileChange, result: bytes) -> FileChange:
        if change.kind is ChangeKind.CREATE:
            hunk = Hunk(0, 1, b"", result)
            return replace(change, hunks=(hunk,), result_hash=content_hash(result))
        base = self.read(change.path)
        if base is None or content_hash(base) != change.base_hash:
            raise EditError(
                ErrorKind.CONFLICT,
                f"{change.path} has changed since the edit was staged.",
                path=change.path,
                hint="Restage it, then edit it.",
            )
        if base == result and change.kind is ChangeKind.MODIFY:
            raise EditError(
                ErrorKind.VALIDATION,
                f"The edit changes nothing: the text is already in {change.path}.",
                path=change.path,
                hint="Deny it instead.",
            )
        amended = rehunk(change.path, base, result)
        return replace(change, hunks=amended.hunks, result_hash=amended.result_hash)

    def restage(self, proposal_id: UUID) -> Proposal:
        """Fit the proposal to the current files, without its denied parts.

        The proposal keeps its id.

        Raises EditError of kind conflict, which names each hunk that no longer has a position.
        """
        proposal = self._in_state(proposal_id, OPEN_STATES, "staged again")
        placed = fit_changes(self._tree.data, proposal.selected(), relocate)
        changes = tuple(change for change, _, _ in placed)
        return self._keep(
            proposal,
            replace(
                proposal,
                state=ProposalState.STAGED,
                changes=changes,
                denied=frozenset(),
                reason=None,
            ),
        )

    def apply(
        self,
        proposal_id: UUID,
        *,
        hunks: Collection[tuple[int, int]] | None = None,
        words: str | None = None,
    ) -> Proposal:
        """Write the proposal without its denied parts, either to all files or to none.

        `hunks` selects parts by their (file, hunk) numbers. If the write succeeds, the other parts
        are denied, with the comment `words`. If a file has changed, the proposal becomes
        conflicted, and EditError of kind conflict is raised. If a file cannot be written, the
        proposal becomes failed, and EditError of another kind is raised. A failed proposal may be
        applied again. Raises EditError for a proposal that is already denied, applied or undone.
        """
        if hunks is None:
            return self._write(proposal_id, OPEN_STATES, ProposalState.APPLIED)
        before = self._in_state(proposal_id, OPEN_STATES, "applied")
        before.require_parts(hunks)
        if before.denied.intersection(hunks):
            raise EditError(
                ErrorKind.DENIED,
                "One of these hunks was denied and cannot be applied.",
                hint="Leave it out, or propose a new edit.",
            )
        if rest := set(before.parts()).difference(hunks):
            self.deny(proposal_id, words=words, hunks=rest)
        try:
            return self._write(proposal_id, OPEN_STATES, ProposalState.APPLIED)
        except EditError:
            failed = self.get(proposal_id)
            with suppress(EditError):  # another process has applied or denied the proposal
                self._keep(failed, replace(failed, denied=before.denied, words=before.words))
            raise

    def undo(
        self,
        proposal_id: UUID,
        *,
        keep_changed: bool = False,
        files: Collection[int] | None = None,
    ) -> Proposal:
        """Revert the proposal's hunks at their current positions. Later changes stay.

        With `keep_changed`, a file in which a hunk no longer matches is kept. In that case the
        proposal is partly undone. Without `keep_changed`, or if no file can be reverted, this
        method raises EditError of kind conflict and writes nothing. `files` are the numbers of the
        files to undo.
        """
        states = {ProposalState.APPLIED, ProposalState.PARTLY_UNDONE}
        return self._write(
            proposal_id, states, ProposalState.UNDONE, keep_changed=keep_changed, files=files
        )

    def redo(self, proposal_id: UUID, *, files: Collection[int] | None = None) -> Proposal:
        """Apply an undone proposal's hunks again, at their current positions.

        `files` are the numbers of the files to redo. The proposal is partly undone if other files
        stay undone.
        """
        states = {ProposalState.UNDONE, ProposalState.PARTLY_UNDONE}
        return self._write(proposal_id, states, ProposalState.APPLIED, files=files)

    def simulate(
        self, steps: Sequence[tuple[UUID, Collection[int] | None]], goal: ProposalState
    ) -> Simulation:
        """Undo or redo proposals one after another in memory. Writes nothing.

        `goal` is undone or applied. A step is a proposal, and the numbers of its files to undo or
        redo, or None for all its files. A file in conflict is left out, as `undo` with
        `keep_changed` does.
        """
        simulation = Simulation(self._tree.data)
        for proposal_id, files in steps:
            proposal = self.get(proposal_id)
            last = self._last_applied(proposal)
            if last is not None:
                simulation.revert(proposal, last, goal, files)
        return simulation

    def _write(
        self,
        proposal_id: UUID,
        states: Collection[ProposalState],
        goal: ProposalState,
        *,
        keep_changed: bool = False,
        files: Collection[int] | None = None,
    ) -> Proposal:
        self.recover()
        with self._locked(self._in_state(proposal_id, states, _DONE[goal])):
            proposal = self._in_state(proposal_id, states, _DONE[goal])
            last = self._last_applied(proposal)
            try:
                if last is None:
                    applied = Reversal(proposal.selected())
                    prepared = prepare(self._tree, applied.changes, require_fresh)
                else:
                    applied = plan_reversal(
                        self._tree.data, proposal, last, goal,
                        keep_changed=keep_changed, files=files,
                    )  # fmt: skip
                    prepared = prepare(self._tree, applied.changes, relocate, last)
            except EditError as error:
                self._keep(proposal, fail_proposal(proposal, error))
                if goal is ProposalState.APPLIED and last is not None:
                    error.hint = "Restore its earlier content, or make the change by hand."
                raise
            if last is not None and not is_complete(proposal, last, applied, goal):
                goal = ProposalState.PARTLY_UNDONE
            after = settle(proposal, goal, prepared.applied, last, applied.conflicts)
            return write_prepared(self._tree, self._store, proposal, prepared, after)

    def _last_applied(self, proposal: Proposal) -> AppliedChanges | None:
        """The changes that were last written for a proposal, or None if nothing was written yet."""
        if proposal.state in OPEN_STATES:
            return None
        last = self._store.applied(proposal.id)
        if last is None:
            raise StoreError(f"The store has no record of what the proposal {proposal.id} did.")
        return last

    def recover(self) -> tuple[Proposal, ...]:
        """Complete or revert the writes of processes that died, and return their proposals.

        A write counts as complete if all its files have the new content. Other writes are reverted.
        """
        return recover(self._tree, self._store, self._locks)

    @contextmanager
    def _locked(self, proposal: Proposal) -> Iterator[None]:
        paths = {self.root / path for path in proposal.paths()}
        with ExitStack() as held:
            try:
                held.enter_context(locked(self._locks, paths))
            except OSError as error:
                raise StoreError(
                    f"The locks in {self._locks} cannot be used: {error.strerror}.",
                    hint="Check the folder and its permissions.",
                ) from error
            yield

    def _keep(self, former: Proposal, proposal: Proposal) -> Proposal:
        if proposal == former:
            return former
        if proposal.state in OPEN_STATES and proposal.selected() != former.selected():
            proposal = replace(proposal, warnings=self._warnings(proposal))
        return self._store.replace(former, proposal)

    def _warnings(self, proposal: Proposal) -> tuple[str, ...]:
        """The problems that the changes cause in the files. Denied parts are left out."""
        if self._examine is None:
            return proposal.warnings
        found: list[str] = []
        with suppress(EditError):  # a file has changed, which `apply` reports
            for change, before, after in fit_changes(
                self._tree.data, proposal.selected(), require_fresh
            ):
                if after is not None:
                    found += self._examine(change.target or change.path, before or b"", after)
        return tuple(found)

    def _in_state(
        self, proposal_id: UUID, states: Collection[ProposalState], action: str
    ) -> Proposal:
        proposal = self.get(proposal_id)
        if proposal.state not in states:
            denied = proposal.state is ProposalState.DENIED
            already = proposal.state.value == action
            so = "already" if already else f"and cannot be {action}"
            raise EditError(
                ErrorKind.DENIED if denied else ErrorKind.CONFLICT,
                f"The proposal {proposal_id} is {proposal.state}{' ' if already else ', '}{so}.",
                hint="A denied part needs a new edit."
                if proposal.denied and action == "applied" and not denied
                else _INSTEAD[proposal.state],
            )
        return proposal


_DONE = {ProposalState.APPLIED: "applied", ProposalState.UNDONE: "undone"}
_INSTEAD = {
    **dict.fromkeys(OPEN_STATES, "The proposal is not applied; apply it first."),
    ProposalState.DENIED: "Propose a new edit.",
    ProposalState.APPLIED: "Undo it first, or propose a new edit.",
    ProposalState.UNDONE: "Redo it, or propose a new edit.",
    ProposalState.PARTLY_UNDONE: "Redo it, undo the rest, or propose a new edit.",
}
