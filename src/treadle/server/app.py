"""The web application: its routes, its middleware, and the services that it opens."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from treadle import __version__
from treadle.app.application import Toolset
from treadle.app.stores import Stores
from treadle.config.loader import LoadedConfig
from treadle.config.model import Settings
from treadle.config.quantities import size_bytes
from treadle.database.address import DEFAULT_PROJECT
from treadle.server.access_checks import check_access
from treadle.server.authentication import Authentication
from treadle.server.built_page import BuiltPage
from treadle.server.configuration import Configuration
from treadle.server.credentials import Credentials
from treadle.server.current_project import ProjectServices, project_of_scope
from treadle.server.draining import Drain
from treadle.server.errors import add_error_handlers
from treadle.server.guard import LOOPBACK_NAMES, Guard
from treadle.server.identity_services import IdentityServices, open_identity_services
from treadle.server.mcp_endpoint import McpEndpoint
from treadle.server.measures import RequestMeasures, ServerMeasures
from treadle.server.oidc import open_oidc
from treadle.server.openapi import document
from treadle.server.otlp_grpc import AdmittedExport, serve_grpc
from treadle.server.project_place import ProjectPlace, find_place
from treadle.server.projects import Projects
from treadle.server.readiness import Readiness, checks_of
from treadle.server.refusals import RefusedError, answer_refused
from treadle.server.request_bodies import BodyLimit
from treadle.server.routes import (
    agent_conversations,
    agents,
    approvals,
    checks,
    code,
    effective_settings,
    events,
    experiments,
    faults,
    front_ends,
    gateway,
    health,
    identity,
    langfuse,
    models,
    otlp,
    permissions,
    probes,
    proposals,
    providers,
    query,
    redaction,
    repository,
    retention,
    rewinds,
    selections,
    sessions,
    sign_in,
    tool_statistics,
    tools,
    trace_exports,
    traceloop,
    traces,
    turns,
    ui,
    views,
)
from treadle.server.routes.experiments import open_batches
from treadle.server.routes.gateway import gateway_routes, open_gateway
from treadle.server.security_headers import SecurityHeaders
from treadle.server.state import ServerState

if TYPE_CHECKING:
    from treadle.nats.connection import NatsConnection

_ROUTERS = (
    health.router, code.router, tools.router, sessions.router, turns.router, approvals.router,
    permissions.router, rewinds.router, repository.router,
    proposals.router, checks.router, events.router, events.sockets, front_ends.router,
    traces.router, trace_exports.router, selections.router, faults.router,
    redaction.router, gateway.router, ui.router, agents.router, experiments.router, query.router,
    agent_conversations.router, views.router,
    providers.router, models.router, effective_settings.router, retention.router,
    tool_statistics.router, identity.router, sign_in.router,
    probes.router, sign_in.browser_routes, otlp.router, langfuse.router, traceloop.router,
)  # fmt: skip


def create_app(
    root: Path,
    loaded: LoadedConfig,
    env: Mapping[str, str],
    *,
    hosts: Iterable[str] = LOOPBACK_NAMES,
    credentials: Credentials | None = None,
    services: IdentityServices | None = None,
    host: str = "127.0.0.1",
) -> FastAPI:
    """Create the web application for the repository at `root`.

    `hosts` are the names that the Host header of a request may have. `credentials` contains the
    secrets that authenticate a request. By default the token is random, so clients cannot know it.
    `services` know the users and keys. `host` is the address of the OTLP/gRPC endpoint, which
    starts only if the settings have a port for it.
    """
    settings = loaded.settings
    measures = ServerMeasures()
    credentials = credentials or Credentials(secrets.token_urlsafe())
    services = services or open_identity_services(settings.server)
    grpc = partial(
        _grpc_endpoint,
        services=services,
        authentication=Authentication(credentials, services),
        host=host,
        port=settings.traces.grpc_port,
    )
    app = FastAPI(
        title="Treadle",
        version=__version__,
        description="A code-aware LLM assistant with a flight recorder, served on this machine.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # FastAPI's two documentation pages load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,  # otherwise a request for the id "/" would return the whole list
        lifespan=_lifespan(root, loaded, env, services=services, grpc=grpc, measures=measures),
    )
    app.state.drain = Drain()
    app.state.measures = measures
    app.state.identity_services = services
    app.state.oidc = open_oidc(settings.oidc, env)
    app.openapi = partial(document, app)  # type: ignore[method-assign]  # as FastAPI says
    add_error_handlers(app)
    app.add_exception_handler(RefusedError, answer_refused)
    templates = _add_routes(app)
    app.add_middleware(BodyLimit, limit=size_bytes(settings.traces.max_request))
    app.add_middleware(Guard, hosts=hosts, credentials=credentials, services=services)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestMeasures, measures=measures, templates=templates)
    return app


def _add_routes(app: FastAPI) -> Mapping[object, str]:
    """Add all routes, and return the path of each endpoint outside of the page."""
    # The gateway's routes are first in the list, since each route before them would delay every
    # gateway call by microseconds.
    app.router.routes[:0] = gateway_routes()
    for router in _ROUTERS:
        app.router.routes.extend(router.routes)
    app.router.routes.append(Route("/mcp", _Mcp(), include_in_schema=False))
    own = [route for route in app.router.routes if isinstance(route, Route)]
    templates: dict[object, str] = {route.endpoint: route.path_format for route in own}
    page = BuiltPage()
    public = page.routes()
    app.router.routes.extend(public)
    check_access(app, public)
    app.router.default = page.or_else(app.router.default)
    return templates


def _lifespan(
    root: Path,
    loaded: LoadedConfig,
    env: Mapping[str, str],
    *,
    services: IdentityServices,
    grpc: Callable[[Projects[ProjectServices]], AbstractAsyncContextManager[None]],
    measures: ServerMeasures,
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Return a context manager that opens the projects, and closes them at its end."""

    @asynccontextmanager
    async def open_services(
        bus: "NatsConnection | None", name: str
    ) -> AsyncIterator[ProjectServices]:
        place = ProjectPlace(root, Toolset.ALL, loaded, Stores.of_user())
        if name != DEFAULT_PROJECT:
            place = await asyncio.to_thread(find_place, name, env)
        async with _open_project(name, place, env, measures, bus) as opened:
            yield opened

    @asynccontextmanager
    async def open_and_close(app: FastAPI) -> AsyncIterator[None]:
        with services.store:
            async with (
                _connected(loaded.settings) as bus,
                Projects(
                    partial(open_services, bus), most_open=loaded.settings.server.open_projects
                ) as projects,
                grpc(projects),
            ):
                app.state.projects = projects
                app.state.bus = bus
                stores = projects.default.server.app.stores
                app.state.readiness = Readiness(checks_of(stores, bus))
                yield

    return open_and_close


@asynccontextmanager
async def _open_project(
    name: str,
    place: ProjectPlace,
    env: Mapping[str, str],
    measures: ServerMeasures,
    bus: "NatsConnection | None",
) -> AsyncIterator[ProjectServices]:
    """Open everything that the routes need for one project. Raises StoreError and ConfigError."""
    settings = place.loaded.settings
    async with (
        ServerState.open(place, env, measures, bus) as state,
        McpEndpoint(state.app) as mcp,
        open_gateway(state, settings, env, measures.gateway) as gateway,
        open_batches(state) as batches,
        Configuration(place.root, place.loaded, env) as configuration,
    ):
        yield ProjectServices(name, state, mcp, gateway, batches, configuration)


@asynccontextmanager
async def _connected(settings: Settings) -> "AsyncIterator[NatsConnection | None]":
    """Connect to NATS if the setting `bus.url` names a server."""
    if settings.bus.url is None:
        yield None
        return
    from treadle.nats.connection import connect

    replicas = settings.bus.stream_replicas
    opening = connect(settings.bus.url, name="treadle serve", stream_replicas=replicas)
    async with opening as connection:
        yield connection


def _grpc_endpoint(
    projects: Projects[ProjectServices],
    *,
    services: IdentityServices,
    authentication: Authentication,
    host: str,
    port: int | None,
) -> AbstractAsyncContextManager[None]:
    @asynccontextmanager
    async def queue_of(secret: str, address: str) -> AsyncIterator[AdmittedExport]:
        identity = await authentication.exporter(secret, address)
        await services.limits.admit_request(identity)
        await services.limits.admit_export(identity)
        async with projects.using(identity.project) as project:
            count, server = partial(services.limits.count_spans, identity), project.server
            yield AdmittedExport(server.ingest, server.store_export, count)

    if port is None:
        return nullcontext()
    most_bytes = projects.default.server.ingest.most_bytes
    return serve_grpc(queue_of, host, port, most_bytes=most_bytes)


class _Mcp:
    """Passes requests to the MCP endpoint of their project."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with project_of_scope(scope) as project:
            await project.mcp(scope, receive, send)
