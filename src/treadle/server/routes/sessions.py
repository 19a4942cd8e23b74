"""Routes that list, show, rename, branch and delete saved conversations with the assistant."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.choices import Choices
from treadle.app.context_choices import MAX_PINS, ChoicesChange, change_choices
from treadle.app.context_plan import ContextPlan
from treadle.app.conversation_answers import Session
from treadle.app.conversation_costs import recorded_costs
from treadle.app.modes import change_saved_mode
from treadle.app.turn_records import TurnRecord, turn_records
from treadle.events.types import Mode
from treadle.server.attachment_bodies import CodeBody, code_of
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import JsonOf
from treadle.server.responses import OffsetPagination
from treadle.server.routers import api_router
from treadle.session import ConversationSummary
from treadle.session.context_choices import ContextChoices

router = api_router("/sessions", "sessions")


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of the list of conversations about the repository, most recently changed first."""

    data: Sequence[ConversationSummary]
    pagination: OffsetPagination


class ListQuery(BaseModel):
    """The range of conversations to return. `offset` is the number of conversations to skip."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(50, ge=1, le=1_000)
    offset: int = Field(0, ge=0, le=1_000_000)
    token: str | None = Field(None, description="the server's token, if it has one")


class SessionChange(BaseModel):
    """The new title, mode and message to continue from. Absent fields do not change.

    A new mode applies to the next tool call, even in a running turn.
    """

    model_config = ConfigDict(extra="forbid")

    title: str | None = Field(None, min_length=1, max_length=1_000)
    at: int | None = Field(None, ge=0, description="the message to continue from")
    mode: Mode | None = None


class ContextQuery(BaseModel):
    """The next message, and the model for which the prompt is planned."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field("", max_length=100_000, description="the next message, if it is known")
    model: str | None = Field(None, description="PROVIDER/MODEL; default: the configured model")
    token: str | None = Field(None, description="the server's token, if it has one")


class ContextChange(BaseModel):
    """The code to pin, and what to leave out. An absent field keeps its value.

    A given list replaces the earlier list.
    """

    model_config = ConfigDict(extra="forbid")

    pinned: list[CodeBody] | None = Field(None, max_length=MAX_PINS)
    automatic_context: bool | None = None
    left_out: list[int] | None = Field(
        None, max_length=10_000, description="the numbers of your messages to leave out"
    )
    tools_left_out: list[str] | None = Field(None, max_length=1_000)


@dataclass(frozen=True, slots=True)
class ConversationCosts:
    """The recorded costs of conversations in US dollars, by conversation id, if they are known."""

    data: Mapping[UUID, float]


@dataclass(frozen=True, slots=True)
class TurnRecords:
    """The recorded usage, cost and sources of each turn, by turn id."""

    data: Mapping[UUID, TurnRecord]


@router.get("")
async def sessions(
    server: CurrentServer, query: Annotated[ListQuery, Query()]
) -> JsonOf[SessionPage]:
    """Return one page of the conversations in the format of `sessions list --json`."""
    end = query.offset + query.limit
    found = await server.conversations.list(root=server.app.root, limit=end + 1)
    page = OffsetPagination(query.offset, query.limit, more=len(found) > end)
    return SessionPage(found[query.offset : end], page)


@router.get("/costs")
async def costs(
    server: CurrentServer,
    id: Annotated[list[UUID], Query(max_length=1_000)],  # noqa: A002
) -> JsonOf[ConversationCosts]:
    """Return the recorded costs of conversations."""
    return ConversationCosts(await asyncio.to_thread(recorded_costs, server.traces, id))


@router.get("/{session}/turns")
async def recorded_turns(server: CurrentServer, session: str) -> JsonOf[TurnRecords]:
    """Return the recorded turns of a conversation and of the agents that answered in it."""
    conversation = await server.conversations.load(session, root=server.app.root)
    return TurnRecords(await turn_records(server.traces, server.conversations, conversation.id))


@router.get("/{session}")
async def show(server: CurrentServer, session: str) -> JsonOf[Session]:
    """Return every message of every branch in the format of `sessions export`.

    `session` is an id, a prefix of an id, or `last`.
    """
    return await server.app.conversations.show(session)


@router.patch("/{session}")
async def change(server: CurrentServer, session: str, changes: SessionChange) -> JsonOf[Session]:
    """Change the title or the mode of a conversation, or the message from which it continues."""
    if changes.title is not None:
        await server.app.conversations.rename(session, changes.title)
    if changes.at is not None:
        await server.app.conversations.branch(session, changes.at)
    if changes.mode is not None:
        await change_saved_mode(server.app, session, changes.mode)
    return await server.app.conversations.show(session)


@router.get("/{session}/context")
async def context(
    server: CurrentServer, session: str, query: Annotated[ContextQuery, Query()]
) -> JsonOf[ContextPlan]:
    """Return the content of the next prompt by section, and what it leaves out.

    No model is asked.
    """
    return await server.turns.plan(session, text=query.text, choices=Choices(query.model))


@router.patch("/{session}/context")
async def change_context(
    server: CurrentServer, session: str, change: ContextChange
) -> JsonOf[ContextChoices]:
    """Pin code, and leave out exchanges, tools or the automatic context from the next message on.

    The answer has all choices of the conversation.
    """
    changed = await change_choices(
        server.app,
        session,
        ChoicesChange(
            None if change.pinned is None else tuple(map(code_of, change.pinned)),
            change.automatic_context,
            None if change.left_out is None else frozenset(change.left_out),
            None if change.tools_left_out is None else frozenset(change.tools_left_out),
        ),
    )
    return changed.choices


@router.delete("/{session}")
async def delete(server: CurrentServer, session: str) -> JsonOf[ConversationSummary]:
    """Delete a conversation with all its branches."""
    return await server.app.conversations.delete(session)
