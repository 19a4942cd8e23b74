"""Routes of the gateway: the paths of its calls, its breakpoints and its held calls.

A breakpoint holds the model calls that match it until a person decides what happens to them.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Annotated, Any, Literal

from fastapi import Body
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from treadle.clock import Clock
from treadle.config.model import Settings
from treadle.gateway import Gateway
from treadle.gateway.apis import PATHS
from treadle.gateway.breakpoint_store import Breakpoint, HeldState
from treadle.gateway.breakpoints import Breakpoints
from treadle.gateway.measures import GatewayMeasures
from treadle.llm.profiles import register_keys
from treadle.server.current_project import CurrentServer, OpenedGateway, project_of_scope
from treadle.server.held_calls import HeldCall, HeldDecision, HeldSummary, decide, held_call
from treadle.server.identity_services import IdentityServices
from treadle.server.other_servers import OtherServers
from treadle.server.request_identity import identity_of
from treadle.server.routers import api_router
from treadle.server.state import ServerState

_METHODS = ["GET", "POST", "DELETE"]
_REFRESH_SECONDS = 2.0
"""The time after which a breakpoint acts at servers that no message informs."""


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
        trying, others = server.app.experiments, server.others
        with (
            trying.caller.lent(gateway) if trying else nullcontext(),
            others.use_breakpoints(gateway.breakpoints) if others else nullcontext(),
        ):
            following = asyncio.create_task(
                _follow(gateway.breakpoints, server.app.clock), name="breakpoints"
            )
            try:
                yield gateway
            finally:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following


async def _follow(breakpoints: Breakpoints, clock: Clock) -> None:
    """Read the breakpoints at intervals, since servers without a bus may share the store."""
    while True:
        await clock.sleep(_REFRESH_SECONDS)
        await breakpoints.refresh()


class _Calls:
    """Passes requests to the gateway of their project."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with project_of_scope(scope) as project:
            services: IdentityServices = scope["app"].state.identity_services
            await project.gateway(scope, receive, send, services.spending(identity_of(scope)))


def gateway_routes() -> list[Route]:
    """Return the routes of the gateway, at the paths that clients of providers use."""
    return [Route(path, _Calls(), methods=_METHODS, include_in_schema=False) for path in PATHS]


router = api_router("/breakpoints", "breakpoints")


def _valid(text: str) -> str:
    text.encode()  # raises ValueError for a lone surrogate, which a response cannot contain
    return text


ValidText = Annotated[str, AfterValidator(_valid)]


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
    await gateway.breakpoints.refresh()
    return BreakpointList(data=gateway.breakpoints.all(), broken=gateway.breakpoints.broken)


@router.post("", status_code=201)
async def add(
    gateway: OpenedGateway, server: CurrentServer, body: Annotated[Given, Body()]
) -> Breakpoint:
    """Add a breakpoint. It holds the calls at all servers of the project."""
    added = await gateway.breakpoints.add(**body.values())
    await _inform_others(server)
    return added


@router.get("/held")
async def held(gateway: OpenedGateway, state: HeldState | None = None) -> HeldList:
    """Return the calls that wait or have waited at a breakpoint, optionally those in one state."""
    await gateway.breakpoints.refresh()
    found = gateway.breakpoints.held(state)
    return HeldList(data=[HeldSummary.model_validate(each) for each in found])


@router.get("/held/{held_id}")
async def show_held(gateway: OpenedGateway, server: CurrentServer, held_id: str) -> HeldCall:
    """Return a held call with its body."""
    if (others := _others(gateway, server, held_id)) is not None:
        elsewhere = await others.show_held(held_id)
        if elsewhere is not None:
            return HeldCall.model_validate(elsewhere)
    await gateway.breakpoints.refresh()
    return held_call(gateway.breakpoints.one_held(held_id))


@router.post("/held/{held_id}/continue")
async def go_on(
    gateway: OpenedGateway,
    server: CurrentServer,
    held_id: str,
    continued: Annotated[Continued | None, Body()] = None,
) -> HeldSummary:
    """Let a held call continue, with another body if the request contains one."""
    body = continued.body if continued else None
    content = None
    if isinstance(body, str):
        content = body.encode("utf-8", "surrogateescape")
    elif body is not None:
        # Escapes lone surrogates, so that the text can be encoded.
        content = json.dumps(body).encode()
    return await _decide(gateway, server, held_id, HeldDecision(content=content))


@router.post("/held/{held_id}/refuse")
async def refuse(
    gateway: OpenedGateway,
    server: CurrentServer,
    held_id: str,
    refused: Annotated[Refused | None, Body()] = None,
) -> HeldSummary:
    """Refuse a held call. The client that made the call receives an error."""
    reason = refused.reason if refused else None
    return await _decide(gateway, server, held_id, HeldDecision(refuse=True, reason=reason))


@router.patch("/{breakpoint_id}")
async def change(
    gateway: OpenedGateway,
    server: CurrentServer,
    breakpoint_id: str,
    changed: Annotated[Given, Body()],
) -> Breakpoint:
    """Change the given fields of a breakpoint."""
    await gateway.breakpoints.refresh()
    after = await gateway.breakpoints.change(breakpoint_id, **changed.values(given_only=True))
    await _inform_others(server)
    return after


@router.delete("/{breakpoint_id}", status_code=204)
async def remove(gateway: OpenedGateway, server: CurrentServer, breakpoint_id: str) -> None:
    """Delete a breakpoint. The calls that it already holds continue to wait."""
    await gateway.breakpoints.refresh()
    await gateway.breakpoints.remove(breakpoint_id)
    await _inform_others(server)


async def _inform_others(server: ServerState) -> None:
    """Let the other servers read the breakpoints before the response is sent."""
    if server.others is not None:
        await server.others.read_breakpoints()


def _others(gateway: Gateway, server: ServerState, held_id: str) -> OtherServers | None:
    """Return the other servers, or None if the call waits at this server."""
    return None if gateway.breakpoints.is_waiting(held_id) else server.others


async def _decide(
    gateway: Gateway, server: ServerState, held_id: str, decision: HeldDecision
) -> HeldSummary:
    """Carry out a decision at the server where the call waits."""
    if (others := _others(gateway, server, held_id)) is not None:
        elsewhere = await others.decide_held(held_id, decision)
        if elsewhere is not None:
            return HeldSummary.model_validate(elsewhere)
        await gateway.breakpoints.refresh()
        await gateway.breakpoints.lose(held_id)  # all servers replied, and none holds it
    return await decide(gateway.breakpoints, held_id, decision)
