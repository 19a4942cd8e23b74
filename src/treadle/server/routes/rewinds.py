"""Routes that rewind a conversation to an earlier prompt, and that undo a rewind."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.rewind import Rewinds
from treadle.app.rewind_plan import RewindOutcome, RewindPlan, UndoRewindPlan
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import JsonOf
from treadle.server.routers import api_router
from treadle.session.rewinds import RewindScope

router = api_router("/sessions/{session}/rewind", "sessions")


class RewindRequest(BaseModel):
    """The prompt to go back to, and whether the conversation, the code or both go back.

    Later edits may prevent the change of a file. With `keep_changed`, such a file stays as it is.
    Without it, such a file is an error, and nothing changes.
    """

    model_config = ConfigDict(extra="forbid")

    prompt: int = Field(ge=0, description="the number of a user message of the current branch")
    scope: RewindScope = RewindScope.BOTH
    keep_changed: bool = False


@router.get("")
async def plan(
    server: CurrentServer,
    session: str,
    prompt: Annotated[int, Query(ge=0)],
    scope: RewindScope = RewindScope.BOTH,
) -> JsonOf[RewindPlan]:
    """Return the effects of a rewind to the message `prompt`. This changes nothing."""
    return await Rewinds(server.app).plan_rewind(session, prompt, scope)


@router.post("")
async def rewind(server: CurrentServer, session: str, body: RewindRequest) -> JsonOf[RewindOutcome]:
    """Go back to the state before a prompt. The later messages stay as another branch."""
    return await Rewinds(server.app).rewind(
        session, body.prompt, body.scope, keep_changed=body.keep_changed
    )


@router.get("/undo")
async def undo_plan(server: CurrentServer, session: str) -> JsonOf[UndoRewindPlan]:
    """Return the effects of undoing the newest rewind. This changes nothing."""
    return await Rewinds(server.app).plan_undo(session)


@router.post("/undo")
async def undo(
    server: CurrentServer, session: str, keep_changed: bool = False
) -> JsonOf[RewindOutcome]:
    """Undo the newest rewind: restore the former branch, and redo the undone changes.

    Later edits may prevent the change of a file. With `keep_changed`, such a file stays as it is.
    Without it, such a file is an error, and nothing changes.
    """
    return await Rewinds(server.app).undo_rewind(session, keep_changed=keep_changed)
