"""One MCP server: it is started in the background, and started again when it ends."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from treadle.clock import Clock, wait_within
from treadle.config.mcp import McpServerSettings
from treadle.errors import StoreError, TreadleError
from treadle.events.types import Effect, ErrorKind
from treadle.mcp_client.catalog import Catalog, CatalogBuilder
from treadle.mcp_client.connection import Connection, ServerFailedError, connected
from treadle.mcp_client.definition import Definition
from treadle.mcp_client.known import KnownDefinitions
from treadle.mcp_client.stdio import Reports
from treadle.mcp_client.tool import McpTool
from treadle.secrets import redact
from treadle.tools.contract import ToolContext, ToolError
from treadle.visible import in_line

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

FIRST_DELAY = 1.0
MAX_DELAY = 60.0
"""The seconds before a server is started again. The delay doubles after each failure."""

STABLE_SECONDS = 60.0
"""A server that answered for so many seconds is started again after the first delay."""

LIST_PAUSE = 1.0
"""The seconds between two lists of tools. A server may announce changes without end."""

CALL_WAIT = 10.0
"""The maximum seconds that a call waits for a server that is being started."""

_REASON_CHARACTERS = 500
_KEPT_ERRORS = 5
_KEPT_NOISE = 3


class ServerState(StrEnum):
    """The states of a server."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    """The server ended or did not start. It is started again after a delay."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of a server as a person sees it.

    `reason` states why it failed. `problems` are sentences about tools that are left out and about
    output that was skipped.
    """

    name: str
    transport: str
    state: ServerState
    tools: int = 0
    reason: str = ""
    problems: tuple[str, ...] = ()


Open = Callable[[Reports], "AbstractAsyncContextManager[TransportStreams]"]
"""A function that opens the transport to a server."""


class McpServer:
    """Keeps one server running. `run` does this until it is cancelled."""

    def __init__(
        self,
        name: str,
        settings: McpServerSettings,
        open_streams: Open,
        known: KnownDefinitions,
        clock: Clock,
    ) -> None:
        self.name = name
        self.transport = "stdio" if settings.command else "http"
        self._settings = settings
        self._open_streams = open_streams
        self._known = known
        self._clock = clock
        self._state = ServerState.STARTING
        self._reason = ""
        self._catalog = Catalog()
        self._noise: dict[str, None] = {}
        self._errors: deque[str] = deque(maxlen=_KEPT_ERRORS)
        self._connection: Connection | None = None
        self._changed = asyncio.Event()
        """An event that is set, and then replaced, when the state changes."""
        self._wake = asyncio.Event()
        """An event that is set when the server ended or its list of tools changed."""
        self._ended = False
        self._list_changed = False
        self._builder = CatalogBuilder(name, settings, self.transport, self._call, self._accept)

    def tools(self) -> tuple[McpTool, ...]:
        """Return the tools that the server listed last. They stay while it is started again."""
        return self._catalog.tools

    def status(self) -> ServerStatus:
        """Return the present state."""
        noise = tuple(f"Output was skipped: {text}." for text in self._noise)
        return ServerStatus(
            self.name,
            self.transport,
            self._state,
            len(self._catalog.tools),
            self._reason,
            (*self._catalog.problems, *noise),
        )

    async def settled(self) -> None:
        """Wait until the server is not being started."""
        while self._state is ServerState.STARTING:
            await self._changed.wait()

    async def run(self) -> None:
        """Start the server, and start it again whenever it ends."""
        delay = FIRST_DELAY
        while True:
            started = self._clock.monotonic()
            self._change(ServerState.STARTING)
            self._ended = self._list_changed = False
            self._wake.clear()
            self._errors.clear()
            try:
                await self._serve()
                reason = "It ended."
            except Exception as error:  # noqa: BLE001  (a server may fail in any way)
                reason = _reason(error)
            self._change(ServerState.FAILED, self._with_errors(reason))
            if self._clock.monotonic() - started >= STABLE_SECONDS:
                delay = FIRST_DELAY
            await self._clock.sleep(delay)
            delay = min(MAX_DELAY, delay * 2)

    async def _serve(self) -> None:
        """Connect, list the tools, and wait until the server ends."""
        reports = Reports(self._add_noise, self._errors.append, self._end)
        limit = self._settings.start_timeout
        opened = connected(
            lambda: self._open_streams(reports), self._change_list, seconds=limit, clock=self._clock
        )
        async with opened as connection:
            try:
                await wait_within(self._list_tools(connection), limit, self._clock)
            except TimeoutError as error:
                raise TreadleError(
                    f"It did not list its tools within {limit:g} seconds."
                ) from error
            self._connection = connection
            self._change(ServerState.READY)
            try:
                while not self._ended:
                    await self._wake.wait()
                    self._wake.clear()
                    if self._list_changed and not self._ended:
                        self._list_changed = False
                        await self._list_again(connection)
                        await self._clock.sleep(LIST_PAUSE)
            finally:
                self._connection = None

    async def _list_tools(self, connection: Connection) -> None:
        listed = await connection.tools()
        self._catalog = await asyncio.to_thread(self._read_catalog, listed)

    async def _list_again(self, connection: Connection) -> None:
        """List the tools again. If this fails, the former tools stay."""
        try:
            await wait_within(
                self._list_tools(connection), self._settings.start_timeout, self._clock
            )
        except (TimeoutError, TreadleError) as error:
            self._add_noise(f"it changed its tools but did not list them: {_reason(error)}")

    def _read_catalog(self, listed: list[object]) -> Catalog:
        try:
            known = self._known.of_server(self.name)
            catalog = self._builder.build(listed, known)
            self._known.add(list(catalog.first_seen), self._clock.now_us())
        except StoreError as error:
            raise TreadleError(f"Its known tools cannot be read: {error}") from error
        return catalog

    async def _call(
        self, tool: str, arguments: dict[str, Any], context: ToolContext
    ) -> Mapping[str, Any]:
        """Send a call to the server, which is started first if necessary. Raises ToolError."""
        with suppress(TimeoutError):
            await wait_within(self._ready(), CALL_WAIT, self._clock)
        connection = self._connection
        if connection is None:
            raise ToolError(
                ErrorKind.UNAVAILABLE,
                f"The MCP server {self.name} is not running. {self._reason}".strip(),
                hint="It is started again in the background. Continue without it.",
            )
        try:
            return await connection.call(tool, arguments, context.report)
        except ServerFailedError as error:
            if error.lost:
                self._end()
                raise ToolError(
                    ErrorKind.UNAVAILABLE,
                    f"The MCP server {self.name} ended during the call of {tool}.",
                    hint="It is started again. Find out what the call did before you repeat it.",
                    effect=Effect.UNKNOWN,
                ) from error
            raise ToolError(
                ErrorKind.UNAVAILABLE,
                f"The MCP server {self.name} refused the call of {tool}: {error.message}",
            ) from error

    async def _ready(self) -> None:
        """Wait until the server answers."""
        while self._connection is None:
            await self._changed.wait()

    async def _accept(self, definition: Definition) -> None:
        await asyncio.to_thread(self._known.add, [definition], self._clock.now_us())
        self._change_list()

    def _change(self, state: ServerState, reason: str = "") -> None:
        self._state, self._reason = state, reason
        self._changed.set()
        self._changed = asyncio.Event()

    def _end(self) -> None:
        self._ended = True
        self._wake.set()

    def _change_list(self) -> None:
        self._list_changed = True
        self._wake.set()

    def _add_noise(self, text: str) -> None:
        if len(self._noise) < _KEPT_NOISE:
            self._noise[in_line(redact(text))] = None

    def _with_errors(self, reason: str) -> str:
        """Return `reason` with the last lines that the server printed as errors."""
        lines = " | ".join(line.strip() for line in self._errors if line.strip())
        text = f"{reason} Its last error output: {lines}" if lines else reason
        return in_line(redact(text)[:_REASON_CHARACTERS])


def _reason(error: BaseException) -> str:
    """Return the text of an error. A group of errors has the text of its first error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, TreadleError) else f"{type(error).__name__}: {error}"
