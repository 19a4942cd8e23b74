"""Routes that send messages, and follow, steer and cancel their turns."""

import asyncio
import json
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.assistant import Choices
from treadle.app.attachments import (
    MAX_ATTACHMENTS,
    MAX_TEXT_BYTES,
    Attachment,
    CodeAttachment,
    ItemAttachment,
    TextAttachment,
)
from treadle.app.conversation_answers import Failure, Final
from treadle.app.turns import Turn
from treadle.server.event_log import LoggedEvent
from treadle.server.event_shapes import any_event
from treadle.server.openapi import DocumentedAs, JsonOf
from treadle.server.responses import Taken
from treadle.server.state import CurrentServer
from treadle.spans.span_builder import call_span_id

router = APIRouter(prefix="/turns", tags=["turns"])


class AttachedLines(BaseModel):
    """Lines of a file below the root, or the whole file."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["code"]
    path: str = Field(min_length=1, max_length=4_096, description="relative to the root")
    first_line: int = Field(1, ge=1)
    last_line: int | None = Field(None, ge=1, description="inclusive; default: the last line")


class AttachedItem(BaseModel):
    """An item of the code index. `file` selects one of several items of that name."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["item"]
    name: str = Field(
        min_length=1, max_length=500, description="the canonical path or the end of it"
    )
    file: str | None = Field(None, max_length=4_096)


class AttachedPaste(BaseModel):
    """A text with a name, such as the output of a command."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["text"]
    name: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=MAX_TEXT_BYTES)


AttachmentBody = Annotated[
    AttachedLines | AttachedItem | AttachedPaste, Field(discriminator="kind")
]


class Begin(BaseModel):
    """A message, the conversation to continue, and the options of the turn."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=1_000_000)
    attachments: list[AttachmentBody] = Field([], max_length=MAX_ATTACHMENTS)
    session: str | None = Field(None, description='an id, a prefix of an id, or "last"')
    model: str | None = Field(None, description="PROVIDER/MODEL; default: the configured model")
    tools: bool = True
    stream: bool = True
    front_end: str | None = Field(None, description="the front end that runs the external tools")


class Steer(BaseModel):
    """Another message for the model's next request."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=1_000_000)


class State(StrEnum):
    """The state of a turn."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TurnAnswer(BaseModel):
    """A turn. `final` is the last line of `ask --json`, once the turn is done.

    An agent's turn has the name of the `agent` and a `conversation_id`. The assistant's turn has a
    `session_id`. Its events contain `request_id`, which is the id of its trace without the dashes.
    """

    request_id: UUID
    session_id: UUID | None
    agent: str | None
    conversation_id: UUID | None
    state: State
    final: JsonOf[Final] | None
    error: JsonOf[Failure] | None


class TurnEvents(BaseModel):
    """The events of a turn in order, as `GET /events` sends them.

    They do not contain the messages to the models. The trace contains those.
    """

    data: list[Annotated[Any, DocumentedAs(any_event)]]


class Cancelled(BaseModel):
    """Whether the turn was running or waiting."""

    cancelled: bool


class CallPlace(BaseModel):
    """The recorded span of a tool call, in the trace of the turn."""

    span_id: str


class TurnList(BaseModel):
    """The running and waiting turns, oldest first."""

    data: list[TurnAnswer]


@router.post("", status_code=202)
async def begin(server: CurrentServer, message: Begin) -> TurnAnswer:
    """Send a message. Its turn starts at once, or after the other turns of the conversation."""
    turn = await server.turns.start(
        message.text,
        session=message.session,
        attachments=[_attachment(each) for each in message.attachments],
        choices=Choices(message.model, tools=message.tools, stream=message.stream),
        front_end=message.front_end,
    )
    return turn_answer(turn)


@router.get("")
async def running(server: CurrentServer) -> TurnList:
    """The running and waiting turns."""
    return TurnList(data=[turn_answer(turn) for turn in server.turns.running()])


@router.get("/{request_id}")
async def show(
    server: CurrentServer, request_id: UUID, wait: Annotated[float, Query(ge=0, le=60)] = 0
) -> TurnAnswer:
    """A running or recently ended turn, after at most `wait` seconds for its end."""
    turn = server.turns.turn(request_id)
    await asyncio.wait({turn.task}, timeout=wait)
    return turn_answer(turn)


@router.get("/{request_id}/events")
async def replay(server: CurrentServer, request_id: UUID) -> TurnEvents:
    """The past events of a turn and of the agents that it called.

    A client that joins a running turn reads these first; later events have higher numbers. Events
    that the server no longer keeps are missing.
    """
    return TurnEvents(data=await asyncio.to_thread(_events, server.log.of_turn(request_id)))


@router.get("/{request_id}/calls/{turn}/{slot}")
async def call_place(
    request_id: UUID, turn: Annotated[int, Path(ge=0)], slot: Annotated[int, Path(ge=0)]
) -> CallPlace:
    """The span id of a call of that request, even if the request had no such call."""
    return CallPlace(span_id=call_span_id(request_id, turn, slot))


@router.post("/{request_id}/steer")
async def steer(server: CurrentServer, request_id: UUID, message: Steer) -> Taken:
    """Add a message to the model's next request; `taken` is false if it is too late."""
    return Taken(taken=await server.turns.steer(request_id, message.text))


@router.post("/{request_id}/cancel")
async def cancel(server: CurrentServer, request_id: UUID) -> Cancelled:
    """Cancel a turn; `cancelled` is false if it had ended."""
    return Cancelled(cancelled=server.turns.cancel(request_id))


def _attachment(body: AttachmentBody) -> Attachment:
    match body:
        case AttachedLines():
            return CodeAttachment(body.path, body.first_line, body.last_line)
        case AttachedItem():
            return ItemAttachment(body.name, body.file)
        case AttachedPaste():
            return TextAttachment(body.name, body.text)


def turn_answer(turn: Turn) -> TurnAnswer:
    """The current state of a turn."""
    answer = TurnAnswer(
        request_id=turn.request_id,
        session_id=turn.conversation_id if turn.agent is None else None,
        agent=turn.agent,
        conversation_id=None if turn.agent is None else turn.conversation_id,
        state=State.RUNNING,
        final=None,
        error=None,
    )
    if not turn.task.done():
        return answer
    if turn.task.cancelled():
        return answer.model_copy(update={"state": State.CANCELLED})
    if (error := turn.task.exception()) is not None:
        return answer.model_copy(update={"state": State.FAILED, "error": Failure.of(error)})
    final = Final.of(turn.task.result(), turn.request_id.hex)
    return answer.model_copy(update={"state": State.DONE, "final": final})


def _events(logged: list[LoggedEvent]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [json.loads(event.text) for event in logged]
    for event in events:
        if "input_text" in event:
            event["input_text"] = None
    return events
