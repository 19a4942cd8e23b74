"""Lists, shows, renames, branches and deletes saved conversations."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from treadle.app.conversation_answers import (
    ListedSession,
    Session,
    conversation_answer,
    summary_answer,
)
from treadle.json_schemas import JsonOf
from treadle.server.state import CurrentServer

router = APIRouter(prefix="/sessions", tags=["sessions"])


class SessionPlace(TypedDict):
    """The part of a list, and whether there is more."""

    offset: int
    limit: int
    more: bool


class SessionPage(TypedDict):
    """The conversations about the repository, last changed first."""

    data: list[ListedSession]
    pagination: SessionPlace


class ListQuery(BaseModel):
    """The part of the list."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(50, ge=1, le=1_000)
    offset: int = Field(0, ge=0, le=1_000_000)
    token: str | None = Field(None, description="the server's token, if it has one")


class SessionChange(BaseModel):
    """The changes; fields that are absent stay."""

    model_config = ConfigDict(extra="forbid")

    title: str | None = Field(None, min_length=1, max_length=1_000)
    at: int | None = Field(None, ge=0, description="the message to continue from")


@router.get("")
async def sessions(
    server: CurrentServer, query: Annotated[ListQuery, Query()]
) -> JsonOf[SessionPage]:
    """The conversations, in the format of `sessions list --json`."""
    wanted = query.offset + query.limit
    found = await server.conversations.list(root=server.app.root, limit=wanted + 1)
    more = len(found) > wanted
    return {
        "data": [summary_answer(row) for row in found[query.offset : wanted]],
        "pagination": {"offset": query.offset, "limit": query.limit, "more": more},
    }


@router.get("/{session}")
async def show(server: CurrentServer, session: str) -> JsonOf[Session]:
    """All messages of all branches, in the format of `sessions export`."""
    conversation = await server.conversations.load(session, root=server.app.root)
    return conversation_answer(conversation, await server.conversations.tree(conversation))


@router.patch("/{session}")
async def change(server: CurrentServer, session: str, wanted: SessionChange) -> JsonOf[Session]:
    """Rename a conversation, or continue from another of its messages."""
    if wanted.title is not None:
        await server.conversations.rename(session, wanted.title, root=server.app.root)
    if wanted.at is not None:
        await server.conversations.branch(session, wanted.at, root=server.app.root)
    changed = await show(server, session)
    await server.announce_conversation(changed["id"])
    return changed


@router.delete("/{session}")
async def delete(server: CurrentServer, session: str) -> JsonOf[ListedSession]:
    """Permanently delete a conversation with all its branches."""
    gone = summary_answer(await server.conversations.delete(session, root=server.app.root))
    await server.announce_conversation(gone["id"], gone=True)
    return gone
