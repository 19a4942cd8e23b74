"""Lists, shows, renames and deletes saved conversations with agents."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from treadle.json_schemas import json_responses
from treadle.server.agent_exchanges import AgentConversation, ListedConversation, listed, told
from treadle.server.responses import json_response
from treadle.server.state import CurrentServer, ServerState
from treadle.session import Kind

router = APIRouter(prefix="/agents/conversations", tags=["agents"])


class Place(TypedDict):
    """The part of a list, and whether there is more."""

    offset: int
    limit: int
    more: bool


class ConversationList(TypedDict):
    """The conversations with agents about the repository, last changed first."""

    data: list[ListedConversation]
    pagination: Place


class Renaming(BaseModel):
    """The new title."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=1_000)


@router.get("", response_class=Response, responses=json_responses(ConversationList))
async def conversations(
    server: CurrentServer,
    request: Request,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """The conversations with agents, last changed first."""
    most = offset + limit + 1
    found = await server.conversations.list(root=server.app.root, limit=most, kind=Kind.AGENT)
    data = [listed(row) for row in found[offset : most - 1]]
    place = Place(offset=offset, limit=limit, more=len(found) == most)
    return await json_response(request, lambda: ConversationList(data=data, pagination=place))


@router.get("/{conversation}", response_class=Response, responses=json_responses(AgentConversation))
async def show(server: CurrentServer, request: Request, conversation: str) -> Response:
    """A conversation with its questions, calls and answers, by id, id prefix or `last`."""
    return await _shown(server, request, conversation)


@router.patch(
    "/{conversation}", response_class=Response, responses=json_responses(AgentConversation)
)
async def rename(
    server: CurrentServer, request: Request, conversation: str, wanted: Renaming
) -> Response:
    """Rename a conversation."""
    root = server.app.root
    named = await server.conversations.rename(
        conversation, wanted.title, root=root, kind=Kind.AGENT
    )
    await server.announce_conversation(str(named.id))
    return await _shown(server, request, conversation)


@router.delete("/{conversation}", status_code=204)
async def delete(server: CurrentServer, conversation: str) -> None:
    """Permanently delete a conversation. Its traces stay."""
    root = server.app.root
    gone = await server.conversations.delete(conversation, root=root, kind=Kind.AGENT)
    await server.announce_conversation(str(gone.id), gone=True)


async def _shown(server: ServerState, request: Request, reference: str) -> Response:
    root = server.app.root
    row = await server.conversations.get(reference, root=root, kind=Kind.AGENT)
    whole = await server.conversations.load(str(row.id), root=root, kind=Kind.AGENT)
    return await json_response(request, lambda: told(row, whole))
