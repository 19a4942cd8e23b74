"""The proposals of one repository: staged, approved, denied, applied, undone."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from treadle.clock import Clock
from treadle.edits.model import Proposal, ProposalState
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.requests import EditRequest


class Freshness(StrEnum):
    """Whether a file is still what a proposal was made on."""

    FRESH = "fresh"
    CHANGED = "changed"
    GONE = "gone"
    IN_THE_WAY = "in the way"
    """A file is where one is to be created."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that was written and verified: hashes of its content, None where there is no file."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Applied:
    """A proposal whose files were written, in the state that it has now."""

    proposal: Proposal
    files: tuple[WrittenFile, ...]


class Edits:
    """The proposals for the repository at `root`. Every method blocks, and any thread may call it.

    Paths are relative to the root, POSIX, in normal form. Errors: EditError for an edit that
    cannot be made, with nothing written; PathRefusedError for a path that leads out of the root
    or holds secrets; NotFoundError for a proposal that is not there; StoreError for the store.
    """

    root: Path
    """Resolved."""

    def __init__(
        self,
        root: Path,
        store: ProposalStore,
        *,
        clock: Clock | None = None,
        writable: Callable[[str], str | None] | None = None,
    ) -> None:
        """`writable(path)` says why a path must not be written, or None."""
        raise NotImplementedError

    def relative(self, name: str) -> str:
        """The path, as proposals have it, of `name`, relative to the root or absolute inside it.

        The file need not exist. Raises PathRefusedError for a path that leads out of the root.
        """
        raise NotImplementedError

    def read(self, path: str) -> bytes | None:
        """The content of a regular file, None where there is none; no link is followed."""
        raise NotImplementedError

    def stage(
        self,
        requests: Sequence[EditRequest],
        *,
        summary: str | None = None,
        request_id: UUID | None = None,
        turn: int = 0,
        slot: int = 0,
        session_id: UUID | None = None,
        private: Collection[Path] = (),
    ) -> Proposal:
        """Plan `requests` on the files as they are, and keep the plan; nothing is written.

        `private` are resolved paths with a secret's name that a person gave free.
        """
        raise NotImplementedError

    def find(self, reference: str) -> Proposal:
        """The proposal with that id or unique beginning of one, or the "last" of this root."""
        raise NotImplementedError

    def get(self, proposal_id: UUID) -> Proposal:
        """The proposal of that id."""
        raise NotImplementedError

    def list(
        self,
        *,
        states: Collection[ProposalState] | None = None,
        session_id: UUID | None = None,
        limit: int = 50,
    ) -> tuple[Proposal, ...]:
        """Proposals of this root, the newest first."""
        raise NotImplementedError

    def freshness(self, proposal: Proposal) -> tuple[Freshness, ...]:
        """For each change whether its file still holds what it was made on, by its bytes."""
        raise NotImplementedError

    def preview(self, proposal_id: UUID) -> Mapping[str, bytes | None]:
        """By path the bytes that applying would leave, None where no file remains."""
        raise NotImplementedError

    def approve(self, proposal_id: UUID) -> Proposal:
        """Note that a person said yes; nothing is written yet."""
        raise NotImplementedError

    def deny(
        self,
        proposal_id: UUID,
        *,
        words: str | None = None,
        hunks: Collection[tuple[int, int]] | None = None,
    ) -> Proposal:
        """Refuse it as a whole, or only some (file, hunk) numbers, in addition to earlier ones.

        It stays staged while a hunk is left.
        """
        raise NotImplementedError

    def amend(self, proposal_id: UUID, path: str, result: bytes) -> Proposal:
        """Let the file at `path` (as the change names it) become `result` instead."""
        raise NotImplementedError

    def restage(self, proposal_id: UUID) -> Proposal:
        """Place what is not denied of it anew, on the files as they are now, as the same id."""
        raise NotImplementedError

    def apply(self, proposal_id: UUID) -> Applied:
        """Write what is not denied of it: all files or none.

        Raises EditError of kind conflict when a file has changed (the proposal is conflicted
        then), of another kind when a file cannot be written (failed), and when it is denied,
        applied or undone already.
        """
        raise NotImplementedError

    def undo(self, proposal_id: UUID) -> Applied:
        """Take back its own hunks, wherever they are now; what others changed stays.

        Raises EditError of kind conflict, with nothing written, when one of them is not there.
        """
        raise NotImplementedError

    def redo(self, proposal_id: UUID) -> Applied:
        """Make an undone proposal's hunks again, wherever they belong now."""
        raise NotImplementedError

    def recover(self) -> tuple[Proposal, ...]:
        """End what a process that died left half written, and say what it was.

        A plan of which all files are new is applied; any other is rolled back.
        """
        raise NotImplementedError
