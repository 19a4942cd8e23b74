"""The event types.

Events are frozen dataclasses with slots, and contain only plain data. Their names and fields must
stay stable, because other programs read events as JSON lines.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType
from typing import ClassVar
from uuid import UUID

from treadle.ids import new_id


class Delivery(StrEnum):
    """The delivery class of an event."""

    MUST_DELIVER = "must-deliver"
    """The publisher waits while the queue of a subscriber is full. No event is dropped."""
    LOSSY = "lossy"
    """The publisher never waits.

    If the queue of a subscriber is full, the event is dropped for this subscriber and counted.
    """


@dataclass(frozen=True, slots=True, order=True)
class CallKey:
    """The position of a tool call in a session: the reply (`turn`) and the call in it (`slot`).

    Both count from 0. A session that resumes a conversation continues the turn numbers, so a key is
    unique in a conversation. The key matches a call to its result. The provider's call id does not,
    since it may be missing or repeated.
    """

    turn: int
    slot: int


class Effect(StrEnum):
    """The changes that a failed call may have made."""

    NONE = "none"
    APPLIED = "applied"
    UNKNOWN = "unknown"


class ErrorKind(StrEnum):
    """The kinds of tool failures. The set of kinds is fixed."""

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
"""The HTTP status for each kind of failure. 500 means a fault in the server."""


class ApprovalScope(StrEnum):
    """The answer to a question for approval, and how long it is valid."""

    ONCE = "once"
    SESSION = "session"
    """Such calls are allowed in this conversation until this process ends."""
    ALWAYS = "always"
    """Such calls are allowed in this repository until the grant is revoked."""
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    """Nobody answered before the call ended or the last front end left."""


class Mode(StrEnum):
    """The mode of a conversation. Only a person changes it."""

    NORMAL = "normal"
    READ_ONLY = "read_only"
    """No tool writes or runs anything, whatever the approval rules allow."""


class StepState(StrEnum):
    """The state of a step in a plan."""

    OPEN = "open"
    DOING = "doing"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of the plan that a model keeps. `id` stays the same while the plan changes."""

    id: str
    text: str
    state: StepState


class Purpose(StrEnum):
    """The purpose of a model request."""

    REPLY = "reply"
    SUMMARY = "summary"
    """The request asks for a summary of the older part of a conversation that is too long."""


class StopReason(StrEnum):
    """The reason why a request session ended."""

    COMPLETED = "completed"
    """The model replied without calling a tool."""
    LENGTH = "length"
    """The provider truncated the reply at its length limit. The text up to this point was shown."""
    CONTENT_FILTER = "content_filter"
    TURN_LIMIT = "turn_limit"
    TOOL_CALL_LIMIT = "tool_call_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105  (tokens of a model)
    COST_LIMIT = "cost_limit"
    TIME_LIMIT = "time_limit"
    REPEATED_CALLS = "repeated_calls"
    """The model made the same call, with the same result, several times."""
    UNKNOWN_TOOLS = "unknown_tools"
    """The model called unknown tools several times in a row."""
    INVALID_CALLS = "invalid_calls"
    """The model called tools with invalid arguments several times in a row."""
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ToolFailure:
    """The failure of a tool call, for the model and for the person."""

    kind: ErrorKind
    message: str
    field: str | None = None
    expected: str | None = None
    received: str | None = None
    hint: str | None = None
    effect: Effect = Effect.NONE


@dataclass(frozen=True, slots=True)
class ToolView:
    """A result as a person sees it: one line, a few named values, and details on request."""

    summary: str
    fields: tuple[tuple[str, str], ...] = ()
    details: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or several model calls. None means unknown.

    `input` includes `cached`, the tokens read from the provider's cache, and `cache_write`, the
    tokens written to it. `output` includes `reasoning`. OpenAI-compatible servers count in this
    way. If a provider counts a part separately, the module `llm.usage` adds it to `input` or
    `output`.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    cache_write: int | None = None


@dataclass(frozen=True, slots=True)
class SourceRange:
    """Lines of a file that the model received.

    Line numbers count from 1, and `end_line` is part of the range. `stale` means that the same
    session changed the file after the model received the lines.
    """

    file: str
    start_line: int
    end_line: int
    name: str = ""
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base class of all events.

    `parent_id` is the id of the operation that the event belongs to.
    """

    delivery: ClassVar[Delivery] = Delivery.MUST_DELIVER
    shared: ClassVar[bool] = True
    """Whether the other servers of the project receive the event.

    An event about the machine of one server is not shared. An event about a change in a store is
    not shared either, because each server reads these changes from the store.
    """

    request_id: UUID
    parent_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted(Event):
    """A request session began to serve one user message. Its operation id is `request_id`.

    If a tool call began the session, `parent_id` is the id of the request that contains the call,
    and `parent_key` is the key of the call. All spans of the session get the labels in `labels`.
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
    """The prompt of the next model request was built.

    `left_out` is the number of messages that were left out. `reason` states what was left out or
    shortened and why. `estimated_tokens` is the estimate for messages and tools, multiplied by
    `calibration`. `calibration` is the factor that adjusts estimates to the provider's earlier
    counts for the model. `tool_tokens` is the estimate for the tools alone, without this factor.
    """

    turn: int
    messages: int
    estimated_tokens: int
    budget_tokens: int
    left_out: int = 0
    reason: str | None = None
    context_window: int | None = None
    calibration: float = 1.0
    tool_tokens: int = 0


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """An instruction file, and how much of it the model gets.

    `path` is relative to the root, or absolute for the person's own file. `tokens` is the number of
    tokens that the model gets, and `whole_tokens` the number in the file. `cut` is true if a part
    is left out. `reason` states why the file is cut, or left out as a whole.
    """

    path: str
    tokens: int
    whole_tokens: int
    cut: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionsLoaded(Event):
    """Instruction files were added to the conversation, or left out of it.

    `tokens` is the sum over `files`, and `budget` the limit for this sum.
    """

    files: tuple[InstructionFile, ...]
    tokens: int
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFinished(Event):
    """The request session ended with an answer. `cost` is in US dollars, or None if unknown."""

    session_id: UUID
    text: str
    stop_reason: StopReason
    usage: Usage
    cost: float | None
    tool_calls: int
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFailed(Event):
    """The request session ended with an error. The text that was shown so far is kept."""

    session_id: UUID
    message: str
    hint: str | None
    usage: Usage
    cost: float | None
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCancelled(Event):
    """The person cancelled the request session.

    Each unfinished call got a result that states the cancellation, so the conversation can
    continue.
    """

    session_id: UUID
    usage: Usage
    cost: float | None
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequestStarted(Event):
    """An attempt of a model request began.

    `operation_id` is the id of the attempt. The tool calls of its reply have this id as
    `parent_id`.
    """

    operation_id: UUID = field(default_factory=new_id)
    turn: int
    attempt: int
    model: str
    provider: str
    messages: int
    tools: int
    purpose: Purpose = Purpose.REPLY
    estimated_tokens: int | None = None
    """The estimated tokens of the whole request: messages and tools.

    The provider's own count is in the usage of `ModelRequestFinished`.
    """
    input_text: str | None = None
    """The messages in wire format as JSON, with secrets redacted. The recorder stores this text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequestFinished(Event):
    """An attempt of a model request ended. `error` is set if it failed. Times are seconds."""

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
    """The text and the tool calls of the reply as JSON. The recorder stores this text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDelta(Event):
    """A part of the text of a reply, as it streams."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    turn: int
    text: str
    reasoning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWaiting(Event):
    """A provider sends no data. `seconds` is the time since its last data."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    seconds: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCompacted(Event):
    """A summary replaces the first messages of the conversation in later requests.

    `messages` is the number of replaced messages. `tokens_before` and `tokens_after` are estimates
    for all messages.
    """

    messages: int
    tokens_before: int
    tokens_after: int
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueued(Event):
    """A message of the person waits.

    If `steers` is False, it waits for a session of its own, which will have the id `request_id`. If
    `steers` is True, it waits for the next model request of the running session with that id.
    """

    text: str
    steers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSteered(Event):
    """A message that steers a running session was added to the conversation.

    The next model request contains it.
    """

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(Event):
    """A failed attempt is repeated after `delay` seconds, as attempt number `attempt`."""

    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackApplied(Event):
    """The request continues in another way, for example without tools."""

    reason: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Event):
    """A message for the person. `level` is info, warning or error."""

    level: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequested(Event):
    """A call waits for its result. `arguments` is the raw JSON text of the model.

    `labels` are the labels of a call outside any session. A call in a session has the labels of the
    session. `max_tokens` is the maximum size of the tool message in tokens, or None for no limit.
    """

    key: CallKey
    call_id: str
    vendor: str
    name: str
    arguments: str
    labels: tuple[str, ...] = ()
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallAssigned(Event):
    """A worker began to run a call that this process sent to it.

    If a worker dies, another worker may begin the same call.
    """

    key: CallKey
    call_id: str
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallCompleted(Event):
    """A call succeeded.

    `content` is the exact text of the tool message. `duration` is in seconds.
    """

    key: CallKey
    call_id: str
    content: str
    ui: ToolView
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallFailed(Event):
    """A call failed. The model receives the tool message, and the person sees this event."""

    key: CallKey
    call_id: str
    error: ToolFailure
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallLate(Event):
    """A result arrived after its call already had an outcome.

    The result never becomes a message.
    """

    key: CallKey
    call_id: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChanged(Event):
    """The model changed the plan of a conversation. `steps` is the whole plan."""

    session_id: UUID
    steps: tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(Event):
    """The progress of a running tool."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    key: CallKey
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(Event):
    """A call, or a change that a call proposes, waits for a person's approval.

    The time limit of the call pauses until the answer. `subjects` are the paths and commands of the
    call. `preview` is the unified diff of a proposal, or the arguments of the call as JSON.
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
    """The question was answered. One such event follows each ApprovalRequested.

    `words` is the text that the person added to the answer, or None. `duration` is the wait in
    seconds.
    """

    approval_id: UUID
    key: CallKey
    call_id: str
    scope: ApprovalScope
    words: str | None = None
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexProgress(Event):
    """The progress of the index of a repository: `done` of `total` files."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY
    shared: ClassVar[bool] = False

    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalFinished(Event):
    """The result of one retrieval, inside the tool call with the given key.

    `key` is None for the automatic context of a user message. `parent_id` is then the id of the
    request.
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
