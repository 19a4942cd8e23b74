"""The events of proposals: what was staged, and its outcome."""

from dataclasses import dataclass
from uuid import UUID

from treadle.events.types import CallKey, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalEvent(Event):
    """Base of them. `files` are relative to the root; `key` is that of the call, None outside."""

    proposal_id: UUID
    files: tuple[str, ...]
    key: CallKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditStaged(ProposalEvent):
    """A change was planned and kept; nothing was written to its files."""

    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditApplied(ProposalEvent):
    """The files are changed on disk, as was verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDenied(ProposalEvent):
    """A person, or a rule, refused the change as a whole. `words` are the person's own."""

    words: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditFailed(ProposalEvent):
    """The change could not be applied or undone; every file is as it was."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditUndone(ProposalEvent):
    """The change was undone; other changes next to it stay."""
