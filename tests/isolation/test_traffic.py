"""Events, front ends, recorded spans and model calls of another project."""

import asyncio
import json
from base64 import b64encode
from contextlib import suppress
from typing import Any, Final

import grpc  # type: ignore[import-untyped]  # it ships no types
import httpx2
import pytest

from tests.isolation.comparison import faults_of
from tests.isolation.requests import filled
from tests.isolation.world import (
    MEDIA,
    OTHER,
    SECRETS,
    UNKNOWN,
    VICTIM,
    Kind,
    World,
    contents,
)
from tests.server.exports import binary, export, span
from tests.spans.otlp import test_log_records as log_records
from treadle.gateway.apis import PATHS
from treadle.server.otlp_grpc import SERVICES

pytestmark = pytest.mark.asyncio(loop_scope="package")

_INGEST: Final = ("/v1/traces", "/api/public/otel/v1/traces", "/v1/logs", "/v1/metrics")
WALKED = frozenset({
    "WEBSOCKET /api/v1/events/socket", "WEBSOCKET /api/v1/front_ends/{name}",
    "GET /api/v1/events",
    *(f"POST {path}" for path in _INGEST),
    *(f"{method} {path.replace(':path}', '}')}" for path in PATHS
      for method in ("GET", "POST", "DELETE")),
})  # fmt: skip
"""The routes that this module walks."""

_LAST = "the last message"


async def test_events_of_another_project_are_not_sent(world: World) -> None:
    """The streams begin with the oldest event, so they would contain all events of the victim."""
    turn, page = world.ids[VICTIM][Kind.TURN], world.ids[VICTIM][Kind.PAGE]
    query = f"after=0&page={page}&approve=true"
    async with (
        world.socket(OTHER, f"/api/v1/events/socket?{query}") as socket,
        world.http[OTHER].stream("GET", f"/api/v1/events?{query}") as every,
        world.http[OTHER].stream("GET", f"/api/v1/events?after=0&request_id={turn}") as one,
    ):
        for project, text in ((VICTIM, SECRETS[VICTIM]), (OTHER, _LAST)):
            asked = await world.http[project].post("/api/v1/turns", json={"text": text})
            assert asked.is_success, asked.text
        heard = ""
        async with asyncio.timeout(20):
            while _LAST not in heard:
                heard += str(await socket.recv())
            async for line in every.aiter_lines():
                heard += line
                if _LAST in line:
                    break
        with suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                heard += "".join([line async for line in one.aiter_lines()])
    assert SECRETS[VICTIM] not in heard
    assert turn not in heard


async def test_front_end_of_another_project_is_not_replaced_and_gets_no_calls(
    world: World,
) -> None:
    ids = world.ids[VICTIM]
    tool = {"name": ids[Kind.TOOL], "description": "Mine.", "parameters": {"type": "object"}}
    path = f"/api/v1/front_ends/{ids[Kind.FRONT_END]}"
    async with world.socket(OTHER, path) as socket:
        await socket.send(json.dumps({"type": "hello", "tools": [tool]}))
        assert json.loads(await socket.recv())["type"] == "ready"
        result = {"type": "tool_result", "request_id": ids[Kind.TURN], "result": "x"}
        await socket.send(json.dumps(result | {"key": {"turn": 0, "slot": 0}}))
        heard: list[str] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                heard += [json.loads(message)["type"] async for message in socket]
        assert "tool_call" not in heard
    tools = (await world.http[VICTIM].get("/api/v1/tools")).json()["data"]
    assert (
        SECRETS[VICTIM]
        in next(each for each in tools if each["name"] == ids[Kind.TOOL])["description"]
    )


async def test_spans_with_ids_of_another_project_do_not_reach_its_traces(world: World) -> None:
    """Over HTTP and over gRPC, as spans and as logs, in JSON and as protobuf."""
    ids = world.ids[VICTIM]
    before = await contents(world.stores[VICTIM])
    sent = span(1, text="bluebird") | {"traceId": ids[Kind.TRACE], "spanId": ids[Kind.SPAN]}
    child = span(2) | {"traceId": ids[Kind.TRACE], "parentSpanId": ids[Kind.SPAN]}
    record = log_records.record(
        "gen_ai.user.message", "bluebird", traceId=ids[Kind.TRACE], spanId=ids[Kind.SPAN]
    )
    logs = log_records.request(record)
    json_bodies = {"/v1/logs": logs, "/v1/metrics": {"resourceMetrics": []}}
    protobuf_bodies = {"/v1/logs": log_records.protobuf(logs), "/v1/metrics": b""}
    protobuf = {"Content-Type": "application/x-protobuf"}
    http = world.http[OTHER]
    for path in _INGEST:
        body = json_bodies.get(path, export(sent, child))
        assert (await http.post(path, json=body)).is_success
        content = protobuf_bodies.get(path, binary(export(sent)))
        assert (await http.post(path, content=content, headers=protobuf)).is_success
    for service in SERVICES:
        content = binary(export(sent)) if "trace" in service else protobuf_bodies["/v1/logs"]
        await _send_over_grpc(world, service, b"" if "metrics" in service else content)
    shown = await http.get(f"/api/v1/whole_traces/{ids[Kind.TRACE]}")
    assert shown.is_success
    assert "bluebird" in shown.text
    assert SECRETS[VICTIM] not in shown.text
    assert await contents(world.stores[VICTIM]) == before
    assert (await http.delete(f"/api/v1/traces/{ids[Kind.TRACE]}")).is_success
    assert await contents(world.stores[VICTIM]) == before


async def _send_over_grpc(world: World, service: str, content: bytes) -> None:
    metadata = [("authorization", f"Bearer {world.keys[OTHER]}")]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{world.grpc_port}") as channel:
        call = channel.unary_unary(f"/{service}/Export")
        await call(content, timeout=60, metadata=metadata)


async def test_download_ticket_reads_no_other_project(world: World) -> None:
    """The ticket has the project of its request, whatever the download names."""

    async def send(ids: Any, headers: Any) -> Any:
        target = {"path": f"/api/v1/exports/html/{ids[Kind.TRACE]}"}
        link = (await world.http[OTHER].post("/api/v1/exports/links", json=target)).json()["path"]
        async with httpx2.AsyncClient(base_url=world.address, timeout=60) as stranger:
            stranger.headers["X-Forwarded-For"] = "192.0.2.7"
            return await stranger.get(link, headers=headers)

    faults = await faults_of(world, "download ticket", {Kind.TRACE}, send)
    assert not faults, "\n".join(faults)


async def test_uploaded_media_of_another_project_are_not_restored(world: World) -> None:
    content = b64encode(MEDIA[VICTIM]).decode()
    for number, ids in enumerate((UNKNOWN, world.ids[VICTIM])):
        reference = f"{world.address}/v2/images/{ids[Kind.MEDIA]}.png"
        sent = span(20 + number, text=json.dumps([{"image": reference}]))
        sent |= {"traceId": f"{number + 5:032x}"}
        assert (await world.http[OTHER].post("/v1/traces", json=export(sent))).is_success
        path = f"/api/v1/spans/{number + 5:032x}/{20 + number:016x}"
        shown = await world.http[OTHER].get(path, params={"whole": "true"})
        assert shown.is_success
        assert content not in shown.text


@pytest.mark.parametrize("path", PATHS)
async def test_gateway_calls_do_not_reach_another_project(world: World, path: str) -> None:
    """The models, keys, breakpoints and cached answers of another project do not exist."""
    body: dict[str, Any] = {
        "model": "{provider}/{model}", "input": "x", "previous_response_id": "{run}",
        "messages": [{"role": "user", "content": "Hold it."}], "max_tokens": 5,
        "contents": [{"parts": [{"text": "Hold it."}]}],
    }  # fmt: skip
    action = ":generateContent" if "alpha" in path or "beta" in path else ""
    template = path.replace("{rest:path}", "{run}/content")
    template = template.replace("{model:path}", "{provider}/{model}") + action
    faults = []
    for method in ("GET", "POST", "DELETE"):

        async def send(ids: Any, headers: Any, method: str = method) -> Any:
            labels = {"x-label": "hold-canary", "x-thread-id": ids[Kind.THREAD]}
            content = filled(body, ids) if method == "POST" else None
            return await world.http[OTHER].request(
                method, filled(template, ids), json=content, headers={**headers, **labels}
            )

        kinds = {Kind.PROVIDER, Kind.MODEL, Kind.RUN, Kind.THREAD}
        faults += await faults_of(world, (method, template), kinds, send, creates=True)
    assert not faults, "\n".join(faults)
