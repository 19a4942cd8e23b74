"""Events about changes to proposals, spans, conversations, experiments and the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from treadle.events.types import CallKey, Delivery, Event, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalEvent(Event):
    """Base class of the events about a proposal.

    `files` are relative to the root. `key` is the key of the tool call that caused the event, or
    None if no call caused it.
    """

    proposal_id: UUID
    files: tuple[str, ...]
    key: CallKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditStaged(ProposalEvent):
    """A change was planned and saved. No file was written."""

    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditApplied(ProposalEvent):
    """The files on disk are changed and verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDenied(ProposalEvent):
    """A person or a rule refused the whole change.

    `words` is the reason that the person wrote, or None.
    """

    words: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditFailed(ProposalEvent):
    """The change could not be applied or undone. No file was changed."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditUndone(ProposalEvent):
    """The change was undone. Later changes to the same files were kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanWritten(Event):
    """A span was written. The store contains it since its revision number `revision`."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY
    shared: ClassVar[bool] = False

    trace_id: str
    span_id: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStarted(SpanWritten):
    """A span that has not ended was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEnded(SpanWritten):
    """A span that has ended was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansLeftOut(Event):
    """Some changes of spans were not announced, because there were too many at once.

    `count` is the number of changes that were not announced. The store contains all of them at its
    revision number `revision`. A front end that shows spans reads its list again.
    """

    delivery: ClassVar[Delivery] = Delivery.LOSSY
    shared: ClassVar[bool] = False

    count: int
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansDeleted(Event):
    """A person deleted spans of some traces. A front end that shows them reads its list again."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    spans: int
    traces: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChanged(Event):
    """A person changed the mode of a conversation. The next tool call obeys the new mode."""

    conversation_id: UUID
    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationChanged(Event):
    """A person changed the title or the current branch of a conversation, or deleted it."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    conversation_id: str
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentChanged(Event):
    """An experiment was created, changed or deleted, or one of its batches changed.

    `batch_id` is the id of that batch. `done` of the `total` runs of the batch have ended. All
    three are None if no batch changed.
    """

    delivery: ClassVar[Delivery] = Delivery.LOSSY
    shared: ClassVar[bool] = False

    experiment_id: str
    batch_id: str | None = None
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UiRequested(Event):
    """A request to the page with the id `page`.

    Other pages ignore it. `request` is a request of the module `ui.messages` as JSON. The page
    answers with the same `ui_id`.
    """

    shared: ClassVar[bool] = False

    ui_id: UUID
    page: str
    request: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class UiChanged(Event):
    """The state of the screen has a new `revision`. Front ends that show it read it again.

    `by` is the id of the page that changed the state, or None if a tool or a program changed it.
    """

    shared: ClassVar[bool] = False

    revision: int
    by: str | None
