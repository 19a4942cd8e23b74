"""Routes of the gateway: the paths of its calls, its breakpoints and its held calls.

A breakpoint holds the model calls that match it until a person decides what happens to them.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from treadle.config.model import Settings
from treadle.gateway import Gateway
from treadle.gateway.apis import PATHS
from treadle.gateway.breakpoints import Breakpoint, HeldState
from treadle.gateway.measures import GatewayMeasures
from treadle.llm.profiles import register_keys
from treadle.server.current_project import OpenedGateway, project_of_scope
from treadle.server.identity_services import IdentityServices
from treadle.server.request_identity import identity_of
from treadle.server.state import ServerState

_METHODS = ["GET", "POST", "DELETE"]


@asynccontextmanager
async def open_gateway(
    server: ServerState, settings: Settings, env: Mapping[str, str], measures: GatewayMeasures
) -> AsyncIterator[Gateway]:
    """Open the gateway for the duration of the context. Experiments send their calls through it.

    `measures` counts the calls.
    """
    register_keys(settings, env)
    recording = server.app.recording
    async with Gateway.open(
        settings,
        env,
        store=recording.store,
        why_not=recording.missing,
        bus=server.app.bus,
        breakpoints=server.app.stores.breakpoints,
        recorder_id=recording.recorder_id,
        measures=measures,
    ) as gateway:
        trying = server.app.experiments
        with trying.caller.lent(gateway) if trying else nullcontext():
            yield gateway


class _Calls:
    """Passes requests to the gateway of their project."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with project_of_scope(scope) as project:
            services: IdentityServices = scope["app"].state.identity_services
            await project.gateway(scope, receive, send, services.spending(identity_of(scope)))


def gateway_routes() -> list[Route]:
    """Return the routes of the gateway, at the paths that clients of providers use."""
    return [Route(path, _Calls(), methods=_METHODS, include_in_schema=False) for path in PATHS]


router = APIRouter(prefix="/breakpoints", tags=["breakpoints"])


def _valid(text: str) -> str:
    text.encode()  # raises ValueError for a lone surrogate, which a response cannot contain
    return text


ValidText = Annotated[str, AfterValidator(_valid)]
ShownText = Annotated[str, BeforeValidator(lambda text: text.encode("utf-8", "replace").decode())]
"""Text of a recorded call. Lone surrogates in it are replaced."""


class Given(BaseModel):
    """A breakpoint that a request creates or changes.

    It holds the calls that match the given `labels`, `thread_id` and `model`. Without these fields
    it holds all calls. A call waits for at most `timeout` seconds. Null means the time limit in the
    settings. `on_expiry` states whether the call continues or is refused after that time.
    """

    model_config = ConfigDict(extra="forbid")

    labels: list[ValidText] = Field(default_factory=list)
    thread_id: ValidText | None = None
    model: ValidText | None = None
    enabled: bool = True
    timeout: float | None = Field(default=None, gt=0, le=86_400)
    on_expiry: Literal["continue", "refuse"] | None = None

    def values(self, *, given_only: bool = False) -> dict[str, Any]:
        """Return the fields. With `given_only`, return only those in the request."""
        values = self.model_dump(exclude_unset=given_only)
        return values | ({"labels": tuple(self.labels)} if "labels" in values else {})


class BreakpointList(BaseModel):
    """All breakpoints.

    `broken` states why breakpoints cannot be saved. It is null if they can be saved.
    """

    data: list[Breakpoint]
    broken: str | None


class HeldSummary(BaseModel):
    """A call that waits or has waited at a breakpoint, without its body.

    `at_us`, `expires_us` and `decided_us` are Unix microseconds. `decided_us` is null while the
    call waits.
    """

    model_config = ConfigDict(from_attributes=True)

    id: str
    breakpoint_id: str
    state: HeldState
    operation: str
    model: ShownText
    at_us: int
    expires_us: int
    on_expiry: Literal["continue", "refuse"]
    trace_id: str
    thread_id: ShownText | None
    run_id: ShownText | None
    labels: tuple[ShownText, ...]
    decided_us: int | None
    reason: ShownText | None


class HeldCall(HeldSummary):
    """A held call with its body.

    While the call waits, `body` is the body that would be sent. After the decision, `body` contains
    no secrets.
    """

    body: str


class HeldList(BaseModel):
    """Calls that wait or have waited at a breakpoint, newest first."""

    data: list[HeldSummary]


class Continued(BaseModel):
    """The body of a request that releases a held call.

    `body` replaces the body of the call. It is a JSON object, or the text to send. Null keeps the
    body of the call.
    """

    model_config = ConfigDict(extra="forbid")

    body: str | dict[str, object] | None = None


class Refused(BaseModel):
    """The body of a request that refuses a held call.

    The client that made the call receives the `reason`.
    """

    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(default=None, max_length=2_000)


@router.get("")
async def breakpoints(gateway: OpenedGateway) -> BreakpointList:
    """Return all breakpoints."""
    return BreakpointList(data=gateway.breakpoints.all(), broken=gateway.breakpoints.broken)


@router.post("", status_code=201)
async def add(gateway: OpenedGateway, body: Annotated[Given, Body()]) -> Breakpoint:
    """Add a breakpoint."""
    return await gateway.breakpoints.add(**body.values())


@router.get("/held")
async def held(gateway: OpenedGateway, state: HeldState | None = None) -> HeldList:
    """Return the calls that wait or have waited at a breakpoint, optionally those in one state."""
    found = gateway.breakpoints.held(state)
    return HeldList(data=[HeldSummary.model_validate(each) for each in found])


@router.get("/held/{held_id}")
async def held_call(gateway: OpenedGateway, held_id: str) -> HeldCall:
    """Return a held call with its body."""
    found = gateway.breakpoints.one_held(held_id)
    shown = found.body.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return HeldCall.model_validate(replace(found, body=shown))


@router.post("/held/{held_id}/continue")
async def go_on(
    gateway: OpenedGateway, held_id: str, continued: Annotated[Continued | None, Body()] = None
) -> HeldSummary:
    """Let a held call continue, with another body if the request contains one."""
    body = continued.body if continued else None
    content = None
    if isinstance(body, str):
        content = body.encode("utf-8", "surrogateescape")
    elif body is not None:
        # Escapes lone surrogates, so that the text can be encoded.
        content = json.dumps(body).encode()
    return HeldSummary.model_validate(await gateway.breakpoints.go_on(held_id, content))


@router.post("/held/{held_id}/refuse")
async def refuse(
    gateway: OpenedGateway, held_id: str, refused: Annotated[Refused | None, Body()] = None
) -> HeldSummary:
    """Refuse a held call. The client that made the call receives an error."""
    reason = refused.reason if refused else None
    return HeldSummary.model_validate(await gateway.breakpoints.refuse(held_id, reason))


@router.patch("/{breakpoint_id}")
async def change(
    gateway: OpenedGateway, breakpoint_id: str, changed: Annotated[Given, Body()]
) -> Breakpoint:
    """Change the given fields of a breakpoint."""
    values = changed.values(given_only=True)
    return await gateway.breakpoints.change(breakpoint_id, **values)


@router.delete("/{breakpoint_id}", status_code=204)
async def remove(gateway: OpenedGateway, breakpoint_id: str) -> None:
    """Delete a breakpoint. The calls that it already holds continue to wait."""
    await gateway.breakpoints.remove(breakpoint_id)
