"""Checks that the sender of a request may use its route. `access` declares what routes need."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.exceptions import WebSocketException
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.errors import PathRefusedError
from treadle.identity.identity import Identity
from treadle.identity.identity import Scope as AccessScope
from treadle.server.access import ACCESS, SOCKET, Need
from treadle.server.request_identity import identity_or_none, set_action

_POLICY_VIOLATION = 1008

_Needs = Mapping[tuple[Callable[..., Any], str], Need]


class NotAllowedError(PathRefusedError):
    """The sender of a request may not use a route."""


def check_access(app: FastAPI, public: Collection[BaseRoute]) -> None:
    """Check each request to a route of `app`, except for the routes in `public`.

    For routes of FastAPI, the dependency `require_access` does this, so `app` must have this
    dependency. Other routes are wrapped.
    """
    needs: dict[tuple[Callable[..., Any], str], Need] = {}
    for context in iter_route_contexts(app.router.routes):
        endpoint, declared = context.endpoint, ACCESS.get(context.path or "", {})
        for method in context.methods or {SOCKET}:
            if endpoint is not None and (need := declared.get(method)) is not None:
                needs[endpoint, method] = need
    app.state.needs = needs
    for route in app.router.routes:
        if type(route) is Route and route not in public:
            route.app = _Checked(route.app, ACCESS.get(route.path, {}))


async def require_access(connection: HTTPConnection) -> None:
    """Raise NotAllowedError if the sender of the request may not use its route."""
    scope = connection.scope
    needs: _Needs = connection.app.state.needs
    method = scope["method"] if scope["type"] == "http" else SOCKET
    try:
        _require(scope, needs.get((scope["endpoint"], method)))
    except NotAllowedError as error:
        if scope["type"] == "websocket":
            raise WebSocketException(_POLICY_VIOLATION, error.message) from error
        raise


class _Checked:
    """Wraps a route that is not a route of FastAPI, and checks each request to it."""

    def __init__(self, app: ASGIApp, needs: Mapping[str, Need]) -> None:
        self._app = app
        self._needs = needs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        try:
            _require(scope, self._needs.get(method))
        except NotAllowedError as error:
            answer = {"error": {"message": error.message, "hint": error.hint}}
            await JSONResponse(answer, status_code=403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _require(scope: Scope, need: Need | None) -> None:
    if need is None:
        raise NotAllowedError(
            "This route has no declared access, so nobody may use it.",
            hint="Report this as a bug of Treadle.",
        )
    if need.public:
        return
    identity = identity_or_none(scope)
    if identity is None:
        raise NotAllowedError("This request has no identity.", hint="Sign in, or send a key.")
    if need.scope is not None and not identity.may(need.scope):
        raise _lacks(identity, need.scope)
    limits = identity.limits
    if need.spends and (limits.dollars_per_day or limits.dollars_per_month):
        raise NotAllowedError(
            "A key with a limit in dollars may call models only through the gateway.",
            hint="Use a key without such a limit, or send the model call to the gateway.",
        )
    if need.action is not None:
        set_action(scope, need.action)


def _lacks(identity: Identity, scope: AccessScope) -> NotAllowedError:
    if identity.role is None:
        return NotAllowedError(
            f"The key {identity.name!r} has no scope `{scope}`, which this request needs.",
            hint=f"Create a key with this scope: `treadle keys create NAME --scopes {scope}`.",
        )
    return NotAllowedError(
        f"The role {identity.role} in the project {identity.project} does not allow this.",
        hint="Ask an admin for another role: `treadle users role EMAIL ROLE` changes it.",
    )
