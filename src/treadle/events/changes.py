"""Events about changes to proposals, spans, conversations, experiments and the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from treadle.events.types import CallKey, Delivery, Event


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanWritten(Event):
    """A span as the store has it from `revision` on."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    trace_id: str
    span_id: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStarted(SpanWritten):
    """A span was written that has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEnded(SpanWritten):
    """A span was written that has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansLeftOut(Event):
    """More spans were written at once than are announced; a front end reads its list again.

    There are `count` of them, up to `revision`.
    """

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    count: int
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansDeleted(Event):
    """A person deleted so many spans of so many traces here; who shows any reads it again."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    spans: int
    traces: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationChanged(Event):
    """A person gave a conversation another title or place to go on from, or took it out here."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    conversation_id: str
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentChanged(Event):
    """An experiment is new, changed or gone, or one of its batches, which is then named.

    `done` of the `total` runs of the batch are over; both are None where no batch is named.
    """

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    experiment_id: str
    batch_id: str | None = None
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UiRequested(Event):
    """The page with the id `page` is asked for something; others need not do anything.

    `request` is one of the requests of `ui.messages` as JSON; the answer names `ui_id`.
    """

    ui_id: UUID
    page: str
    request: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class UiChanged(Event):
    """The state is now that of `revision`; who shows a part of it reads it again.

    `by` is the page that changed it, None where a tool or a program did.
    """

    revision: int
    by: str | None
