"""Events, front ends, recorded spans and model calls of another project."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest

from tests.isolation.comparison import faults_of
from tests.isolation.requests import filled
from tests.isolation.world import (
    OTHER,
    SECRETS,
    UNKNOWN,
    VICTIM,
    Kind,
    World,
    contents,
)
from tests.server.exports import binary, export, span
from treadle.gateway.apis import PATHS

pytestmark = pytest.mark.asyncio(loop_scope="package")

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
    ids = world.ids[VICTIM]
    before = await contents(world.stores[VICTIM])
    sent = span(1, text="bluebird") | {"traceId": ids[Kind.TRACE], "spanId": ids[Kind.SPAN]}
    child = span(2) | {"traceId": ids[Kind.TRACE], "parentSpanId": ids[Kind.SPAN]}
    http = world.http[OTHER]
    for path in ("/v1/traces", "/api/public/otel/v1/traces"):
        assert (await http.post(path, json=export(sent, child))).is_success
    protobuf = {"Content-Type": "application/x-protobuf"}
    body = binary(export(sent))
    assert (await http.post("/v1/traces", content=body, headers=protobuf)).is_success
    shown = await http.get(f"/api/v1/whole_traces/{ids[Kind.TRACE]}")
    assert shown.is_success
    assert SECRETS[VICTIM] not in shown.text
    assert await contents(world.stores[VICTIM]) == before
    assert (await http.delete(f"/api/v1/traces/{ids[Kind.TRACE]}")).is_success
    assert await contents(world.stores[VICTIM]) == before


async def test_uploaded_media_of_another_project_are_not_restored(world: World) -> None:
    answers = []
    for number, ids in enumerate((UNKNOWN, world.ids[VICTIM])):
        reference = f"{world.address}/v2/images/{ids[Kind.MEDIA]}.png"
        sent = span(20 + number, text=json.dumps([{"image": reference}]))
        sent |= {"traceId": f"{number + 5:032x}"}
        assert (await world.http[OTHER].post("/v1/traces", json=export(sent))).is_success
        path = f"/api/v1/spans/{number + 5:032x}/{20 + number:016x}"
        shown = await world.http[OTHER].get(path, params={"whole": "true"})
        answers.append(reference in shown.text)
    assert answers == [True, True]


@pytest.mark.parametrize("path", sorted({path.split("{")[0] for path in PATHS}))
async def test_gateway_calls_do_not_reach_another_project(world: World, path: str) -> None:
    """The models, keys, breakpoints and cached answers of another project do not exist."""
    body: dict[str, Any] = {
        "model": "{provider}/{model}", "input": "x", "previous_response_id": "{run}",
        "messages": [{"role": "user", "content": "Hold it."}], "max_tokens": 5,
    }  # fmt: skip
    faults = []
    for method in ("GET", "POST", "DELETE"):

        async def send(ids: Any, headers: Any, method: str = method) -> Any:
            labels = {"x-label": "hold-canary", "x-thread-id": ids[Kind.THREAD]}
            content = filled(body, ids) if method == "POST" else None
            return await world.http[OTHER].request(
                method, path, json=content, headers={**headers, **labels}
            )

        kinds = {Kind.PROVIDER, Kind.MODEL, Kind.RUN, Kind.THREAD}
        faults += await faults_of(world, (method, path), kinds, send, creates=True)
    assert not faults, "\n".join(faults)
