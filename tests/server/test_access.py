"""Every route declares what its senders need, and refuses senders who do not have it."""

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts

from tests.server.identified import HOST, identified
from treadle.identity.identity import Limits, Role, Scope
from treadle.server.access import ACCESS, SOCKET
from treadle.server.built_page import is_of_page


def filled(path: str) -> str:
    """The path with a value for each parameter."""
    return re.sub(r"\{[^}]*\}", "1", path)


async def test_every_route_declares_what_it_needs(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        served = {
            (route.path, method)
            for route in iter_route_contexts(server.app.router.routes)
            for method in (route.methods or {SOCKET}) - {"HEAD"}
            if not is_of_page(filled(route.path or "")) and route.path != "/mcp"
        }
    declared = {
        (path, method) for path, needs in ACCESS.items() for method in needs if path != "/mcp"
    }
    assert served - declared == set()
    assert {path for path, _ in declared - served} == set()


async def test_undeclared_route_is_refused(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        server.app.add_api_route("/api/v1/undeclared", lambda: "secret")
        answer = await server.http.get(
            "/api/v1/undeclared", headers={"X-Treadle-Token": server.credentials.token}
        )
        assert answer.status_code == 403


async def test_every_route_refuses_a_sender_who_lacks_its_scope(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        keys = {
            scope: server.key(*(set(Scope) - {scope}), name=f"all but {scope}") for scope in Scope
        }
        checked = 0
        for path, needs in ACCESS.items():
            for method, need in needs.items():
                if need.scope is None:
                    continue
                key, target = keys[need.scope], filled(path)
                if method == SOCKET:
                    status = await socket_status(server.app, target, key)
                else:
                    answer = await server.http.request(
                        method, target, headers={"Authorization": f"Bearer {key}"}
                    )
                    status = answer.status_code
                    assert need.scope.value in answer.json()["error"]["message"]
                assert status == 403, (method, path)
                checked += 1
        assert checked > 150


async def test_no_route_answers_without_an_identity(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        for path, needs in ACCESS.items():
            for method, need in needs.items():
                if not need.public and method != SOCKET:
                    answer = await server.http.request(method, filled(path))
                    assert answer.status_code == 401, (method, path)
                if method == SOCKET:
                    assert await socket_status(server.app, filled(path), None) == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/turns"), ("POST", "/api/v1/approvals/1"), ("GET", "/api/v1/settings"),
        ("PUT", "/api/v1/providers/openai/key"), ("DELETE", "/api/v1/runs/1"),
        ("POST", "/v1/traces"), ("POST", "/v1/chat/completions"), ("POST", "/mcp"),
    ],
)  # fmt: skip
async def test_viewer_cannot_write_approve_or_see_settings(
    tmp_path: Path, method: str, path: str
) -> None:
    async with identified(tmp_path) as server:
        cookie = f"treadle_session={server.session('ada@example.com', Role.VIEWER)}"
        headers = {"Cookie": cookie, "Origin": f"http://{HOST}"}
        answer = await server.http.request(method, path, headers=headers)
        assert answer.status_code == 403
        assert "viewer" in answer.json()["error"]["message"]


async def test_key_with_a_limit_in_dollars_cannot_avoid_the_gateway(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(*Scope, limits=Limits(dollars_per_month=1.0))
        for path, needs in ACCESS.items():
            if needs.get("POST") is not None and needs["POST"].spends:
                answer = await server.http.post(filled(path), headers={"X-Api-Key": key})
                assert answer.status_code == 403, path
                assert "gateway" in answer.json()["error"]["message"]


async def socket_status(app: Any, path: str, key: str | None) -> int:
    """The HTTP status with which a WebSocket is refused."""
    sent: list[dict[str, Any]] = []
    headers = [(b"host", HOST.encode())]
    if key is not None:
        headers.append((b"authorization", f"Bearer {key}".encode()))
    scope = {
        "type": "websocket", "asgi": {"version": "3.0"}, "path": path, "raw_path": path.encode(),
        "query_string": b"", "headers": headers, "subprotocols": [], "client": ("192.0.2.1", 1),
        "server": (HOST, 80), "scheme": "ws", "extensions": {"websocket.http.response": {}},
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if sent[0]["type"] == "websocket.close":
        return 403  # how servers report a WebSocket that is closed before it was accepted
    return int(sent[0]["status"])
