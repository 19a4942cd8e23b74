"""Routes that list the checks of the repository, and run one for a person."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.check_runs import CheckRuns
from treadle.app.conversation_answers import Failure
from treadle.checks.model import Check, CheckRun
from treadle.errors import TreadleError
from treadle.json_values import JsonField, to_json
from treadle.server.current_project import CurrentServer, require_repository
from treadle.server.openapi import JsonOf, json_responses
from treadle.server.request_identity import set_approval
from treadle.server.routers import api_router
from treadle.server.state import ServerState
from treadle.tools.approvals.question import Program

router = api_router("/checks", "checks", dependencies=[Depends(require_repository)])


@dataclass(frozen=True, slots=True)
class CheckList:
    """The checks that the files of the repository define."""

    data: Sequence[Check]


@dataclass(frozen=True, slots=True)
class ProgramToAllow:
    """The program inside the repository that the person has to allow before a check runs."""

    program: Program | None


@dataclass(frozen=True, slots=True)
class CheckProgress:
    """One line of the response: a line of the check's output, the finished run, or an error."""

    line: Annotated[str | None, JsonField(optional=True)] = None
    run: Annotated[CheckRun | None, JsonField(optional=True)] = None
    error: Annotated[Failure | None, JsonField(optional=True)] = None


class AllowedProgram(BaseModel):
    """The program that the person has seen and allowed."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(max_length=4_096)
    inside: bool
    digest: str = Field("", max_length=200)
    environment: str = Field("", max_length=200)


class RunRequest(BaseModel):
    """The body of a request that runs a check.

    `allowed` is the program that the person allowed for this run. With `always`, the person allowed
    it for all later runs until the program changes.
    """

    model_config = ConfigDict(extra="forbid")

    allowed: AllowedProgram | None = None
    always: bool = False


@router.get("")
async def checks(server: CurrentServer) -> JsonOf[CheckList]:
    """Return the checks of the repository."""
    return CheckList(await _runs(server).find())


@router.get("/{name}/program")
async def program(server: CurrentServer, name: str) -> JsonOf[ProgramToAllow]:
    """Return the program that the person has to allow before the check runs, or null."""
    runs = _runs(server)
    return ProgramToAllow(await runs.program_to_allow(await runs.get(name)))


@router.post("/{name}/run", response_class=Response, responses=json_responses(CheckProgress))
async def run(
    server: CurrentServer, request: Request, name: str, body: RunRequest
) -> StreamingResponse:
    """Run a check. Each line of the response is a JSON object.

    The server sends the lines while the check runs. The check ends when the client closes the
    connection.
    """
    runs = _runs(server)
    check = await runs.get(name)
    allowed = None if body.allowed is None else Program(**body.allowed.model_dump())
    if allowed is not None and body.always:
        await runs.always_allow(check, allowed)
    if allowed is not None:
        set_approval(request, str(allowed))
    return StreamingResponse(_progress(runs, check, allowed), media_type="application/x-ndjson")


async def _progress(runs: CheckRuns, check: Check, allowed: Program | None) -> AsyncIterator[str]:
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    running = asyncio.create_task(runs.run(check, take_line=lines.put_nowait, allowed=allowed))
    running.add_done_callback(lambda _: lines.put_nowait(None))
    try:
        while (line := await lines.get()) is not None:
            yield _written(CheckProgress(line=line))
        try:
            yield _written(CheckProgress(run=await running))
        except TreadleError as error:
            yield _written(CheckProgress(error=Failure.of(error)))
    finally:
        running.cancel()


def _written(progress: CheckProgress) -> str:
    return json.dumps(to_json(progress)) + "\n"


def _runs(server: ServerState) -> CheckRuns:
    app = server.app
    return CheckRuns(app.root, app.settings, app.env, app.clock, app.stores)
