"""The document of the API: how its operations are named, and what FastAPI does not tell."""

from fastapi.routing import APIRoute


def operation_id(route: APIRoute) -> str:
    """A name by which clients are generated: the module of the route and its function."""
    module = route.endpoint.__module__.rpartition(".")[2]
    return route.name if route.name == module else f"{module}_{route.name}"
