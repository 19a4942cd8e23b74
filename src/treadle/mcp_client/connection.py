"""A connection to an MCP server: lists its tools and calls them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle.clock import Clock, wait_within
from treadle.errors import TreadleError

if TYPE_CHECKING:  # the SDK loads slowly
    from mcp.client._transport import TransportStreams
    from mcp.client.session import ClientSession
    from mcp.shared.dispatcher import CallOptions
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

MAX_TOOLS = 10_000
"""The maximum number of tools that are read from a list. The rest is not read."""

_MAX_PAGES = 100
_ERROR_CHARACTERS = 1_000
_PROTOCOL_HEADER = "mcp-protocol-version"

Report = Callable[[str], Awaitable[None]]
"""A function that receives a sentence about the progress of a call."""

OpenStreams = Callable[[], "AbstractAsyncContextManager[TransportStreams]"]
"""A function that opens the transport to a server."""


class ServerFailedError(TreadleError):
    """A server answered with an error.

    `lost` states whether the server no longer answers, so that a new connection is needed.
    """

    def __init__(self, message: str, *, lost: bool) -> None:
        super().__init__(message)
        self.lost = lost


def load_sdk() -> None:
    """Import the SDK. It takes seconds on a slow machine, so call this function in a thread."""
    import mcp.client.session
    import mcp.client.streamable_http
    import mcp.shared.jsonrpc_dispatcher  # noqa: F401


@dataclass(frozen=True, slots=True)
class Connection:
    """An initialized connection. Results are JSON values of the server."""

    session: "ClientSession"
    dispatcher: "JSONRPCDispatcher[Any]"

    async def tools(self) -> list[object]:
        """Return the list of the server's tools. Raises ServerFailedError."""
        found: list[object] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await self._request("tools/list", {"cursor": cursor} if cursor else {}, {})
            listed = page.get("tools")
            found += listed if isinstance(listed, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor or len(found) >= MAX_TOOLS:
                break
            cursor = following
        return found[:MAX_TOOLS]

    async def call(self, tool: str, arguments: Mapping[str, Any], report: Report) -> dict[str, Any]:
        """Call a tool and return the answer of the server. Raises ServerFailedError.

        If the caller is cancelled, the server receives a request to stop the call.
        """

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            await report(f"{share}: {message}" if message else share)

        parameters = {"name": tool, "arguments": dict(arguments)}
        return await self._request("tools/call", parameters, {"on_progress": on_progress})

    async def _request(
        self, method: str, parameters: Mapping[str, Any], options: "CallOptions"
    ) -> dict[str, Any]:
        """Send a request. The SDK's own methods refuse a whole list for one invalid tool."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        version = self.session.protocol_version
        if version is not None:
            options["headers"] = {_PROTOCOL_HEADER: version}
        try:
            return await self.dispatcher.send_raw_request(method, parameters, options)
        except MCPError as error:
            lost = error.code == CONNECTION_CLOSED or _is_lost_session(error.message)
            raise ServerFailedError(error.message[:_ERROR_CHARACTERS], lost=lost) from error


def _is_lost_session(message: str) -> bool:
    """Whether an error of the HTTP transport means that a new session is needed."""
    return message.startswith(("Session terminated", "Server returned an error response"))


@asynccontextmanager
async def connected(
    open_streams: OpenStreams,
    on_list_change: Callable[[], None],
    *,
    seconds: float,
    clock: Clock,
) -> AsyncIterator[Connection]:
    """Connect to a server, and yield the connection.

    `on_list_change` is called when the server says that its list of tools changed. Raises
    TreadleError if the server does not answer within `seconds`, and the errors of `open_streams`.
    """
    await asyncio.to_thread(load_sdk)
    from mcp import MCPError
    from mcp.client.session import ClientSession, IncomingMessage
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
    from mcp_types import Implementation, ToolListChangedNotification

    async def on_message(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            on_list_change()

    async with open_streams() as (read_stream, write_stream):
        dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(read_stream, write_stream)
        session = ClientSession(
            dispatcher=dispatcher,
            message_handler=on_message,
            client_info=Implementation(name="treadle", version="1"),
        )
        async with session:
            try:
                await wait_within(session.initialize(), seconds, clock)
            except TimeoutError as error:
                raise TreadleError(
                    f"It did not answer the first request within {seconds:g} seconds.",
                    hint="Start the server by hand and look at its output.",
                ) from error
            except (MCPError, RuntimeError, ValueError) as error:
                text = str(error)[:_ERROR_CHARACTERS]
                raise TreadleError(f"It refused the first request: {text}") from error
            yield Connection(session, dispatcher)
