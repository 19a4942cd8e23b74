"""Routes that send messages to the assistant, and that follow, steer and cancel turns.

In these routes, a turn is the processing of one message or question until its answer.
"""

import asyncio
from typing import Annotated, Any
from uuid import UUID

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.attachments import MAX_ATTACHMENTS
from treadle.app.choices import Choices
from treadle.app.context_plan import ContextPlan
from treadle.server.attachment_bodies import AttachmentBody, attachment_of
from treadle.server.current_project import CurrentServer
from treadle.server.event_log import event_records
from treadle.server.event_shapes import any_event
from treadle.server.openapi import DocumentedAs, JsonOf
from treadle.server.other_servers import OtherServers
from treadle.server.responses import Taken
from treadle.server.routers import api_router
from treadle.server.state import ServerState
from treadle.server.turn_json import Begin, TurnAnswer, start_turn, turn_answer
from treadle.spans.span_builder import call_span_id

router = api_router("/turns", "turns")


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

    The turn starts when the earlier turns of its conversation have ended. A server that runs one of
    them therefore also runs the new turn.
    """
    if message.session is not None and server.others is not None:
        root = server.app.root
        conversation = await server.conversations.get(message.session, root=root)
        elsewhere = await server.others.start_turn(conversation.id, message)
        if elsewhere is not None:
            return TurnAnswer.model_validate(elsewhere)
    return turn_answer(await start_turn(server.turns, message))


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
    found = [turn_answer(turn) for turn in server.turns.running()]
    if server.others is not None:
        found += map(TurnAnswer.model_validate, await server.others.running_turns())
        found.sort(key=lambda turn: turn.request_id)  # the ids sort by time
    return TurnList(data=found)


@router.get("/{request_id}")
async def show(
    server: CurrentServer, request_id: UUID, wait: Annotated[float, Query(ge=0, le=60)] = 0
) -> TurnAnswer:
    """Return a turn that is running or ended recently.

    The server first waits until the turn ends, but at most `wait` seconds.
    """
    if (others := _others(server, request_id)) is not None:
        elsewhere = await others.show_turn(request_id, wait)
        if elsewhere is not None:
            return TurnAnswer.model_validate(elsewhere)
    turn = server.turns.turn(request_id)
    await asyncio.wait({turn.task}, timeout=wait)
    return turn_answer(turn)


@router.get("/{request_id}/events")
async def replay(server: CurrentServer, request_id: UUID) -> TurnEvents:
    """Return the past events of a turn and of the agents that it called.

    A client that joins a running turn reads these events first. All later events have higher
    numbers. Events that the server has already dropped are missing. The events of a turn at another
    server have the number of that server in `origin_seq`.
    """
    if (others := _others(server, request_id)) is not None:
        elsewhere = await others.replay_turn(request_id)
        if elsewhere is not None:
            begin = server.log.begin
            data = [{**each, "seq": begin, "origin_seq": each["seq"]} for each in elsewhere]
            return TurnEvents(data=data)
    return TurnEvents(data=await asyncio.to_thread(event_records, server.log.of_turn(request_id)))


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
    if (others := _others(server, request_id)) is not None:
        elsewhere = await others.steer_turn(request_id, message.text)
        if elsewhere is not None:
            return Taken(taken=elsewhere)
    return Taken(taken=await server.turns.steer(request_id, message.text))


@router.post("/{request_id}/cancel")
async def cancel(server: CurrentServer, request_id: UUID) -> Cancelled:
    """Cancel a turn. `cancelled` is false if the turn had already ended."""
    if (others := _others(server, request_id)) is not None:
        elsewhere = await others.cancel_turn(request_id)
        if elsewhere is not None:
            return Cancelled(cancelled=elsewhere)
    return Cancelled(cancelled=server.turns.cancel(request_id))


def _others(server: ServerState, request_id: UUID) -> OtherServers | None:
    """Return the other servers, or None if the turn is at this server."""
    return server.others if server.turns.find(request_id) is None else None
