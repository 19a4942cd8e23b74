"""The event types. Frozen and slotted; no event carries a channel, a future or a client.

Names and fields are fixed by the contract: other programs read them as JSON lines.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType
from typing import ClassVar
from uuid import UUID

from treadle.ids import new_id


class Delivery(StrEnum):
    """How an event reaches its subscribers."""

    MUST_DELIVER = "must-deliver"
    """Awaited: the publisher waits while a subscriber's queue is full; nothing is dropped."""
    LOSSY = "lossy"
    """Never waited for: dropped, and counted, when a subscriber lags."""


@dataclass(frozen=True, slots=True, order=True)
class CallKey:
    """The place of a tool call in a session: the model reply (`turn`) and the call in it (`slot`).

    Both count from 0; a session that continues a conversation continues its turns, so that
    no key comes twice in it. The key, never the provider's call id, matches a call to its result.
    """

    turn: int
    slot: int


class Effect(StrEnum):
    """What a failed call may have changed."""

    NONE = "none"
    APPLIED = "applied"
    UNKNOWN = "unknown"


class ErrorKind(StrEnum):
    """The closed vocabulary of tool failures."""

    PARSING = "parsing"
    VALIDATION = "validation"
    UNKNOWN_TOOL = "unknown_tool"
    TIMEOUT = "timeout"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    LIMIT = "limit"
    DENIED = "denied"
    CANCELLED = "cancelled"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


HTTP_STATUS = MappingProxyType({
    ErrorKind.PARSING: HTTPStatus.UNPROCESSABLE_ENTITY,
    ErrorKind.VALIDATION: HTTPStatus.UNPROCESSABLE_ENTITY,
    ErrorKind.UNKNOWN_TOOL: HTTPStatus.NOT_FOUND,
    ErrorKind.TIMEOUT: HTTPStatus.GATEWAY_TIMEOUT,
    ErrorKind.PERMISSION: HTTPStatus.FORBIDDEN,
    ErrorKind.NOT_FOUND: HTTPStatus.NOT_FOUND,
    ErrorKind.CONFLICT: HTTPStatus.CONFLICT,
    ErrorKind.LIMIT: HTTPStatus.TOO_MANY_REQUESTS,
    ErrorKind.DENIED: HTTPStatus.FORBIDDEN,
    ErrorKind.CANCELLED: HTTPStatus.CONFLICT,
    ErrorKind.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    ErrorKind.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
})  # fmt: skip
"""The HTTP status of an answer that is a failure of that kind; 500 is for faults of ours alone."""


class ApprovalScope(StrEnum):
    """How a question for approval was answered, and for how long the answer holds."""

    ONCE = "once"
    SESSION = "session"
    """For this conversation, while this process runs."""
    ALWAYS = "always"
    """Remembered for this repository, until it is revoked."""
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    """The call ended, or the last front end left, before anybody had answered."""


class Purpose(StrEnum):
    """What a model is asked for."""

    REPLY = "reply"
    SUMMARY = "summary"
    """Of the older part of a conversation that has become too long."""


class StopReason(StrEnum):
    """Why a request session ended."""

    COMPLETED = "completed"
    """The model replied without calling a tool."""
    LENGTH = "length"
    """The provider cut the reply at its length limit; the text until then was shown."""
    CONTENT_FILTER = "content_filter"
    TURN_LIMIT = "turn_limit"
    TOOL_CALL_LIMIT = "tool_call_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105  (tokens of a model)
    COST_LIMIT = "cost_limit"
    TIME_LIMIT = "time_limit"
    REPEATED_CALLS = "repeated_calls"
    """The model made the same call, with the same result, several times."""
    UNKNOWN_TOOLS = "unknown_tools"
    """The model called tools that do not exist several times in a row."""
    INVALID_CALLS = "invalid_calls"
    """The model called tools with arguments that do not fit several times in a row."""
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """Why a tool call failed, for the model and for the person."""

    kind: ErrorKind
    message: str
    field: str | None = None
    expected: str | None = None
    received: str | None = None
    hint: str | None = None
    effect: Effect = Effect.NONE


@dataclass(frozen=True, slots=True)
class ToolView:
    """What a person sees of a result: one line, a few named values, the rest on request."""

    summary: str
    fields: tuple[tuple[str, str], ...] = ()
    details: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call or a sum of several; None is unknown, never 0.

    `cached` (read from the provider's cache) and `cache_write` are parts of `input`, `reasoning` is
    one of `output`, as OpenAI-compatible servers report them; where a provider counts them apart,
    they were added when its answer was read.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    cache_write: int | None = None


@dataclass(frozen=True, slots=True)
class SourceRange:
    """Lines of a file that were given to the model. Lines count from 1 and include the last.

    `stale`: a change of the same session was applied to the file afterwards.
    """

    file: str
    start_line: int
    end_line: int
    name: str = ""
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events. `parent_id` is the id of the operation that this one is part of."""

    delivery: ClassVar[Delivery] = Delivery.MUST_DELIVER

    request_id: UUID
    parent_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted(Event):
    """A request session began to serve one user message. Its operation id is `request_id`.

    One that a tool call of another session began has that one's request as `parent_id`, and the
    call as `parent_key`. `labels` are those of everything that is recorded of it.
    """

    session_id: UUID
    user_text: str
    model: str
    provider: str
    tools: tuple[str, ...]
    agent: str = "treadle"
    labels: tuple[str, ...] = ()
    parent_key: CallKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptConstructed(Event):
    """What the next model request holds and what was left out of it, and why."""

    turn: int
    messages: int
    estimated_tokens: int
    budget_tokens: int
    left_out: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFinished(Event):
    """The request session ended with an answer. `cost` is in US dollars, None if unknown."""

    session_id: UUID
    text: str
    stop_reason: StopReason
    usage: Usage
    cost: float | None
    tool_calls: int
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFailed(Event):
    """The request session ended with an error; what was shown stays."""

    session_id: UUID
    message: str
    hint: str | None
    usage: Usage
    cost: float | None
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCancelled(Event):
    """The person ended the turn; open calls got their result, the conversation stays usable."""

    session_id: UUID
    usage: Usage
    cost: float | None
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequestStarted(Event):
    """One attempt of one model request. `operation_id` names it; tool calls have it as parent."""

    operation_id: UUID = field(default_factory=new_id)
    turn: int
    attempt: int
    model: str
    provider: str
    messages: int
    tools: int
    purpose: Purpose = Purpose.REPLY
    estimated_tokens: int | None = None
    """Of the whole request, messages and tools; what the provider counts comes with the reply."""
    input_text: str | None = None
    """The messages as sent, as JSON, with secrets redacted; for the recorder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequestFinished(Event):
    """An attempt ended. `error` is set when it failed; times are seconds."""

    operation_id: UUID
    turn: int
    attempt: int
    model: str
    provider: str
    usage: Usage
    cost: float | None
    time_to_first_token: float | None
    duration: float
    finish_reason: str | None = None
    error: str | None = None
    output_text: str | None = None
    """The reply as JSON (text and tool calls); for the recorder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDelta(Event):
    """Text as it streams."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    turn: int
    text: str
    reasoning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWaiting(Event):
    """A provider sends no data; `seconds` counts from the last that it sent."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    seconds: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCompacted(Event):
    """A summary replaces the first `messages` of the conversation for the model from now on.

    The tokens are those of all messages before and after, estimated.
    """

    messages: int
    tokens_before: int
    tokens_after: int
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueued(Event):
    """A message of the person waits for its own turn, as this request.

    One that `steers` waits for the next model request of the session that runs as this request.
    """

    text: str
    steers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSteered(Event):
    """A message that waited to steer a session is in the conversation, and the model gets it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(Event):
    """A failed attempt is made again after `delay` seconds; `attempt` is the one that comes."""

    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackApplied(Event):
    """The request goes on in another way, for example without tools."""

    reason: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Event):
    """Something that the person should know."""

    level: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequested(Event):
    """A call waits for its result. `arguments` is the raw JSON text of the model.

    `labels` are those of what is recorded of a call from outside a session; one of a session has
    the session's. `max_tokens` is the most that the tool message may take; None sets no limit.
    """

    key: CallKey
    call_id: str
    vendor: str
    name: str
    arguments: str
    labels: tuple[str, ...] = ()
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallCompleted(Event):
    """A call succeeded. `content` is the exact text of the tool message; `duration` in seconds."""

    key: CallKey
    call_id: str
    content: str
    ui: ToolView
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallFailed(Event):
    """A call failed; the model gets the tool message, the person sees this event."""

    key: CallKey
    call_id: str
    error: ToolFailure
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallLate(Event):
    """A result that came after its call had been answered otherwise. Never a message."""

    key: CallKey
    call_id: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(Event):
    """How far a running tool is."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    key: CallKey
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(Event):
    """A call, or a proposal that it made, waits for a person to allow it.

    The call's time limit pauses meanwhile. `subjects` are the paths and commands that it is
    about; `preview` is what would change: of a proposal as a unified diff, else the arguments of
    the call as JSON.
    """

    approval_id: UUID
    key: CallKey
    call_id: str
    name: str
    summary: str
    reason: str
    subjects: tuple[str, ...] = ()
    proposal_id: UUID | None = None
    preview: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalResolved(Event):
    """The question was answered. `words` are the person's own; `duration` is the wait in seconds.

    One follows each ApprovalRequested.
    """

    approval_id: UUID
    key: CallKey
    call_id: str
    scope: ApprovalScope
    words: str | None = None
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexProgress(Event):
    """How far the index of a repository is: files done of `total`."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalFinished(Event):
    """What was retrieved for one query, inside the tool call with the given key.

    `key` is None for the automatic context of a user message; then the parent is the request.
    """

    key: CallKey | None
    query: str
    top_k: int
    sources: tuple[SourceRange, ...]
    omitted: int
    tokens: int
    budget: int
    index_files: int
    index_items: int
    started_us: int
    duration: float
