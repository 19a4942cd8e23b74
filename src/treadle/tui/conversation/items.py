"""The items of a transcript: prompts, parts of answers, tool calls, notices and outcomes.

An item can change while its turn runs. Each change increases the `revision` of the item, so that a
view knows which rendered lines are out of date.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from treadle.diagnosis.evidence import SpanReference
from treadle.events.types import CallKey, ErrorKind, SourceRange, StopReason, ToolFailure, Usage
from treadle.session.sources import Quote
from treadle.spans.span_builder import call_span_id

if TYPE_CHECKING:  # not imported at the start, so that the start is quick
    from treadle.app.code_exploration import Excerpt

Target = SourceRange | SpanReference
"""What a line of a transcript refers to: code, or a span of a trace. The person can open it."""


_FOLDED_LINES = 12
_FOLDED_CHARACTERS = 2_000
"""A message of the person that exceeds one of these limits is folded."""


@dataclass(slots=True, eq=False, kw_only=True)
class Item:
    """One entry of a transcript. `request_id` is the id of its turn, or None if it has no turn.

    `excerpts` maps each opened source to its lines, or to the reason why they cannot be shown.
    """

    request_id: UUID | None = None
    revision: int = 0
    unfolded: bool = False
    excerpts: "dict[SourceRange, Excerpt | str]" = field(default_factory=dict)

    def touch(self) -> None:
        """Mark the item as changed."""
        self.revision += 1


class PromptState(StrEnum):
    """The state of a message of the person."""

    PENDING = "pending"
    """The message waits until the repository and the model are ready."""
    SENT = "sent"
    QUEUED = "queued"
    """The message waits until the conversation is free."""
    STEERING = "steering"
    """The message waits for the next model request of the running turn."""


@dataclass(slots=True, eq=False, kw_only=True)
class PromptItem(Item):
    """A message of the person.

    `number` is its number in the saved conversation, or None if it was not loaded from there.
    `waits_for` states in words why a pending message is not sent yet. `steers` states whether the
    message was sent to a running turn. `context_tokens` is the size of the automatic context, and
    `sources` are the lines of code in this context.
    """

    text: str
    number: int | None = None
    state: PromptState = PromptState.SENT
    waits_for: str = ""
    steers: bool = False
    sources: tuple[SourceRange, ...] = ()
    context_tokens: int | None = None

    @property
    def beginning(self) -> str:
        """The text that is shown while the message is folded. A short message is shown whole."""
        rows = self.text[:_FOLDED_CHARACTERS].split("\n")
        if len(rows) <= _FOLDED_LINES and len(self.text) <= _FOLDED_CHARACTERS:
            return self.text
        return "\n".join(rows[: _FOLDED_LINES - 2]) + "\n…"


@dataclass(slots=True, eq=False, kw_only=True)
class ReasoningItem(Item):
    """The reasoning that a model sends before its answer."""

    parts: list[str] = field(default_factory=list)
    finished: bool = False

    @property
    def text(self) -> str:
        """The reasoning so far."""
        return "".join(self.parts)


@dataclass(slots=True, eq=False, kw_only=True)
class ProseItem(Item):
    """A block of an answer in Markdown.

    Only the last block of an answer can be unfinished, while more text arrives. A large table
    consists of several items. The text of the first item contains the first two lines of the table.
    In each of the other items, `table_head` has these lines.
    """

    text: str
    finished: bool = True
    table_head: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class CodeItem(Item):
    """Lines of a code block of an answer, without its fences.

    A long block consists of several items. `starts` states whether the block begins with this item,
    and `ends` states whether it ends with this item. `label` is the language of the block. For a
    snippet, `label` is its file. `before` has the lines of the block before this item, so that a
    string over several lines keeps its colour. It is empty if these lines are too long for that.
    """

    label: str = ""
    lines: list[str] = field(default_factory=list)
    starts: bool = True
    ends: bool = False
    before: Sequence[str] = ()


class CallState(StrEnum):
    """The state of a tool call."""

    RUNNING = "running"
    ASKING = "asking"
    """The call waits for an approval."""
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed out"


FAILED_STATES = {
    ErrorKind.DENIED: CallState.DENIED,
    ErrorKind.CANCELLED: CallState.CANCELLED,
    ErrorKind.TIMEOUT: CallState.TIMED_OUT,
}
"""The states of failed calls, by the kind of the failure. For other kinds, the state is FAILED.

A cancelled call has no summary: its mark and the outcome of its turn state the cancellation.
"""

COMMAND_KEY = CallKey(-1, -1)
"""The key of every shell command of the person. These commands belong to no turn."""


@dataclass(slots=True, eq=False, kw_only=True)
class CallItem(Item):
    """A tool call, or a shell command of the person.

    `arguments` is the JSON text of the model, or the shell command. `started` and `duration` are in
    seconds. `summary` describes the result in one line, and `details` is the form of the result for
    a person. `content` is the exact tool message for the model. `notes` are lines about approvals
    and late results.
    """

    key: CallKey
    name: str
    arguments: str
    state: CallState = CallState.RUNNING
    summary: str = ""
    details: str = ""
    content: str = ""
    failure: ToolFailure | None = None
    started: float = 0.0
    duration: float | None = None
    sources: tuple[SourceRange, ...] = ()
    notes: list[str] = field(default_factory=list)
    proposal_id: UUID | None = None

    @property
    def is_command(self) -> bool:
        """Whether this is a shell command of the person instead of a tool call."""
        return self.key == COMMAND_KEY

    @property
    def span(self) -> SpanReference | None:
        """The recorded span of the call, or None if the call belongs to no turn."""
        if self.request_id is None:
            return None
        span_id = call_span_id(self.request_id, self.key.turn, self.key.slot)
        return SpanReference(self.request_id.hex, span_id)


@dataclass(slots=True, eq=False, kw_only=True)
class NoticeItem(Item):
    """A line about an event of a turn or of the terminal, such as a retry or an error."""

    text: str
    level: str = "info"


@dataclass(slots=True, eq=False, kw_only=True)
class OutcomeItem(Item):
    """The end of a turn: its sources and quotes, its usage and its cost in US dollars.

    `spans` are the recorded calls that the answer mentions.
    """

    stop_reason: StopReason | None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    tool_calls: int = 0
    duration: float | None = None
    sources: tuple[SourceRange, ...] = ()
    quotes: tuple[Quote, ...] = ()
    spans: Sequence[SpanReference] = ()
    error: str | None = None
    hint: str | None = None


FOLDABLE = (CallItem, OutcomeItem, PromptItem, ReasoningItem)
"""The items that a person can fold and unfold."""
