"""The project of a request, and the services of that project that routes use."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection
from starlette.types import Scope

from treadle.errors import NotFoundError
from treadle.gateway import Gateway
from treadle.server.configuration import Configuration
from treadle.server.mcp_endpoint import McpEndpoint
from treadle.server.projects import Projects
from treadle.server.request_identity import identity_of
from treadle.server.running_batches import RunningBatches
from treadle.server.state import ServerState


@dataclass(frozen=True, slots=True)
class ProjectServices:
    """The services of one project that routes use."""

    name: str
    server: ServerState
    mcp: McpEndpoint
    gateway: Gateway
    batches: RunningBatches
    configuration: Configuration

    @property
    def is_working(self) -> bool:
        """Whether a turn or a batch runs, or received spans are not yet on disk.

        Such work continues after the response to the request that started it.
        """
        server = self.server
        return bool(server.turns.running() or self.batches.running or server.pending_bytes)


def project_of_scope(scope: Scope) -> AbstractAsyncContextManager[ProjectServices]:
    """Keep the project of a request open until the context ends.

    Requests reach stores only in this way, so no request reaches the stores of another project.
    Raises StoreError if the project cannot be opened.
    """
    projects: Projects[ProjectServices] = scope["app"].state.projects
    return projects.using(identity_of(scope).project)


async def _current_project(connection: HTTPConnection) -> AsyncIterator[ProjectServices]:
    """Yield the project of the request until its response is sent."""
    async with project_of_scope(connection.scope) as project:
        connection.state.project = project
        yield project


def project_of(connection: HTTPConnection) -> ProjectServices:
    """Return the project of a request whose route depends on `CurrentProject`."""
    project: ProjectServices = connection.state.project
    return project


CurrentProject = Annotated[ProjectServices, Depends(_current_project)]
"""Annotation for route parameters that receive the project of the request."""


async def _server(project: CurrentProject) -> ServerState:
    return project.server


CurrentServer = Annotated[ServerState, Depends(_server)]
"""Annotation for route parameters that receive the state of the request's project."""


async def require_repository(project: CurrentProject) -> None:
    """Raise NotFoundError if the project has no repository on this server."""
    if not project.server.app.has_repository:
        raise NotFoundError(
            f"The project {project.name!r} has no repository on this server.",
            hint="Its traces and experiments are available, but no code.",
        )


async def _configuration(project: CurrentProject) -> Configuration:
    return project.configuration


Configured = Annotated[Configuration, Depends(_configuration)]
"""Annotation for route parameters that receive the configuration of the request's project."""


async def _gateway(project: CurrentProject) -> Gateway:
    return project.gateway


OpenedGateway = Annotated[Gateway, Depends(_gateway)]
"""Annotation for route parameters that receive the gateway of the request's project."""


async def _batches(project: CurrentProject) -> RunningBatches:
    return project.batches


Running = Annotated[RunningBatches, Depends(_batches)]
"""Annotation for route parameters that receive the running batches of the request's project."""
