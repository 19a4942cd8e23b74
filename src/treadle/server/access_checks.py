"""Checks that the sender of a request may use its route. `access` declares what routes need."""

from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute, APIWebSocketRoute
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

RouteHandler = Callable[[Request], Coroutine[Any, Any, Response]]
"""The function of a FastAPI route that answers a request."""


class NotAllowedError(PathRefusedError):
    """The sender of a request may not use a route."""


def check_access(app: FastAPI, public: Collection[BaseRoute]) -> None:
    """Check each request to a route of `app`, except for the routes in `public`.

    Routes of FastAPI check their requests themselves: HTTP routes in `CheckedRoute`, WebSockets
    with the dependency `require_socket_access`. Other routes are wrapped.
    """
    app.router.route_class = CheckedRoute
    for route in app.router.routes:
        if isinstance(route, CheckedRoute) or route in public:
            continue
        if isinstance(route, APIWebSocketRoute):
            checks = [each.dependency for each in route.dependencies]
            if require_socket_access in checks:
                continue
        if type(route) is not Route:
            raise TypeError(f"The route {route!r} does not check its requests.")
        route.app = _Checked(route.app, ACCESS.get(route.path, {}))


class CheckedRoute(APIRoute):
    """A route of FastAPI that checks who sends a request, before it reads the body."""

    def get_route_handler(self) -> RouteHandler:
        """Return the function that answers a request to this route."""
        handle = super().get_route_handler()
        needs = ACCESS.get(self.path, {})

        async def checked(request: Request) -> Response:
            _require(request.scope, needs.get(request.method))
            return await handle(request)

        return checked


async def require_socket_access(connection: HTTPConnection) -> None:
    """Raise WebSocketException if the sender may not open a WebSocket at its route."""
    scope = connection.scope
    try:
        _require(scope, ACCESS.get(scope["route"].path, {}).get(SOCKET))
    except NotAllowedError as error:
        raise WebSocketException(_POLICY_VIOLATION, error.message) from error


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
