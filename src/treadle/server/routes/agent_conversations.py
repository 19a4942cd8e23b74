"""Routes that list, show, rename and delete saved conversations with agents."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from treadle.server.agent_exchanges import AgentConversation, ListedConversation
from treadle.server.openapi import JsonOf, json_responses
from treadle.server.responses import OffsetPagination, json_response
from treadle.server.state import CurrentServer, ServerState
from treadle.session import Kind

router = APIRouter(prefix="/agents/conversations", tags=["agents"])


@dataclass(frozen=True, slots=True)
class ConversationList:
    """The conversations with agents about the repository, most recently changed first."""

    data: list[ListedConversation]
    pagination: OffsetPagination


class Renaming(BaseModel):
    """The new title."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=1_000)


@router.get("")
async def conversations(
    server: CurrentServer,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> JsonOf[ConversationList]:
    """A page of the conversations with agents, newest first."""
    end = offset + limit
    found = await server.conversations.list(root=server.app.root, limit=end + 1, kind=Kind.AGENT)
    data = [ListedConversation.of(row) for row in found[offset:end]]
    return ConversationList(data, OffsetPagination(offset, limit, more=len(found) > end))


@router.get("/{conversation}", response_class=Response, responses=json_responses(AgentConversation))
async def show(server: CurrentServer, request: Request, conversation: str) -> Response:
    """A conversation with its questions, calls and answers, by id, prefix of an id or `last`."""
    return await _shown(server, request, conversation)


@router.patch(
    "/{conversation}", response_class=Response, responses=json_responses(AgentConversation)
)
async def rename(
    server: CurrentServer, request: Request, conversation: str, given: Renaming
) -> Response:
    """Change the title."""
    root = server.app.root
    named = await server.conversations.rename(conversation, given.title, root=root, kind=Kind.AGENT)
    await server.announce_conversation(str(named.id))
    return await _shown(server, request, conversation)


@router.delete("/{conversation}", status_code=204)
async def delete(server: CurrentServer, conversation: str) -> None:
    """Delete a conversation. Its recorded spans stay."""
    root = server.app.root
    deleted = await server.conversations.delete(conversation, root=root, kind=Kind.AGENT)
    await server.announce_conversation(str(deleted.id), gone=True)


async def _shown(server: ServerState, request: Request, reference: str) -> Response:
    root = server.app.root
    row = await server.conversations.get(reference, root=root, kind=Kind.AGENT)
    loaded = await server.conversations.load(str(row.id), root=root, kind=Kind.AGENT)
    return await json_response(request, lambda: AgentConversation.of(row, loaded))
