"""Computes in memory what a sequence of undos or redos of proposals would do to the files.

The files on disk stay as they are.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from treadle.edits.application import (
    ReadFile,
    file_numbers,
    fit_changes,
    fit_reversal,
    reverting_changes,
)
from treadle.edits.model import EditError, FileChange, Proposal, ProposalState
from treadle.edits.proposal_store import AppliedChanges
from treadle.edits.relocation import relocate


@dataclass(frozen=True, slots=True)
class SimulatedStep:
    """The undo or redo of one proposal.

    `files` are the numbers of the files of the proposal that the step changes. `changes` are the
    changes of these files, fitted to the content before the step. `later_changes` has the paths of
    the files that someone changed after the proposal was last applied, undone or redone.
    `conflicts` has one error for each file that the step leaves as it is.
    """

    proposal: Proposal
    files: frozenset[int]
    changes: tuple[FileChange, ...]
    later_changes: frozenset[str]
    conflicts: tuple[EditError, ...]


class Simulation:
    """The files of a repository after some steps. `read` reads the files on disk."""

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._before: dict[str, bytes | None] = {}
        self._after: dict[str, bytes | None] = {}
        self._states: dict[str, list[bytes | None]] = {}
        self.steps: list[SimulatedStep] = []

    def revert(
        self,
        proposal: Proposal,
        last: AppliedChanges,
        goal: ProposalState,
        files: Collection[int] | None = None,
    ) -> None:
        """Undo or redo the changes `last` of a proposal, so that it gets the state `goal`.

        `files` limits the step to the files with these numbers.
        """
        reversal = fit_reversal(self._present, reverting_changes(proposal, last, goal, files))
        # A real undo also reads all files before it writes the first one.
        fitted = list(fit_changes(self._present, reversal.changes, relocate))
        for change, _, after in fitted:
            if change.target is not None:
                self._set(change.path, None)
            self._set(change.target or change.path, after)
        changes = tuple(change for change, _, _ in fitted)
        later = {
            now.path
            for now, then in zip(changes, reversal.changes, strict=True)
            if now.base_hash != then.base_hash
        }
        self.steps.append(
            SimulatedStep(
                proposal,
                file_numbers(proposal, changes),
                changes,
                frozenset(later),
                reversal.conflicts,
            )
        )

    def differences(self) -> Mapping[str, tuple[bytes | None, bytes | None]]:
        """The content of each changed file: on disk, and after the steps. None means no file."""
        return {
            path: (before, self._after[path])
            for path, before in self._before.items()
            if before != self._after[path]
        }

    def states(self) -> Mapping[str, tuple[bytes | None, ...]]:
        """The contents of each changed file: on disk, and after each step that changed the file.

        None means no file.
        """
        return {path: tuple(states) for path, states in self._states.items()}

    def _set(self, path: str, content: bytes | None) -> None:
        self._states.setdefault(path, [self._present(path)]).append(content)
        self._after[path] = content

    def _present(self, path: str) -> bytes | None:
        if path not in self._after:
            self._before[path] = self._after[path] = self._read(path)
        return self._after[path]
