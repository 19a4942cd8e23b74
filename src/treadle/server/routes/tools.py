"""The tools: what there is, and calls from outside a session."""

import json
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from treadle.events.types import ErrorKind, ToolCallCompleted, ToolCallFailed
from treadle.server.house import Opened
from treadle.tools.contract import ToolClass, ToolEffect, ToolPlace
from treadle.tools.failures import failure_content

router = APIRouter(prefix="/tools", tags=["tools"])

_STATUS = {
    ErrorKind.PARSING: HTTPStatus.UNPROCESSABLE_ENTITY,
    ErrorKind.VALIDATION: HTTPStatus.UNPROCESSABLE_ENTITY,
    ErrorKind.UNKNOWN_TOOL: HTTPStatus.NOT_FOUND,
    ErrorKind.PERMISSION: HTTPStatus.FORBIDDEN,
    ErrorKind.TIMEOUT: HTTPStatus.GATEWAY_TIMEOUT,
    ErrorKind.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


class ListedTool(BaseModel):
    """A tool as a model is told of it, and what it does to the world."""

    name: str
    description: str
    version: int
    tool_class: ToolClass
    place: ToolPlace
    effect: ToolEffect
    parameters: dict[str, Any]


class Listed(BaseModel):
    """All tools, those of front ends last."""

    data: list[ListedTool]


@router.get("")
async def tools(house: Opened) -> Listed:
    """The tools with the JSON schemas of their arguments."""
    registry = house.calls.registry.with_tools(house.calls.bridge.tools())
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


@router.post("/{name}/call", response_model=None)
async def call(
    name: str, house: Opened, arguments: Annotated[dict[str, Any] | None, Body()] = None
) -> Any:
    """Run a tool with the arguments in the body; its result as a model would get it."""
    outcome = await house.calls.dispatcher.call(name, json.dumps(arguments or {}), vendor="http")
    if isinstance(outcome, ToolCallCompleted):
        return json.loads(outcome.content)
    return failed(outcome)


def failed(outcome: ToolCallFailed) -> JSONResponse:
    """The answer to a call that failed: the tool message, with the status that fits."""
    status = _STATUS.get(outcome.error.kind, HTTPStatus.INTERNAL_SERVER_ERROR)
    return JSONResponse(json.loads(failure_content(outcome.error)), status_code=status)
