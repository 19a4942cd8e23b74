"""The OpenAPI document: the names of operations, and corrections of what FastAPI writes."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute


def document(app: FastAPI) -> dict[str, Any]:
    """The document of FastAPI, corrected for streams of events.

    FastAPI describes their data as text, and their errors as events.
    """
    document_json = FastAPI.openapi(app)
    for path in document_json["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                stream = answer.get("content", {}).pop("text/event-stream", None)
                if stream is not None:
                    stream["schema"].pop("type", None)
                    media_type = "text/event-stream" if status[0] == "2" else "application/json"
                    answer["content"][media_type] = stream
    return document_json


def operation_id(route: APIRoute) -> str:
    """The name of an operation for generated clients: the module of the route and its function."""
    module = route.endpoint.__module__.rpartition(".")[2]
    return route.name if route.name == module else f"{module}_{route.name}"
