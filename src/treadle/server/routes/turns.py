"""Routes that send messages to the assistant, and that follow, steer and cancel turns.

In these routes, a turn is the processing of one message or question until its answer.
"""

import asyncio
import json
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.attachments import MAX_ATTACHMENTS
from treadle.app.choices import Choices
from treadle.app.context_plan import ContextPlan
from treadle.app.conversation_answers import Failure, Final
from treadle.app.turns import Turn
from treadle.server.attachment_bodies import AttachmentBody, attachment_of
from treadle.server.current_project import CurrentServer
from treadle.server.event_log import LoggedEvent
from treadle.server.event_shapes import any_event
from treadle.server.openapi import DocumentedAs, JsonOf
from treadle.server.responses import Taken
from treadle.spans.span_builder import call_span_id

router = APIRouter(prefix="/turns", tags=["turns"])


class Begin(BaseModel):
    """The body of a request that sends a message to the assistant.

    `session` is the conversation to continue. Null starts a new conversation. Without `tools`, the
    model cannot call tools. With `stream`, the events contain the reply while the model writes it.
    """

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=1_000_000)
    attachments: list[AttachmentBody] = Field([], max_length=MAX_ATTACHMENTS)
    session: str | None = Field(None, description='an id, a prefix of an id, or "last"')
    model: str | None = Field(None, description="PROVIDER/MODEL; default: the configured model")
    tools: bool = True
    stream: bool = True
    front_end: str | None = Field(None, description="the front end that runs the external tools")


class PlanRequest(BaseModel):
    """The body of a request for the plan of the next prompt. See `Begin` for the fields."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field("", max_length=1_000_000)
    attachments: list[AttachmentBody] = Field([], max_length=MAX_ATTACHMENTS)
    session: str | None = Field(None, description='an id, a prefix of an id, or "last"')
    model: str | None = Field(None, description="PROVIDER/MODEL; default: the configured model")
    tools: bool = True


class Steer(BaseModel):
    """A message that a running turn adds to the model's next request."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=1_000_000)


class State(StrEnum):
    """The state of a turn. A turn that waits for other turns is also `running`."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TurnAnswer(BaseModel):
    """A turn of the assistant or of an agent.

    `request_id` identifies the turn, and its events contain it. Without its dashes it is the trace
    id. A turn of the assistant has a `session_id`. A turn of an agent has the name of the `agent`
    and a `conversation_id`. When the turn is done, `final` is the last line that `ask --json`
    prints.
    """

    request_id: UUID
    session_id: UUID | None
    agent: str | None
    conversation_id: UUID | None
    state: State
    final: JsonOf[Final] | None
    error: JsonOf[Failure] | None


class TurnEvents(BaseModel):
    """The past events of a turn in chronological order, in the format of `GET /events`.

    `input_text` is null: the events omit the messages to the models. The trace contains these
    messages.
    """

    data: list[Annotated[Any, DocumentedAs(any_event)]]


class Cancelled(BaseModel):
    """The result of a cancellation. `cancelled` is false if the turn had already ended."""

    cancelled: bool


class CallPlace(BaseModel):
    """The id of the recorded span of a tool call."""

    span_id: str


class TurnList(BaseModel):
    """All turns that are running or waiting, oldest first."""

    data: list[TurnAnswer]


@router.post("", status_code=202)
async def begin(server: CurrentServer, message: Begin) -> TurnAnswer:
    """Send a message to the assistant, and return its turn without waiting for the answer.

    The turn starts when the earlier turns of its conversation have ended.
    """
    turn = await server.turns.start(
        message.text,
        session=message.session,
        attachments=[attachment_of(each) for each in message.attachments],
        choices=Choices(message.model, tools=message.tools, stream=message.stream),
        front_end=message.front_end,
    )
    return turn_answer(turn)


@router.post("/plan")
async def plan(server: CurrentServer, message: PlanRequest) -> JsonOf[ContextPlan]:
    """Return the content of the next prompt by section, and what it leaves out.

    No model is asked, and no turn starts.
    """
    return await server.turns.plan(
        message.session,
        text=message.text,
        attachments=[attachment_of(each) for each in message.attachments],
        choices=Choices(message.model, tools=message.tools),
    )


@router.get("")
async def running(server: CurrentServer) -> TurnList:
    """Return the turns that are running or waiting, oldest first."""
    return TurnList(data=[turn_answer(turn) for turn in server.turns.running()])


@router.get("/{request_id}")
async def show(
    server: CurrentServer, request_id: UUID, wait: Annotated[float, Query(ge=0, le=60)] = 0
) -> TurnAnswer:
    """Return a turn that is running or ended recently.

    The server first waits until the turn ends, but at most `wait` seconds.
    """
    turn = server.turns.turn(request_id)
    await asyncio.wait({turn.task}, timeout=wait)
    return turn_answer(turn)


@router.get("/{request_id}/events")
async def replay(server: CurrentServer, request_id: UUID) -> TurnEvents:
    """Return the past events of a turn and of the agents that it called.

    A client that joins a running turn reads these events first. All later events have higher
    numbers. Events that the server has already dropped are missing.
    """
    return TurnEvents(data=await asyncio.to_thread(_events, server.log.of_turn(request_id)))


@router.get("/{request_id}/calls/{turn}/{slot}")
async def call_place(
    request_id: UUID, turn: Annotated[int, Path(ge=0)], slot: Annotated[int, Path(ge=0)]
) -> CallPlace:
    """Return the span id of a tool call.

    The server computes the id without checking that the call exists.
    """
    return CallPlace(span_id=call_span_id(request_id, turn, slot))


@router.post("/{request_id}/steer")
async def steer(server: CurrentServer, request_id: UUID, message: Steer) -> Taken:
    """Add a message to the model's next request.

    `taken` is false if the turn waits, has ended, or belongs to an agent.
    """
    return Taken(taken=await server.turns.steer(request_id, message.text))


@router.post("/{request_id}/cancel")
async def cancel(server: CurrentServer, request_id: UUID) -> Cancelled:
    """Cancel a turn. `cancelled` is false if the turn had already ended."""
    return Cancelled(cancelled=server.turns.cancel(request_id))


def turn_answer(turn: Turn) -> TurnAnswer:
    """Return the current state of a turn in its JSON form."""
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
