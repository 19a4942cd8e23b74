"""Lists the tools, and calls them outside a session."""

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from treadle.events import Outcome
from treadle.events.types import HTTP_STATUS, ToolCallCompleted
from treadle.server.state import CurrentServer
from treadle.tools.contract import ToolClass, ToolEffect, ToolPlace
from treadle.tools.failures import failure_content

router = APIRouter(prefix="/tools", tags=["tools"])


class ListedTool(BaseModel):
    """A tool as a model sees it, and its effect."""

    name: str
    description: str
    version: int
    tool_class: ToolClass
    place: ToolPlace
    effect: ToolEffect
    parameters: dict[str, Any]


class Listed(BaseModel):
    """All tools. The tools of front ends come last."""

    data: list[ListedTool]


@router.get("")
async def tools(server: CurrentServer) -> Listed:
    """The tools with the JSON schemas of their arguments."""
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
"""The schema in the API document where each tool has its own format."""
_ARGUMENTS = {
    "requestBody": {"description": "the arguments, by the schema of the tool", **_OBJECT},
    "responses": {"200": {"description": "the result of the tool", **_OBJECT}},
}


@router.post("/{name}/call", response_class=Response, openapi_extra=_ARGUMENTS)
async def call(name: str, server: CurrentServer, request: Request) -> Response:
    """Run a tool with the arguments in the body. The answer is the tool message, byte for byte."""
    arguments = (await request.body()).decode(errors="replace")
    return answer(await server.app.executor.call(name, arguments, vendor="http"))


def answer(outcome: Outcome) -> Response:
    """The tool message; a failed call has the status of its error."""
    if isinstance(outcome, ToolCallCompleted):
        return Response(outcome.content, media_type="application/json")
    status = HTTP_STATUS[outcome.error.kind]
    return Response(failure_content(outcome.error), status, media_type="application/json")
