"""Saved conversations with agents: listed, shown, named and deleted."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from treadle.app.agent_conversations import AgentConversation, ListedConversation, listed, told
from treadle.json_schemas import json_responses
from treadle.server.answering import answered
from treadle.server.house import House, Opened
from treadle.session import Kind

router = APIRouter(prefix="/agents/conversations", tags=["agents"])


class Place(TypedDict):
    """Which part of a list is given, and whether there is more."""

    offset: int
    limit: int
    more: bool


class ConversationList(TypedDict):
    """The conversations with agents about the repository, changed last first."""

    data: list[ListedConversation]
    pagination: Place


class Renaming(BaseModel):
    """Another title."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=1_000)


@router.get("", response_class=Response, responses=json_responses(ConversationList))
async def conversations(
    house: Opened,
    request: Request,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """What was asked of agents, the newest first."""
    most = offset + limit + 1
    found = await house.conversations.list(root=house.app.root, limit=most, kind=Kind.AGENT)
    data = [listed(row) for row in found[offset : most - 1]]
    place = Place(offset=offset, limit=limit, more=len(found) == most)
    return await answered(request, lambda: ConversationList(data=data, pagination=place))


@router.get("/{conversation}", response_class=Response, responses=json_responses(AgentConversation))
async def show(house: Opened, request: Request, conversation: str) -> Response:
    """One with all its questions, calls and answers: an id, the beginning of one, or `last`."""
    return await _shown(house, request, conversation)


@router.patch(
    "/{conversation}", response_class=Response, responses=json_responses(AgentConversation)
)
async def rename(house: Opened, request: Request, conversation: str, wanted: Renaming) -> Response:
    """Give it another title."""
    root = house.app.root
    named = await house.conversations.rename(conversation, wanted.title, root=root, kind=Kind.AGENT)
    await house.announce_conversation(str(named.id))
    return await _shown(house, request, conversation)


@router.delete("/{conversation}", status_code=204)
async def delete(house: Opened, conversation: str) -> None:
    """Take it out for good; what is recorded of it stays."""
    root = house.app.root
    gone = await house.conversations.delete(conversation, root=root, kind=Kind.AGENT)
    await house.announce_conversation(str(gone.id), gone=True)


async def _shown(house: House, request: Request, reference: str) -> Response:
    root = house.app.root
    row = await house.conversations.get(reference, root=root, kind=Kind.AGENT)
    whole = await house.conversations.load(str(row.id), root=root, kind=Kind.AGENT)
    return await answered(request, lambda: told(row, whole))
