"""The JSON form of a turn, which the routes return and other servers receive."""

from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel

from treadle.app.conversation_answers import Failure, Final
from treadle.app.turns import Turn
from treadle.server.openapi import JsonOf


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
