from pathlib import Path

from mcp import Client

from tests.mcp.serving import failure, ok
from tests.server.serving import serving


async def test_clients_over_http_share_the_repository(repo: Path) -> None:
    async with serving(repo) as served:
        for _ in range(2):
            async with Client(f"{served.address}/mcp") as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert "request_code_context" in names
                arguments = {"token_budget": 1_000, "hint": "add"}
                found = ok(await client.call_tool("request_code_context", arguments))
                assert found["context"][0]["canonical_path"] == "calc.add"


async def test_the_address_chooses_the_groups_of_tools(repo: Path) -> None:
    async with serving(repo) as served:
        async with Client(f"{served.address}/mcp") as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert "fetch_runs" not in names
            refused = failure(await client.call_tool("fetch_runs", {}))
            assert "read_file" in refused["hint"]
            assert "fetch_runs" not in refused["hint"]
        async with Client(f"{served.address}/mcp?tools=code,traces") as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"grep", "fetch_runs"} <= names
            assert "apply_code_edit" not in names
            assert ok(await client.call_tool("fetch_runs", {}))["success"] is True
        answer = await served.http.post("/mcp?tools=trace", json={})
        assert answer.status_code == 422
        assert "code, edits" in answer.json()["error"]["hint"]


async def test_another_site_is_refused(repo: Path) -> None:
    async with serving(repo) as served:
        headers = {
            "Origin": "https://evil.example",
            "Accept": "application/json, text/event-stream",
        }
        answer = await served.http.post("/mcp", json={}, headers=headers)
        assert answer.status_code == 403
