"""Creates the routers. The routes of a router know their whole path and check their requests.

`create_app` adds the routes of a router as they are. FastAPI's `include_router` builds every route
again for each level of nesting, which took 450 ms of each start.
"""

import sys
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.params import Depends as Dependency

from treadle.server.access_checks import CheckedRoute, RouteHandler, require_socket_access
from treadle.server.errors import ERRORS, refuse_wrong_parameters
from treadle.server.openapi import operation_id
from treadle.server.responses import AsciiJsonResponse

_API_PREFIX = "/api/v1"

# FastAPI imports `pydantic.v1` to check that no type of a route is a model of pydantic 1. None
# makes this import fail, and FastAPI then assumes that there are no such models. The import takes
# 65 ms, and loads 21 modules.
sys.modules.setdefault("pydantic.v1", None)  # type: ignore[arg-type]  # typeshed lacks None


class _ApiRoute(CheckedRoute):
    """A route of the API. It refuses unknown parameters."""

    def get_route_handler(self) -> RouteHandler:
        """Return the function that answers a request to this route."""
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            refuse_wrong_parameters(request, self)
            return await handle(request)

        return checked


def api_router(prefix: str, tag: str, *, dependencies: Sequence[Dependency] = ()) -> APIRouter:
    """Create the router of a resource of the API."""
    return APIRouter(
        prefix=_API_PREFIX + prefix,
        tags=[tag],
        dependencies=dependencies,
        responses=ERRORS,
        route_class=_ApiRoute,
        default_response_class=AsciiJsonResponse,
        generate_unique_id_function=operation_id,
    )


def socket_router(prefix: str = "") -> APIRouter:
    """Create a router for WebSockets of the API."""
    return APIRouter(prefix=_API_PREFIX + prefix, dependencies=[Depends(require_socket_access)])


def plain_router(prefix: str = "", **options: Any) -> APIRouter:
    """Create a router outside of the API. The options are those of `APIRouter`."""
    return APIRouter(
        prefix=prefix,
        route_class=CheckedRoute,
        default_response_class=AsciiJsonResponse,
        generate_unique_id_function=operation_id,
        **options,
    )
