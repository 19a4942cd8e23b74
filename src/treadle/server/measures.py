"""What the server counts in all of its projects: requests, exports, gateway calls, tool calls."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.events import Envelope, EventBus, Subscription
from treadle.events.bus import Listener
from treadle.events.types import (
    CallKey,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from treadle.gateway.measures import GatewayMeasures
from treadle.measures import OTHER, Histograms, Names
from treadle.server.built_page import is_of_page
from treadle.spans.ingest_measures import IngestMeasures
from treadle.traces.retention import RetentionMeasures

COMPLETED = "completed"
"""The outcome of a successful tool call. The outcome of a failed call is the kind of failure."""


class ServerMeasures:
    """All counters of a server process."""

    def __init__(self) -> None:
        self.ingest = IngestMeasures()
        self.gateway = GatewayMeasures()
        self.retention = RetentionMeasures()
        self.requests = Histograms()
        """The seconds of each HTTP request by method, route and status."""
        self.tool_calls = Histograms()
        """The seconds of each tool call by tool and outcome."""
        self.tool_names = Names()
        self.changing: set[asyncio.Task[Any]] = set()
        """The tasks of running requests that may change something.

        A server that ends waits for these tasks.
        """


class ToolCallMeasures(Listener):
    """Counts the tool calls of one project until its context ends."""

    def __init__(self, bus: EventBus, measures: ServerMeasures) -> None:
        self._bus = bus
        self._measures = measures
        self._names: dict[tuple[UUID, CallKey], str] = {}
        """The name of the tool of each unfinished call."""

    def _subscribe(self) -> Subscription:
        return self._bus.subscribe(ToolCallRequested, ToolCallCompleted, ToolCallFailed)

    async def _on_event(self, envelope: Envelope) -> None:
        match envelope.event:
            case ToolCallRequested() as call:
                self._names[call.request_id, call.key] = call.name
            case ToolCallCompleted() as call:
                self._count(call, COMPLETED)
            case ToolCallFailed() as call:
                self._count(call, call.error.kind.value)

    def _count(self, call: ToolCallCompleted | ToolCallFailed, outcome: str) -> None:
        name = self._names.pop((call.request_id, call.key), OTHER)
        known = outcome != ErrorKind.UNKNOWN_TOOL
        label = self._measures.tool_names.label(name, add=known)
        self._measures.tool_calls.observe((label, outcome), call.duration)


class RequestMeasures:
    """Middleware that measures each HTTP request until the end of its response."""

    def __init__(
        self, app: ASGIApp, *, measures: ServerMeasures, templates: Mapping[object, str]
    ) -> None:
        """Create the middleware.

        `templates` maps each endpoint that FastAPI did not create to the path of its route.
        """
        self._app = app
        self._measures = measures
        self._templates = templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and measure it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        status = 500
        task = asyncio.current_task()
        if task is not None and scope["method"] not in _READS:
            self._measures.changing.add(task)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            self._measures.changing.discard(task)
            method = scope["method"] if scope["method"] in _METHODS else OTHER
            labels = (method, self._template(scope), str(status))
            self._measures.requests.observe(labels, time.perf_counter() - begin)

    def _template(self, scope: Scope) -> str:
        """Return the template of the route, such as `/api/v1/turns/{request_id}`.

        The path itself never becomes a label, because clients choose it.
        """
        route = scope.get("route")
        if isinstance(route, APIRoute):
            return route.path_format
        template = self._templates.get(scope.get("endpoint"))
        return template or ("page" if is_of_page(scope["path"]) else OTHER)


_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
