"""The messages between servers and workers, and their JSON form."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from treadle.events.types import CallKey, Effect, RetrievalFinished, ToolFailure, ToolProgress
from treadle.json_records import from_json
from treadle.json_values import to_json
from treadle.tools.approvals.question import Decision, Question

ANY_COMMIT = "any"
"""The commit of a call that a worker with any commit may run."""

FORWARDED = (ToolProgress, RetrievalFinished)
"""The events of a running call that reach the session. The server ignores all others."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """A call for a worker.

    `id` identifies the call everywhere. `caller` is the name of the server that waits for the
    outcome. `arguments` is the JSON text of the validated arguments. `unfinished` is the effect of
    the call if its outcome stays unknown. `private` are the private files, relative to the root,
    that a person allows the call to read. `deny` and `ask` are the approval rules of the server.
    """

    id: str
    caller: str
    repository: str
    commit: str
    tool: str
    version: int
    arguments: str
    request_id: UUID
    key: CallKey
    call_id: str = ""
    session_id: UUID | None = None
    parent_id: UUID | None = None
    user_message: str = ""
    unfinished: Effect = Effect.NONE
    private: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call: the JSON text of the result, or a failure."""

    worker: str
    result: str | None = None
    failure: ToolFailure | None = None


@dataclass(frozen=True, slots=True)
class CallState:
    """What the bucket of calls stores about a call that a worker has taken.

    `sequence` is the number of the message in the stream, and `delivery` is the number of its
    delivery. JetStream may count deliveries from 1 again after a crash, so this number is not
    unique. `attempt` is unique. `outcome` is None while the call runs.
    """

    worker: str
    attempt: str
    sequence: int
    delivery: int
    outcome: CallOutcome | None = None


class ReportKind(StrEnum):
    """The reasons why a worker contacts the server of a call."""

    BEGIN = "begin"
    """The worker is about to run the call."""
    ALIVE = "alive"
    """The call still runs."""
    QUESTION = "question"
    """The call needs approval."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report of a worker to the server of a call. The server replies with a `ReportReply`.

    `attempt` is the attempt of the worker to run the call, and `number` counts its questions. A
    worker repeats a question until it has the decision.
    """

    call: str
    worker: str
    kind: ReportKind
    attempt: str
    number: int = 0
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class ReportReply:
    """Whether the server still waits for the call. If it does not, the worker ends the call."""

    wanted: bool


@dataclass(frozen=True, slots=True)
class DecisionMessage:
    """The decision about a question of a worker."""

    call: str
    attempt: str
    number: int
    decision: Decision


@dataclass(frozen=True, slots=True)
class OutcomeMessage:
    """The outcome of a call, sent to its server after it was stored."""

    call: str
    outcome: CallOutcome


@dataclass(frozen=True, slots=True)
class EventMessage:
    """An event of a running call, such as progress. The message may be lost."""

    call: str
    event: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """The answer of a worker that has the repository: its tools with their versions."""

    worker: str
    tools: dict[str, int]


def encode(message: object) -> bytes:
    """Return a message as JSON."""
    return json.dumps(to_json(message), separators=(",", ":")).encode()


def decode(kind: type[T], data: bytes | None) -> T:
    """Read a message of the given type. Raises JsonMismatchError or ValueError."""
    message: T = from_json(kind, json.loads(data or b""))
    return message
