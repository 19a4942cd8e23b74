"""The routes for load balancers: whether the server runs, and whether it is ready.

Everyone may send these requests, with any Host header. A sender that is not authenticated gets no
details.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict
from starlette.requests import HTTPConnection

from treadle.server.draining import CurrentDrain
from treadle.server.readiness import Readiness
from treadle.server.request_identity import has_identity

router = APIRouter(tags=["operations"])

_NOT_READY = 503


class Alive(BaseModel):
    """The process runs and answers."""

    ok: bool


class Part(BaseModel):
    """The state of one part of the server. `problem` states why it is not ready."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    ready: bool
    problem: str | None


class Ready(BaseModel):
    """Whether the server can do its work.

    `draining` is true while the server ends. `parts` is empty if the sender is not authenticated.
    """

    ready: bool
    draining: bool
    parts: list[Part]


def _readiness(connection: HTTPConnection) -> Readiness:
    readiness: Readiness = connection.app.state.readiness
    return readiness


@router.get("/healthz")
async def healthz() -> Alive:
    """Report that the process answers. This request does no work."""
    return Alive(ok=True)


@router.get("/readyz", responses={_NOT_READY: {"model": Ready}})
async def readyz(
    connection: HTTPConnection,
    response: Response,
    readiness: Annotated[Readiness, Depends(_readiness)],
    drain: CurrentDrain,
) -> Ready:
    """Report whether the server can do its work. The status is 503 if it cannot.

    The server examines its parts at most once in a second.
    """
    states = await readiness.states()
    ready = not drain.begun and all(state.ready for state in states)
    if not ready:
        response.status_code = _NOT_READY
    known = has_identity(connection.scope)
    parts = [Part.model_validate(state) for state in states] if known else []
    return Ready(ready=ready, draining=drain.begun, parts=parts)
