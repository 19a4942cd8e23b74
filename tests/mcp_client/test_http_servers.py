"""Servers that speak streamable HTTP, on loopback."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.mcp_client.conftest import SECONDS, Person
from treadle.clock import SystemClock
from treadle.config.mcp import McpServerSettings, McpSettings
from treadle.mcp_client.known import StoredDefinitions
from treadle.mcp_client.server import ServerState
from treadle.mcp_client.servers import McpServers, Site
from treadle.secrets import redact
from treadle.tools.contract import ToolError

TOKEN = "a-token-of-the-server-0123456789"


class HttpMcp:
    """A server with one tool, and what it received."""

    def __init__(self, port: int = 0) -> None:
        self.headers: list[dict[str, str]] = []
        self.session = "first"
        self.silent = False
        self.redirect: str | None = None
        self.calls = 0
        handler = type("OneHandler", (Handler,), {"mcp": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @contextmanager
    def running(self) -> Iterator["HttpMcp"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["method"]:
            case "initialize":
                return {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "http", "version": "1"},
                }
            case "tools/list":
                schema = {"type": "object", "properties": {"q": {"type": "string"}}}
                return {"tools": [{"name": "find", "inputSchema": schema}]}
        self.calls += 1
        return {"content": [{"type": "text", "text": f"found {message['params']['arguments']}"}]}


class Handler(BaseHTTPRequestHandler):
    """Answers the requests to the server that the class variable names."""

    protocol_version = "HTTP/1.1"
    mcp: ClassVar[HttpMcp]

    def do_POST(self) -> None:
        mcp = self.mcp
        mcp.headers.append({name.lower(): text for name, text in self.headers.items()})
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if mcp.silent:
            threading.Event().wait(30)
        if mcp.redirect is not None:
            self._send(307, b"", {"Location": mcp.redirect})
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._send(401, b"")
        elif self.headers.get("mcp-session-id") not in (None, mcp.session):
            self._send(404, b"")
        elif "id" not in message:
            self._send(202, b"")
        else:
            body = {"jsonrpc": "2.0", "id": message["id"], "result": mcp.answer(message)}
            self._send(
                200,
                json.dumps(body).encode(),
                {"Content-Type": "application/json", "mcp-session-id": mcp.session},
            )

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(200, b"")

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


Connect = Callable[..., AbstractAsyncContextManager[McpServers]]


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    """Connects to the server at an address."""

    @asynccontextmanager
    async def connecting(
        url: str, variable: str = f"Bearer {TOKEN}", **settings: object
    ) -> AsyncIterator[McpServers]:
        given = McpServerSettings.model_validate(
            {"url": url, "header_env": {"Authorization": "DOCS"}, **settings}
        )
        known = StoredDefinitions(tmp_path / "mcp.db", tmp_path)
        site = Site(tmp_path, {"DOCS": variable})
        servers = McpServers(McpSettings(servers={"h": given}), site, known, SystemClock())
        async with servers:
            servers.start()
            yield servers

    return connecting


async def find(servers: McpServers) -> str:
    (tool,) = servers.tools()
    return (await tool.run(tool.arguments.model_validate({"q": "x"}), Person().context())).text


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110  (another thread changes it)
            await asyncio.sleep(0.01)


async def test_a_call_carries_the_named_header_and_returns_the_result(connect: Connect) -> None:
    with HttpMcp().running() as server:
        async with connect(server.url) as servers:
            await servers.wait(60)
            assert await find(servers) == "found {'q': 'x'}"

    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {TOKEN}"}
    assert TOKEN not in redact(f"the token {TOKEN} in a log")


async def test_a_refused_token_is_named_without_the_token(connect: Connect) -> None:
    with HttpMcp().running() as server:
        async with connect(server.url, variable="Bearer wrong-token-of-the-user") as servers:
            await servers.wait(60)
            (status,) = servers.statuses()

    assert status.state is ServerState.FAILED
    assert status.reason
    assert "wrong-token" not in status.reason


async def test_an_unset_variable_is_named(connect: Connect) -> None:
    async with connect("http://127.0.0.1:9/mcp", variable="") as servers:
        await servers.wait(60)
        (status,) = servers.statuses()

    assert "DOCS is not set or empty" in status.reason


async def test_a_silent_server_is_given_up_after_its_time(connect: Connect) -> None:
    with HttpMcp().running() as server:
        server.silent = True
        async with connect(server.url, start_timeout=0.2) as servers:
            await servers.wait(60)
            (status,) = servers.statuses()

    assert "did not answer" in status.reason


async def test_a_server_that_is_down_at_first_comes_later(connect: Connect) -> None:
    server = HttpMcp()
    server._server.server_close()
    async with connect(server.url) as servers:
        await servers.wait(60)
        assert servers.statuses()[0].state is ServerState.FAILED
        with HttpMcp(server.port).running():
            await until(lambda: bool(servers.tools()))
            assert await find(servers) == "found {'q': 'x'}"


async def test_a_session_that_the_server_forgot_is_opened_again(connect: Connect) -> None:
    with HttpMcp().running() as server:
        async with connect(server.url) as servers:
            await servers.wait(60)
            server.session = "second"
            with pytest.raises(ToolError, match="ended during the call"):
                await find(servers)

            assert await find(servers) == "found {'q': 'x'}"
    assert server.calls == 1


async def test_the_token_does_not_follow_a_redirect_to_another_place(connect: Connect) -> None:
    with HttpMcp().running() as thief, HttpMcp().running() as server:
        server.redirect = thief.url
        async with connect(server.url) as servers:
            await servers.wait(60)
            assert servers.statuses()[0].state is ServerState.FAILED

    assert thief.headers == []
