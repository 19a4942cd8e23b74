"""The JSON of turns, and of the messages that start them. Clients and other servers use it."""

from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from treadle.agents.page_context import PageContext
from treadle.app.attachments import MAX_ATTACHMENTS
from treadle.app.choices import Choices
from treadle.app.conversation_answers import Failure, Final
from treadle.app.turns import Turn, Turns
from treadle.events.types import Mode
from treadle.server.attachment_bodies import AttachmentBody, attachment_of
from treadle.server.openapi import JsonOf
from treadle.ui.messages import PageId


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
    mode: Mode | None = Field(
        None, description="the new mode of the conversation; default: it keeps its mode"
    )
    front_end: str | None = Field(None, description="the front end that runs the external tools")


class Ask(BaseModel):
    """The body of a request that asks an agent a question.

    `context` describes what the user's page shows. With `stream`, the events contain the reply
    while the model writes it.
    """

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=1_000_000)
    context: PageContext = PageContext()
    model: str | None = Field(None, description="PROVIDER/MODEL; default: the configured model")
    conversation: str | None = Field(
        None, description='the conversation to continue: an id, a prefix of an id, or "last"'
    )
    asked_in: UUID | None = Field(
        None, description="the conversation with the assistant that shows the question"
    )
    stream: bool = True
    front_end: str | None = Field(None, description="the front end that runs the external tools")
    page_id: PageId | None = Field(
        None, description="the page that sends the question; it shows the answer"
    )


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


async def start_turn(turns: Turns, message: Begin) -> Turn:
    """Start the turn of a message. Raises the errors of `Turns.start`."""
    return await turns.start(
        message.text,
        session=message.session,
        attachments=[attachment_of(each) for each in message.attachments],
        choices=Choices(message.model, tools=message.tools, stream=message.stream),
        mode=message.mode,
        front_end=message.front_end,
    )


async def start_question(turns: Turns, agent: str, question: Ask) -> Turn:
    """Start the turn of a question to an agent. Raises the errors of `Turns.start_question`."""
    return await turns.start_question(
        question.question,
        question.context,
        agent=agent,
        conversation=question.conversation,
        asked_in=question.asked_in,
        model=question.model,
        stream=question.stream,
        front_end=question.front_end,
    )
