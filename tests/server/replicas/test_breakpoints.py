"""Breakpoints and held calls of several servers, and after a restart."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.engines import NatsServer
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.server.replicas.running import Replica, replica, replicas

pytestmark = pytest.mark.usefixtures("either_engine")
SECRET = "sk-proj-" + "Ab1" * 14


def of(provider: FakeProvider) -> dict[str, str]:
    return {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "sk-secret-0123456789"}


@asynccontextmanager
async def called(server: Replica, text: str = "Hi") -> AsyncIterator[asyncio.Task[httpx2.Response]]:
    """A model call through the gateway of a server. A breakpoint holds it."""
    body = {"model": "custom/m", "messages": [{"role": "user", "content": text}]}
    calling = asyncio.create_task(server.http.post("/v1/chat/completions", json=body))
    try:
        yield calling
    finally:
        calling.cancel()


async def held(server: Replica, state: str = "waiting") -> Any:
    """The only held call in a state, as a server lists it."""
    async with asyncio.timeout(60):
        while not (  # noqa: ASYNC110  (the other server reports no event)
            found := (await server.get("/breakpoints/held", state=state))["data"]
        ):
            await asyncio.sleep(0.02)
    (call,) = found
    return call


async def test_breakpoint_of_one_server_acts_at_another(repo: Path, nats: NatsServer) -> None:
    async with (
        FakeProvider([Answer("One."), Answer("Two.")]) as provider,
        replicas(2, repo, nats.url, **of(provider)) as (one, two),
    ):
        point = await one.post("/breakpoints", {"model": "custom/*"})
        assert (await two.get("/breakpoints"))["data"] == [point]
        async with called(two) as calling:
            call = await held(one)
            await one.post(f"/breakpoints/held/{call['id']}/continue")
            assert (await calling).is_success
        path = f"/api/v1/breakpoints/{point['id']}"
        assert (await two.http.patch(path, json={"enabled": False})).is_success
        async with called(one) as calling:
            assert (await calling).is_success
        assert (await one.http.delete(path)).is_success
        assert (await two.get("/breakpoints"))["data"] == []
        assert (await two.http.delete(path)).status_code == 404


async def test_held_call_of_one_server_is_decided_at_another(repo: Path, nats: NatsServer) -> None:
    async with (
        FakeProvider([Answer("One.")]) as provider,
        replicas(2, repo, nats.url, **of(provider)) as (one, two),
    ):
        await one.post("/breakpoints", {})
        async with called(one, f"The key is {SECRET}.") as calling:
            call = await held(two)
            path = f"/breakpoints/held/{call['id']}"
            shown = await two.get(path)
            assert SECRET in shown["body"]  # the body that the provider would get
            assert (await two.http.post(f"/api/v1{path}/continue", json={"body": "x"})).is_error
            edited = {"model": "custom/m", "messages": [{"role": "user", "content": "Edited."}]}
            assert (await two.post(f"{path}/continue", {"body": edited}))["state"] == "edited"
            assert (await calling).is_success
        assert "Edited." in str(provider.requests[0].messages)
        assert (await held(two, "edited"))["id"] == call["id"]
        assert SECRET not in (await two.get(path))["body"]
        late = await two.http.post(f"/api/v1{path}/continue")
        assert "is no longer held: its state is edited" in late.text
        async with called(one) as calling:
            call = await held(two)
            body = {"reason": "Not now."}
            refused = await two.post(f"/breakpoints/held/{call['id']}/refuse", body)
            assert (refused["state"], refused["reason"]) == ("refused", "Not now.")
            assert "Not now." in (await calling).text


async def test_breakpoint_acts_after_a_restart(repo: Path, nats: NatsServer) -> None:
    async with FakeProvider() as provider:
        async with replica(repo, nats.url, **of(provider)) as server:
            point = await server.post("/breakpoints", {"labels": ["slow"], "timeout": 60})
            gone = await server.post("/breakpoints", {"model": "x"})
            assert (await server.http.delete(f"/api/v1/breakpoints/{gone['id']}")).is_success
            assert (
                await server.http.patch(
                    f"/api/v1/breakpoints/{point['id']}", json={"labels": [], "timeout": 30}
                )
            ).is_success
        async with replica(repo, nats.url, **of(provider)) as server:
            (after,) = (await server.get("/breakpoints"))["data"]
            assert after == {**point, "labels": [], "timeout": 30}
            async with called(server):
                assert (await held(server))["breakpoint_id"] == point["id"]


async def test_call_of_a_stopped_server_is_lost(repo: Path, nats: NatsServer) -> None:
    async with (
        FakeProvider() as provider,
        replicas(1, repo, nats.url, **of(provider)) as (two,),
    ):
        async with replica(repo, nats.url, **of(provider)) as one:
            await one.post("/breakpoints", {})
            async with called(one):
                call = await held(two)
        answer = await two.http.post(f"/api/v1/breakpoints/held/{call['id']}/continue")
        assert answer.status_code == 422
        assert "no longer held" in answer.text
        (after,) = (await two.get("/breakpoints/held"))["data"]
        assert after["state"] in {"lost", "cancelled"}
