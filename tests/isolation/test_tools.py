"""Every tool of the registry, over HTTP and over MCP, with the ids of another project."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import pytest

from tests.isolation.comparison import faults_of
from tests.isolation.requests import filled, kinds_in, named_ids
from tests.isolation.tool_arguments import PLAIN, TOOLS
from tests.isolation.world import OTHER, VICTIM, Kind, World, contents

pytestmark = pytest.mark.asyncio(loop_scope="package")

WALKED = frozenset({"GET /mcp", "POST /mcp", "DELETE /mcp"})
"""The routes that this module walks."""


def calls() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, given in TOOLS.items():
        for arguments in given:
            yield name, arguments


async def listed(world: World) -> list[dict[str, Any]]:
    answer = await world.http[OTHER].get("/api/v1/tools")
    found: list[dict[str, Any]] = answer.json()["data"]
    return [tool for tool in found if tool["place"] != "external"]


def argument_names(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> set[str]:
    """The names of all arguments of a tool, including those inside of other arguments."""
    if (reference := schema.get("$ref")) is not None:
        schema = whole["$defs"][reference.rpartition("/")[2]]
    found = set(schema.get("properties", ()))
    inner = [*schema.get("properties", {}).values()]
    inner += [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, ())]
    inner += [schema["items"]] if isinstance(schema.get("items"), dict) else []
    return found.union(*(argument_names(each, whole) for each in inner))


async def test_calls_cover_every_argument_of_every_tool(world: World) -> None:
    tools = await listed(world)
    assert {tool["name"] for tool in tools} == set(TOOLS)
    for tool in tools:
        names = argument_names(tool["parameters"], tool["parameters"])
        unknown = names - set(named_ids(TOOLS[tool["name"]])) - PLAIN
        assert not unknown, f"{tool['name']}: does {sorted(unknown)} contain ids?"


async def test_tools_answer_ids_of_another_project_like_unknown_ids(world: World) -> None:
    before = await contents(world.stores[VICTIM])
    faults = []
    for name, arguments in calls():

        async def send(
            ids: Mapping[Kind, str],
            headers: Mapping[str, str],
            name: str = name,
            arguments: Mapping[str, Any] = arguments,
        ) -> httpx2.Response:
            body = filled(arguments, ids)
            path = f"/api/v1/tools/{name}/call"
            return await world.http[OTHER].post(path, json=body, headers=headers)

        faults += await faults_of(world, (name, arguments), kinds_in(arguments), send)
    assert not faults, "\n".join(faults)
    assert await contents(world.stores[VICTIM]) == before


async def test_mcp_answers_ids_of_another_project_like_unknown_ids(world: World) -> None:
    path = "/mcp?tools=all"
    session = await initialized(world, OTHER)
    faults = []
    for name, arguments in calls():

        async def send(
            ids: Mapping[Kind, str],
            headers: Mapping[str, str],
            name: str = name,
            arguments: Mapping[str, Any] = arguments,
        ) -> httpx2.Response:
            body = {"name": name, "arguments": filled(arguments, ids)}
            return await world.http[OTHER].post(
                path, json=request("tools/call", body), headers={**session, **headers}
            )

        faults += await faults_of(world, (name, arguments), kinds_in(arguments), send, creates=True)
    assert not faults, "\n".join(faults)


async def test_mcp_session_of_another_project_is_unknown(world: World) -> None:
    foreign = (await initialized(world, VICTIM))["mcp-session-id"]
    for method in ("POST", "GET", "DELETE"):
        answers = []
        for session in (foreign, "d" * len(foreign)):
            headers = {**_ACCEPT, "mcp-session-id": session}
            body = request("tools/list") if method == "POST" else None
            answer = await world.http[OTHER].request(method, "/mcp", json=body, headers=headers)
            answers.append((answer.status_code, answer.text.replace(session, "")))
        assert answers[0] == answers[1]
        assert answers[0][0] == 404
    headers = {**_ACCEPT, "mcp-session-id": foreign}
    answer = await world.http[VICTIM].post("/mcp", json=request("tools/list"), headers=headers)
    assert answer.is_success


_ACCEPT = {"Accept": "application/json, text/event-stream"}


def request(method: str, parameters: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters or {}}


async def initialized(world: World, project: str) -> dict[str, str]:
    """Open an MCP session, and return the headers of its requests."""
    client = {"name": "tests", "version": "1"}
    parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    path = "/mcp?tools=all"
    answer = await world.http[project].post(
        path, json=request("initialize", parameters), headers=_ACCEPT
    )
    assert answer.is_success, answer.text
    headers = {**_ACCEPT, "mcp-session-id": answer.headers["mcp-session-id"]}
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await world.http[project].post(path, json=initialized, headers=headers)).is_success
    listed = await world.http[project].post(path, json=request("tools/list"), headers=headers)
    (message,) = [line for line in listed.text.splitlines() if line.startswith(("data: {", "{"))]
    names = {tool["name"] for tool in json.loads(message.removeprefix("data: "))["result"]["tools"]}
    assert set(TOOLS) <= names <= {*TOOLS, world.ids[project][Kind.TOOL]}
    return headers
