"""Routes that list the agents and send questions to them."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from treadle.agents.definitions import Origin
from treadle.agents.page_context import PageContext
from treadle.errors import NotFoundError
from treadle.server.current_project import CurrentServer
from treadle.server.routes.ui import PageId
from treadle.server.turn_json import TurnAnswer, turn_answer
from treadle.ui.state import Change

router = APIRouter(prefix="/agents", tags=["agents"])


class ListedAgent(BaseModel):
    """The definition of an agent, without its prompt.

    `origin` states where the definition comes from. `tools`, `external_tools` and `agents` contain
    the names of the tools and agents that the agent may call.
    """

    name: str
    description: str
    origin: Origin
    model: str | None
    tools: tuple[str, ...]
    external_tools: tuple[str, ...]
    agents: tuple[str, ...]
    limits: dict[str, Any]


class AgentList(BaseModel):
    """All agents, sorted by name.

    Each of the `warnings` names an agent definition that the server ignored, and states why.
    """

    data: list[ListedAgent]
    warnings: tuple[str, ...]


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


@router.get("")
async def agents(server: CurrentServer) -> AgentList:
    """Return all available agents."""
    return AgentList(
        data=[
            ListedAgent(origin=agent.origin, **agent.header.model_dump(mode="json"))
            for _, agent in sorted(server.agents.agents.items())
        ],
        warnings=server.agents.warnings,
    )


@router.post("/{name}/ask", status_code=202)
async def ask(
    server: CurrentServer, name: Annotated[str, Path(min_length=1, max_length=100)], question: Ask
) -> TurnAnswer:
    """Ask an agent a question, and return the started turn without waiting for the answer.

    `GET /turns/{request_id}` returns the state of the turn. `GET /events` sends its events.
    """
    if name not in server.agents.agents:
        raise NotFoundError(f"There is no agent {name!r}.", hint="GET /api/v1/agents lists them.")
    if question.page_id is not None:
        await server.ui.change(Change(), by=question.page_id)  # marks the page as the last used one
    turn = await server.turns.start_question(
        question.question,
        question.context,
        agent=name,
        conversation=question.conversation,
        asked_in=question.asked_in,
        model=question.model,
        stream=question.stream,
        front_end=question.front_end,
    )
    return turn_answer(turn)
