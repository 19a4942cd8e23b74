"""The approvals that wait for a person."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from treadle.events.encoding import plain
from treadle.events.types import ApprovalRequested, ApprovalScope
from treadle.server.openapi import DocumentedAs
from treadle.server.responses import Taken
from treadle.server.state import CurrentServer

router = APIRouter(prefix="/approvals", tags=["approvals"])


class Scope(StrEnum):
    """The validity of the answer."""

    ONCE = ApprovalScope.ONCE.value
    SESSION = ApprovalScope.SESSION.value
    ALWAYS = ApprovalScope.ALWAYS.value
    DENIED = ApprovalScope.DENIED.value


class Answer(BaseModel):
    """The answer of the person. The model receives the `words` of a denial."""

    model_config = ConfigDict(extra="forbid")

    scope: Scope
    words: str | None = Field(None, max_length=10_000)


class Pending(BaseModel):
    """The waiting questions, oldest first, in the format of the event `ApprovalRequested`."""

    data: list[Annotated[Any, DocumentedAs(ApprovalRequested)]]


@router.get("")
async def pending(server: CurrentServer) -> Pending:
    """The waiting questions. None wait unless a client follows the events with `approve=true`."""
    return Pending(data=[plain(event) for event in server.app.approvals.pending()])


@router.post("/{approval_id}")
async def answer(server: CurrentServer, approval_id: UUID, body: Answer) -> Taken:
    """Answer a question. `taken` is false if it no longer waits."""
    scope = ApprovalScope(body.scope.value)
    return Taken(taken=server.app.approvals.answer(approval_id, scope, body.words))
