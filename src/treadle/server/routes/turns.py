"""Starts turns with messages, and shows, steers and cancels them."""

import asyncio
import json
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from treadle.app.answer_shapes import Failure, Final
from treadle.app.answers import outcome_answer
from treadle.app.assistant import Choices
from treadle.errors import TreadleError
from treadle.json_schemas import DocumentedAs, JsonOf
from treadle.server.event_log import LoggedEvent
from treadle.server.event_shapes import any_event
from treadle.server.responses import Taken
from treadle.server.state import CurrentServer
from treadle.server.turns import Turn
from treadle.spans.span_builder import call_span_id

router = APIRouter(prefix="/turns", tags=["turns"])


class Begin(BaseModel):
    """A message, the conversation to continue, and how it is served."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=1_000_000)
    session: str | None = Field(None, description='an id, the beginning of one, or "last"')
    model: str | None = Field(None, description="PROVIDER/MODEL; default: the configured model")
    tools: bool = True
    stream: bool = True
    front_end: str | None = Field(None, description="the front end that runs the external tools")


class Steer(BaseModel):
    """A further message, sent with the next request to the model."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=1_000_000)


class State(StrEnum):
    """The state of a turn."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TurnAnswer(BaseModel):
    """A turn. `final` is the last event of `ask --json`, once the turn is done.

    A turn of an agent has `agent` and `conversation_id`, a turn of the assistant has `session_id`.
    Its events have `request_id`, which without dashes is also the id of its trace.
    """

    request_id: UUID
    session_id: UUID | None
    agent: str | None
    conversation_id: UUID | None
    state: State
    final: JsonOf[Final] | None
    error: JsonOf[Failure] | None


class TurnEvents(BaseModel):
    """The events of a turn, in order, in the format of `GET /events`.

    The messages to the models are left out. The trace has them.
    """

    data: list[Annotated[Any, DocumentedAs(any_event)]]


class Cancelled(TypedDict):
    """Whether the turn still ran."""

    cancelled: bool


class CallPlace(BaseModel):
    """The span of a tool call, in the trace of the turn."""

    span_id: str


class TurnList(BaseModel):
    """The turns that run or wait, oldest first."""

    data: list[TurnAnswer]


@router.post("", status_code=202)
async def begin(server: CurrentServer, message: Begin) -> TurnAnswer:
    """Send a message. Its turn starts when its conversation is free."""
    turn = await server.turns.start(
        message.text,
        session=message.session,
        choices=Choices(message.model, tools=message.tools, stream=message.stream),
        front_end=message.front_end,
    )
    return turn_answer(turn)


@router.get("")
async def running(server: CurrentServer) -> TurnList:
    """The turns that run or wait."""
    return TurnList(data=[turn_answer(turn) for turn in server.turns.running()])


@router.get("/{request_id}")
async def show(
    server: CurrentServer, request_id: UUID, wait: Annotated[float, Query(ge=0, le=60)] = 0
) -> TurnAnswer:
    """A turn that runs or has ended recently. Waits up to `wait` seconds for its end."""
    turn = server.turns.turn(request_id)
    await asyncio.wait({turn.task}, timeout=wait)
    return turn_answer(turn)


@router.get("/{request_id}/events")
async def replay(server: CurrentServer, request_id: UUID) -> TurnEvents:
    """The events so far, including those of called agents.

    A client that joins a running turn starts here; further events have higher numbers. The
    beginning is missing if the server has dropped it.
    """
    return TurnEvents(data=await asyncio.to_thread(_events, server.log.of_turn(request_id)))


@router.get("/{request_id}/calls/{turn}/{slot}")
async def call_place(
    request_id: UUID, turn: Annotated[int, Path(ge=0)], slot: Annotated[int, Path(ge=0)]
) -> CallPlace:
    """The id of the span of a tool call, whether or not the call exists."""
    return CallPlace(span_id=call_span_id(request_id, turn, slot))


@router.post("/{request_id}/steer")
async def steer(server: CurrentServer, request_id: UUID, message: Steer) -> Taken:
    """Send a further message with the next request to the model, if it is not too late."""
    return {"taken": await server.turns.steer(request_id, message.text)}


@router.post("/{request_id}/cancel")
async def cancel(server: CurrentServer, request_id: UUID) -> Cancelled:
    """Cancel a turn. `cancelled` is false if it has ended."""
    return {"cancelled": server.turns.cancel(request_id)}


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
        return answer.model_copy(update={"state": State.FAILED, "error": _told(error)})
    final = outcome_answer(turn.task.result(), turn.request_id.hex)
    return answer.model_copy(update={"state": State.DONE, "final": final})


def _events(logged: list[LoggedEvent]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [json.loads(event.text) for event in logged]
    for event in events:
        if "input_text" in event:
            event["input_text"] = None
    return events


def _told(error: BaseException) -> Failure:
    if isinstance(error, TreadleError):
        return {"message": error.message, "hint": error.hint}
    return {"message": f"Unexpected {type(error).__name__}.", "hint": None}
