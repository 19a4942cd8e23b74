"""The MCP server: lists and calls tools, over standard input and output or over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle import __version__
from treadle.app.application import App, Toolset, open_app
from treadle.app.index_refresh import refresh_in_background
from treadle.app.tool_groups import (
    DEFAULT_GROUPS,
    REPOSITORY_GROUPS,
    ToolGroup,
    groups_named,
    in_groups,
)
from treadle.app.toolsets import listed_registry
from treadle.errors import TreadleError, UsageError
from treadle.events import Outcome, Subscription
from treadle.events.types import ErrorKind, IndexProgress, ToolCallCompleted, ToolFailure
from treadle.mcp.repository import Context, Repository
from treadle.tools.contract import AnyTool, Registry, ToolEffect
from treadle.tools.failures import failure_content

INSTRUCTIONS = (
    "Treadle reads one repository on this machine. Its index is refreshed before each answer, so "
    "answers are current. For a question about the code call request_code_context first, with the "
    "question or the names in it as `hint`: one call usually suffices. Paths are relative to the "
    "root of the repository."
)
"""The instructions of the server, which a client passes to its model."""

_NO_REPOSITORY = (
    "This Treadle server holds the records of one project. The project has no repository on the "
    "server, so there are no tools for code."
)

_ABOUT_TRACES = (
    " Calls of programs and agents are recorded: fetch_runs, fetch_spans_summary and "
    "get_span_content report their faults, with evidence."
)


async def serve_stdio(
    repository: Path | None,
    groups: frozenset[ToolGroup] = DEFAULT_GROUPS,
    *,
    all_traces: bool = False,
) -> None:
    """Serve the tools of `groups` to one client until it closes standard input.

    With `all_traces`, the client may also read the traces of other repositories and programs.
    Without `repository`, the server uses the client's first root, or else the repository that
    contains the working directory. Only protocol messages are written to standard output.
    """
    async with AsyncExitStack() as stack:
        found = Repository(repository, Path.cwd())
        server = _server(_Service(found, stack, groups, all_traces=all_traces))
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


@asynccontextmanager
async def serve_http(app: App) -> AsyncIterator[ASGIApp]:
    """Yield an ASGI application for streamable HTTP, whose clients share the repository of `app`.

    The query parameter `tools` selects the groups of tools. The caller must check who sends a
    request.
    """
    async with AsyncExitStack() as stack:
        groups = DEFAULT_GROUPS if app.has_repository else frozenset({ToolGroup.TRACES})
        repository = Repository(app.root, app.root)
        service = _Service(repository, stack, groups, has_repository=app.has_repository)
        service.share(app)
        manager = StreamableHTTPSessionManager(_server(service))
        await stack.enter_async_context(manager.run())
        yield partial(_checked, manager.handle_request)


async def _checked(application: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request whose query parameter `tools` names an unknown group. Serve all others."""
    try:
        _groups_of(Request(scope), DEFAULT_GROUPS)
    except UsageError as error:
        body = {"error": {"message": error.message, "hint": error.hint}}
        await JSONResponse(body, HTTPStatus.UNPROCESSABLE_ENTITY)(scope, receive, send)
        return
    await application(scope, receive, send)


def _groups_of(request: object, default: frozenset[ToolGroup]) -> frozenset[ToolGroup]:
    """Return the groups that the query of an HTTP request names. Raises UsageError."""
    named = request.query_params.get("tools") if isinstance(request, Request) else None
    return default if named is None else groups_named(named)


def _server(service: "_Service") -> Server[Any]:
    server = Server(
        "treadle",
        version=__version__,
        title="Treadle",
        instructions=service.instructions,
        on_list_tools=service.list_tools,
        on_call_tool=service.call_tool,
    )
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, service.roots_changed
    )
    return server


class _Service:
    """The handlers of all connections, and the open application of each repository."""

    def __init__(
        self,
        repository: Repository,
        stack: AsyncExitStack,
        groups: frozenset[ToolGroup],
        *,
        all_traces: bool = False,
        has_repository: bool = True,
    ) -> None:
        """`groups` are the tool groups of clients that do not choose groups."""
        self._all_traces = all_traces
        self._has_repository = has_repository
        self._repository = repository
        self._stack = stack
        self._groups = groups
        self._apps: dict[Path, App] = {}
        self._opening = asyncio.Lock()

    @property
    def instructions(self) -> str:
        """The instructions that clients pass to their models."""
        about = INSTRUCTIONS if self._has_repository else _NO_REPOSITORY
        return about + (_ABOUT_TRACES if ToolGroup.TRACES in self._groups else "")

    def share(self, app: App) -> None:
        """Use `app`, which is already open, for its repository."""
        self._apps[app.root] = app

    async def list_tools(
        self, context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return the tools. They are the same for every repository, so no repository is opened."""
        groups = _groups_of(context.request, self._groups)
        return types.ListToolsResult(tools=await asyncio.to_thread(self._tools, groups))

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool, and return the result that a session returns to its model."""
        try:
            root = await self._repository.root(context, params)
            if isinstance(root, types.InputRequiredResult):
                return root
            app = await self._app(root)
        except TreadleError as error:
            return failed_result(ToolFailure(ErrorKind.UNAVAILABLE, error.message, hint=error.hint))
        groups = _groups_of(context.request, self._groups)
        tools = in_groups(app.registry, groups)
        client = context.session.client_params
        async with _progress(app, context):
            outcome = await app.executor.call(
                params.name,
                json.dumps(params.arguments or {}),
                call_id=str(context.request_id),
                vendor=f"mcp: {client.client_info.name}" if client else "mcp",
                registry=tools if self._all_traces else tools.replacing(app.own_record_tools),
            )
        return call_result(outcome)

    async def roots_changed(self, _context: Context, _params: types.NotificationParams) -> None:
        """Handle a change of the client's roots. The next call determines the repository again."""
        self._repository.forget()

    def _tools(self, groups: frozenset[ToolGroup]) -> list[types.Tool]:
        app = self._apps.get(self._repository.likely)
        registry = app.registry if app else listed_registry(self._repository.likely)
        return listed_tools(in_groups(registry, groups))

    async def _app(self, root: Path) -> App:
        """Return the application of the repository at `root`.

        A new application also starts to refresh its index in the background.
        """
        async with self._opening:
            if root not in self._apps:
                toolset = Toolset.CODE if self._groups <= REPOSITORY_GROUPS else Toolset.ALL
                app = await self._stack.enter_async_context(open_app(root, toolset=toolset))
                await self._stack.enter_async_context(refresh_in_background(app.index, app.bus))
                self.share(app)
        return self._apps[root]


@asynccontextmanager
async def _progress(app: App, context: Context) -> AsyncIterator[None]:
    """Report the progress of the first index build to a client that requested progress."""
    with app.bus.subscribe(IndexProgress) as events:
        reporting = asyncio.create_task(_report_progress(events, context))
        try:
            yield
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)


async def _report_progress(events: Subscription, context: Context) -> None:
    percent = 0
    async for envelope in events:
        event = envelope.event
        assert isinstance(event, IndexProgress)
        if (
            event.done * 100 // event.total > percent
        ):  # the protocol needs rising values, and few messages suffice
            percent = event.done * 100 // event.total
            message = f"indexed {event.done:,} of {event.total:,} files"
            await context.session.report_progress(event.done, event.total, message)


def listed_tools(registry: Registry) -> list[types.Tool]:
    """Convert the tools of a registry to MCP tools.

    The list has no schemas of results. Such schemas would double the size of the list, and a model
    understands named fields without them.
    """
    return [
        types.Tool(
            name=spec.name,
            description=spec.description,
            input_schema=spec.parameters,
            annotations=_annotations(tool),
        )
        for tool, spec in zip(registry, registry.specs(), strict=True)
    ]


def _annotations(tool: AnyTool) -> types.ToolAnnotations:
    reads = tool.effect is ToolEffect.READ
    spends = tool.effect is ToolEffect.SPENDS
    return types.ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=tool.effect is ToolEffect.WRITE,
        idempotent_hint=reads,
        open_world_hint=spends,
    )


def call_result(outcome: Outcome) -> types.CallToolResult:
    """Convert the outcome of a call to an MCP result.

    A success has text and structured content. A failure has only the text for the model.
    """
    if not isinstance(outcome, ToolCallCompleted):
        return failed_result(outcome.error)
    return types.CallToolResult(
        content=[types.TextContent(text=outcome.content)],
        structured_content=json.loads(outcome.content),
    )


def failed_result(failure: ToolFailure) -> types.CallToolResult:
    """Create the result of a failed call.

    The result has no structured content, since that would have to match the schema of a success.
    """
    return types.CallToolResult(
        content=[types.TextContent(text=failure_content(failure))], is_error=True
    )
