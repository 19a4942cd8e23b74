"""The gateway in the server: its endpoints, breakpoints and held calls."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from starlette.requests import HTTPConnection
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from treadle.app.stores import breakpoints_path
from treadle.config.model import Settings
from treadle.gateway import Gateway
from treadle.gateway.breakpoints import Breakpoint, HeldState
from treadle.llm.profiles import register_keys
from treadle.server.state import ServerState

_METHODS = ["GET", "POST"]


@asynccontextmanager
async def open_gateway(
    server: ServerState, settings: Settings, env: Mapping[str, str]
) -> AsyncIterator[Gateway]:
    """Open the gateway until the context ends."""
    register_keys(settings, env)
    recording = server.app.recording
    async with Gateway.open(
        settings,
        env,
        store=recording.store,
        why_not=recording.missing,
        bus=server.app.bus,
        breakpoints_path=breakpoints_path(),
    ) as gateway:
        trying = server.app.experiments
        with trying.caller.lent(gateway) if trying else nullcontext():
            yield gateway


class _Calls:
    """Passes calls to the gateway, which exists once the application has started."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.gateway(scope, receive, send)


def gateway_routes() -> list[Route]:
    """The routes of the gateway: the paths that clients of OpenAI use."""
    paths = ("chat/completions", "responses", "embeddings", "models", "models/{model:path}")
    return [
        Route(f"/v1/{path}", _Calls(), methods=_METHODS, include_in_schema=False) for path in paths
    ]


def _gateway(connection: HTTPConnection) -> Gateway:
    gateway: Gateway = connection.app.state.gateway
    return gateway


OpenedGateway = Annotated[Gateway, Depends(_gateway)]
"""The gateway, as a parameter of a route."""

router = APIRouter(prefix="/breakpoints", tags=["breakpoints"])


def _valid(text: str) -> str:
    text.encode()  # raises a ValueError for a lone surrogate, which an answer cannot contain
    return text


ValidText = Annotated[str, AfterValidator(_valid)]
ShownText = Annotated[str, BeforeValidator(lambda text: text.encode("utf-8", "replace").decode())]
"""Text of a call. It may contain a lone surrogate."""


class Given(BaseModel):
    """The calls to hold: calls that match all given fields; without a field all calls."""

    model_config = ConfigDict(extra="forbid")

    labels: list[ValidText] = Field(default_factory=list)
    thread_id: ValidText | None = None
    model: ValidText | None = None
    enabled: bool = True
    timeout: float | None = Field(default=None, gt=0, le=86_400)
    on_expiry: Literal["continue", "refuse"] | None = None

    def values(self, *, given_only: bool = False) -> dict[str, Any]:
        """The fields of a breakpoint; with `given_only` only the given ones."""
        values = self.model_dump(exclude_unset=given_only)
        return values | ({"labels": tuple(self.labels)} if "labels" in values else {})


class BreakpointList(BaseModel):
    """All breakpoints. `broken` states why they cannot be saved."""

    data: list[Breakpoint]
    broken: str | None


class HeldSummary(BaseModel):
    """A call that is or was held, without its body."""

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
    """A held call with its body: the body to send while it waits, afterwards without secrets."""

    body: str


class HeldList(BaseModel):
    """Held calls, newest first."""

    data: list[HeldSummary]


class Continued(BaseModel):
    """The body with which the call continues; by default its original body."""

    model_config = ConfigDict(extra="forbid")

    body: str | dict[str, object] | None = None


class Refused(BaseModel):
    """The reason of the refusal, for the client."""

    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(default=None, max_length=2_000)


@router.get("")
async def breakpoints(gateway: OpenedGateway) -> BreakpointList:
    """All breakpoints."""
    return BreakpointList(data=gateway.breakpoints.all(), broken=gateway.breakpoints.broken)


@router.post("", status_code=201)
async def add(gateway: OpenedGateway, body: Annotated[Given, Body()]) -> Breakpoint:
    """Add a breakpoint."""
    return await gateway.breakpoints.add(**body.values())


@router.get("/held")
async def held(gateway: OpenedGateway, state: HeldState | None = None) -> HeldList:
    """The calls that are or were held."""
    found = gateway.breakpoints.held(state)
    return HeldList(data=[HeldSummary.model_validate(each) for each in found])


@router.get("/held/{held_id}")
async def held_call(gateway: OpenedGateway, held_id: str) -> HeldCall:
    """A held call with its body."""
    found = gateway.breakpoints.one_held(held_id)
    shown = found.body.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return HeldCall.model_validate(replace(found, body=shown))


@router.post("/held/{held_id}/continue")
async def go_on(
    gateway: OpenedGateway, held_id: str, continued: Annotated[Continued | None, Body()] = None
) -> HeldSummary:
    """Release a held call, with the given body if there is one: JSON, or the text to send."""
    body = continued.body if continued else None
    content = None
    if isinstance(body, str):
        content = body.encode("utf-8", "surrogateescape")
    elif body is not None:
        content = json.dumps(body).encode()  # a lone surrogate can only be an escape
    return HeldSummary.model_validate(await gateway.breakpoints.go_on(held_id, content))


@router.post("/held/{held_id}/refuse")
async def refuse(
    gateway: OpenedGateway, held_id: str, refused: Annotated[Refused | None, Body()] = None
) -> HeldSummary:
    """Refuse a held call with an error."""
    reason = refused.reason if refused else None
    return HeldSummary.model_validate(await gateway.breakpoints.refuse(held_id, reason))


@router.patch("/{breakpoint_id}")
async def change(
    gateway: OpenedGateway, breakpoint_id: str, changed: Annotated[Given, Body()]
) -> Breakpoint:
    """Change a breakpoint."""
    values = changed.values(given_only=True)
    return await gateway.breakpoints.change(breakpoint_id, **values)


@router.delete("/{breakpoint_id}", status_code=204)
async def remove(gateway: OpenedGateway, breakpoint_id: str) -> None:
    """Delete a breakpoint. The calls that it holds continue to wait."""
    await gateway.breakpoints.remove(breakpoint_id)
