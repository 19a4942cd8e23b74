"""The routes for load balancers and for Prometheus.

Everyone may request `/healthz` and `/readyz`, with any Host header. A sender that is not
authenticated gets no details. `/metrics` counts the work of all projects, so it has a scope of its
own, which no role includes.
"""

from typing import Annotated

from fastapi import Depends, HTTPException, Response
from pydantic import BaseModel, ConfigDict
from starlette.requests import HTTPConnection

from treadle.server.draining import CurrentDrain
from treadle.server.errors import ERRORS
from treadle.server.metrics import MissingLibraryError, exposition, gauges_of
from treadle.server.openapi import json_responses
from treadle.server.readiness import Readiness
from treadle.server.request_identity import identity_or_none
from treadle.server.routers import plain_router

router = plain_router(tags=["operations"], responses=ERRORS)

_NOT_READY = 503
_NO_LIBRARY = 501


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


@router.get("/readyz", responses=json_responses(Ready, _NOT_READY))
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
    known = identity_or_none(connection.scope) is not None
    parts = [Part.model_validate(state) for state in states] if known else []
    return Ready(ready=ready, draining=drain.begun, parts=parts)


@router.get("/metrics", response_class=Response)
async def metrics(connection: HTTPConnection) -> Response:
    """Return the metrics of the server in the text format of Prometheus.

    They cover all projects. The sender needs the scope `metrics`.
    The status is 501 if the extra `team` is not installed.
    """
    state = connection.app.state
    opened = state.projects.opened()
    gauges = await gauges_of(opened, state.bus, draining=state.drain.begun)
    try:
        written = exposition(state.measures, gauges, connection.headers.get("accept"))
    except MissingLibraryError as error:
        raise HTTPException(_NO_LIBRARY, str(error)) from error
    return Response(written.content, headers={"Content-Type": written.content_type})
