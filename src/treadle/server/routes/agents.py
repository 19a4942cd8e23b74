"""Routes that list the agents and send questions to them."""

from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel

from treadle.agents.definitions import Origin
from treadle.errors import NotFoundError
from treadle.server.current_project import CurrentServer
from treadle.server.routers import api_router
from treadle.server.turn_json import Ask, TurnAnswer, start_question, turn_answer
from treadle.session import Kind
from treadle.ui.state import Change

router = api_router("/agents", "agents")


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

    `GET /turns/{request_id}` returns the state of the turn. `GET /events` sends its events. The
    agent answers the questions of a conversation one after another. A server that answers an
    earlier one therefore also answers the new one.
    """
    if name not in server.agents.agents:
        raise NotFoundError(f"There is no agent {name!r}.", hint="GET /api/v1/agents lists them.")
    if question.page_id is not None:
        await server.ui.change(Change(), by=question.page_id)  # marks the page as the last used one
    if question.conversation is not None and server.others is not None:
        conversation = await server.conversations.get(
            question.conversation, root=server.app.root, kind=Kind.AGENT
        )
        elsewhere = await server.others.start_question(conversation.id, name, question)
        if elsewhere is not None:
            return TurnAnswer.model_validate(elsewhere)
    return turn_answer(await start_question(server.turns, name, question))
