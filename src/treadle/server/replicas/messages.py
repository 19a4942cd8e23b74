"""The messages that the servers of one project send to each other, as JSON."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from treadle.events.types import ApprovalScope, CallKey, ErrorKind, ToolFailure
from treadle.server.held_calls import HeldDecision
from treadle.server.turn_json import Ask, Begin
from treadle.tools.approvals.grants import Grant
from treadle.tools.external import CallOffer, ToolDefinition, Withdrawal


class _Message(BaseModel):
    # A server of a newer version may send fields that this version does not know.
    model_config = ConfigDict(extra="ignore", frozen=True)


class FrontEnd(_Message):
    """A front end that is connected to the sender. `connection` is the id of the connection."""

    name: str
    connection: UUID
    runs: tuple[str, ...]
    tools: tuple[ToolDefinition, ...]


class ServerDescription(_Message):
    """What other servers need to know about a server. Each change has a higher `version`.

    `approves` states whether a person answers approval questions at this server.
    """

    version: int
    approves: bool = False
    front_ends: tuple[FrontEnd, ...] = ()


class DescribeServer(_Message):
    """Asks a server for its `ServerDescription`."""

    type: Literal["describe"] = "describe"


class ServerChanged(_Message):
    """Reports the new description of the sender. The answer is `true`."""

    type: Literal["changed"] = "changed"
    description: ServerDescription


class StartTurn(_Message):
    """Starts a turn if the receiver runs a turn of the same conversation."""

    type: Literal["start_turn"] = "start_turn"
    conversation_id: UUID
    message: Begin


class StartQuestion(_Message):
    """Starts the turn of a question if the receiver runs a turn of the same conversation."""

    type: Literal["start_question"] = "start_question"
    conversation_id: UUID
    agent: str
    question: Ask


class FindConversation(_Message):
    """Asks whether the receiver runs a turn of a conversation. The answer is `true`."""

    type: Literal["find_conversation"] = "find_conversation"
    conversation_id: UUID


class ShowTurn(_Message):
    """Asks for a turn. The receiver first waits at most `wait` seconds for the end of the turn."""

    type: Literal["show_turn"] = "show_turn"
    request_id: UUID
    wait: float


class ReplayTurn(_Message):
    """Asks for the past events of a turn."""

    type: Literal["replay_turn"] = "replay_turn"
    request_id: UUID


class ListTurns(_Message):
    """Asks for the running turns of a server."""

    type: Literal["list_turns"] = "list_turns"


class SteerTurn(_Message):
    """Steers a turn. The answer states whether the turn takes the message."""

    type: Literal["steer_turn"] = "steer_turn"
    request_id: UUID
    text: str


class CancelTurn(_Message):
    """Cancels a turn. The answer states whether the turn was still running."""

    type: Literal["cancel_turn"] = "cancel_turn"
    request_id: UUID


class ListQuestions(_Message):
    """Asks for the approval questions that wait at a server."""

    type: Literal["list_questions"] = "list_questions"


class AnswerQuestion(_Message):
    """Answers an approval question. The answer states whether the question still waited."""

    type: Literal["answer_question"] = "answer_question"
    approval_id: UUID
    scope: ApprovalScope
    words: str | None


class ListChoices(_Message):
    """Asks for the possible answers to an approval question."""

    type: Literal["list_choices"] = "list_choices"
    approval_id: UUID


class ListPermissions(_Message):
    """Asks for the permissions of conversations at a server."""

    type: Literal["list_permissions"] = "list_permissions"
    conversation_id: UUID | None


class RevokePermissions(_Message):
    """Revokes the permissions that equal one of `grants`.

    Without `grants`, revokes the permission `number`, or all permissions if `number` is None. The
    answer is the number of revoked permissions.
    """

    type: Literal["revoke_permissions"] = "revoke_permissions"
    number: int | None = None
    grants: tuple[Grant, ...] = ()


class ReadBreakpoints(_Message):
    """Asks a server to read the stored breakpoints again. The answer is `true`."""

    type: Literal["read_breakpoints"] = "read_breakpoints"


class ShowHeld(_Message):
    """Asks for a call that waits at a breakpoint of the receiver, with its body."""

    type: Literal["show_held"] = "show_held"
    held_id: str


class DecideHeld(_Message):
    """Decides about a call that waits at the receiver. The answer is the call without its body."""

    type: Literal["decide_held"] = "decide_held"
    held_id: str
    decision: HeldDecision


class OfferCall(_Message):
    """Sends a message of the bridge to a front end that is connected to the receiver.

    `number` counts the messages to this connection from 1. The answer is `true`.
    """

    type: Literal["offer_call"] = "offer_call"
    connection: UUID
    number: int
    message: CallOffer | Withdrawal


class SettleCall(_Message):
    """Records the answer of a front end to a call. The answer is an `AnswerStatus`."""

    type: Literal["settle_call"] = "settle_call"
    front_end: str
    request_id: UUID
    key: CallKey
    result: JsonValue = None
    failure: ToolFailure | None = None


class ReportCall(_Message):
    """Reports the progress of a call that a front end runs. The answer is `true`."""

    type: Literal["report_call"] = "report_call"
    front_end: str
    request_id: UUID
    key: CallKey
    text: str


Request = (
    DescribeServer
    | ServerChanged
    | StartTurn
    | StartQuestion
    | FindConversation
    | ShowTurn
    | ReplayTurn
    | ListTurns
    | SteerTurn
    | CancelTurn
    | ListQuestions
    | AnswerQuestion
    | ListChoices
    | ListPermissions
    | RevokePermissions
    | ReadBreakpoints
    | ShowHeld
    | DecideHeld
    | OfferCall
    | SettleCall
    | ReportCall
)


class Presence(_Message):
    """States that the sender runs. `version` is the version of its description.

    `leaves` states that the server is about to end.
    """

    type: Literal["presence"] = "presence"
    version: int
    leaves: bool = False


class StoreChanged(_Message):
    """States that the sender changed a store that all servers share."""

    type: Literal["store_changed"] = "store_changed"
    store: str


class Asked(_Message):
    """A request, and the id that its reply repeats."""

    type: Literal["asked"] = "asked"
    id: UUID
    request: Annotated[Request, Field(discriminator="type")]


class UnknownRequest(_Message):
    """A request of a kind that only newer versions know. This version reads only its id."""

    type: Literal["asked"]
    id: UUID


class Failed(_Message):
    """The error of a request."""

    kind: ErrorKind
    message: str
    hint: str | None


class Replied(_Message):
    """The reply to a request.

    `owned` is false if the request concerns something that the sender does not have.
    """

    type: Literal["replied"] = "replied"
    id: UUID
    owned: bool = True
    value: JsonValue = None
    error: Failed | None = None


Message = Presence | StoreChanged | Asked | Replied
MESSAGE: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="type")])
