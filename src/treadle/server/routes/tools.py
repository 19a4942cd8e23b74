"""Routes that list the tools and call them outside a session."""

from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

from treadle.events import Outcome
from treadle.events.types import HTTP_STATUS, ToolCallCompleted
from treadle.server.current_project import CurrentServer
from treadle.server.routers import api_router
from treadle.tools.contract import ToolClass, ToolEffect, ToolPlace
from treadle.tools.failures import failure_content

router = api_router("/tools", "tools")


class ListedTool(BaseModel):
    """A tool as a model receives it, together with its class, its place and its effect.

    `tool_class` is `background` if a call may take minutes. `place` states whether Treadle or a
    front end runs the tool. `effect` states whether the tool reads, writes, changes the page or
    costs money.
    """

    name: str
    description: str
    version: int
    tool_class: ToolClass
    place: ToolPlace
    effect: ToolEffect
    parameters: dict[str, Any]


class Listed(BaseModel):
    """All tools. The tools that front ends run come last."""

    data: list[ListedTool]


@router.get("")
async def tools(server: CurrentServer) -> Listed:
    """Return all tools with the JSON schemas of their arguments."""
    registry = server.app.registry.with_tools(server.app.bridge.tools())
    return Listed(
        data=[
            ListedTool(
                name=tool.name,
                description=tool.description,
                version=tool.version,
                tool_class=tool.tool_class,
                place=tool.place,
                effect=tool.effect,
                parameters=spec.parameters,
            )
            for tool, spec in zip(registry, registry.specs(), strict=True)
        ]
    )


_OBJECT = {"content": {"application/json": {"schema": {"type": "object"}}}}
"""The OpenAPI schema of arguments and results: any object, since each tool has its own format."""
_ARGUMENTS = {
    "requestBody": {"description": "the arguments, by the schema of the tool", **_OBJECT},
    "responses": {"200": {"description": "the result of the tool", **_OBJECT}},
}


@router.post("/{name}/call", response_class=Response, openapi_extra=_ARGUMENTS)
async def call(name: str, server: CurrentServer, request: Request) -> Response:
    """Call a tool with the arguments in the body.

    The response body is exactly the message that a model would receive.
    """
    arguments = (await request.body()).decode(errors="replace")
    return answer(await server.app.executor.call(name, arguments, vendor="http"))


def answer(outcome: Outcome) -> Response:
    """Convert the outcome of a call into a response. An error determines its HTTP status."""
    if isinstance(outcome, ToolCallCompleted):
        return Response(outcome.content, media_type="application/json")
    status = HTTP_STATUS[outcome.error.kind]
    return Response(failure_content(outcome.error), status, media_type="application/json")
