"""Routes for approval questions. Each question asks a person to allow or deny a tool call."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.permissions import Choice, Permissions
from treadle.events.encoding import plain
from treadle.events.types import ApprovalRequested, ApprovalScope
from treadle.json_records import from_json
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import DocumentedAs, JsonOf
from treadle.server.request_identity import describe_action, withdraw_action
from treadle.server.responses import Taken
from treadle.server.routers import api_router

router = api_router("/approvals", "approvals")


class Scope(StrEnum):
    """The answer: allow the call once, allow it for the session, always allow it, or deny it."""

    ONCE = ApprovalScope.ONCE.value
    SESSION = ApprovalScope.SESSION.value
    ALWAYS = ApprovalScope.ALWAYS.value
    DENIED = ApprovalScope.DENIED.value


class Answer(BaseModel):
    """The body of a request that answers an approval question.

    If the answer denies the call, the model receives the text in `words`.
    """

    model_config = ConfigDict(extra="forbid")

    scope: Scope
    words: str | None = Field(None, max_length=10_000)


class Pending(BaseModel):
    """All unanswered approval questions, oldest first.

    Each question has the format of the event `ApprovalRequested`.
    """

    data: list[Annotated[Any, DocumentedAs(ApprovalRequested)]]


@dataclass(frozen=True, slots=True)
class ChoiceList:
    """The possible answers to a question."""

    data: Sequence[Choice]


@router.get("")
async def pending(server: CurrentServer) -> Pending:
    """Return the unanswered approval questions.

    The server asks questions only while a client receives the events with `approve=true`. Without
    such a client, the list is empty.
    """
    found = [plain(event) for event in server.app.approvals.pending()]
    if server.others is not None:
        found += await server.others.approval_questions()
    return Pending(data=found)


@router.post("/{approval_id}")
async def answer(server: CurrentServer, request: Request, approval_id: UUID, body: Answer) -> Taken:
    """Answer an approval question.

    `taken` is false if the question was already answered or withdrawn.
    """
    describe_action(request, body.scope.value)
    scope = ApprovalScope(body.scope.value)
    taken = server.app.approvals.answer(approval_id, scope, body.words)
    if not taken and server.others is not None:
        taken = await server.others.answer_approval(approval_id, scope, body.words)
    if not taken:
        withdraw_action(request)
    return Taken(taken=taken)


@router.get("/{approval_id}/choices")
async def choices(server: CurrentServer, approval_id: UUID) -> JsonOf[ChoiceList]:
    """Return the possible answers to a waiting question. Each answer states what it allows."""
    if server.others is not None and server.app.approvals.required(approval_id) is None:
        elsewhere = await server.others.approval_choices(approval_id)
        if elsewhere is not None:
            return ChoiceList(from_json(list[Choice], elsewhere))
    return ChoiceList(Permissions(server.app).choices(approval_id))
