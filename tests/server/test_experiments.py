"""Experiments over HTTP: a server with a gateway in front of a provider."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Pause, Script
from tests.server.serving import Served, serving

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]


async def _made(server: Served) -> dict[str, Any]:
    """An experiment from a recorded call of the gateway."""
    answer = await server.http.post(
        "/v1/chat/completions", json={"model": "custom/m", "messages": MESSAGES}
    )
    span = f"{answer.headers['x-trace-id']}/{answer.headers['x-span-id']}"
    while True:  # until the call is recorded
        made = await server.http.post("/api/v1/experiments", json={"spans": [span]})
        if made.status_code == 201:
            return dict(made.json())
        await asyncio.sleep(0.05)


async def _batch(server: Served, path: str, *states: str) -> dict[str, Any]:
    while True:
        batch: dict[str, Any] = await server.get(path)
        if batch["state"] in states:
            return batch
        await asyncio.sleep(0.05)


async def test_experiment_from_creation_to_comparison(
    repo: Path,
) -> None:
    replies: list[Reply] = [Answer("x"), *[Answer("same")] * 3, Script(before=(Pause(),))]
    async with FakeProvider(replies) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "k" * 12}
        async with serving(repo, **env) as server:
            made = await _made(server)
            unrun = (await server.get("/experiments"))["data"][0]
            here = f"/experiments/{made['id']}"
            wrong = await server.http.patch(f"/api/v1{here}", json={"data": {"model": 3}})
            checked = await server.post(f"{here}/check", {"data": {"headers": {"Host": "x"}}})
            changed = await server.http.patch(
                f"/api/v1{here}", json={"data": {"system": "Be long."}, "note": "longer"}
            )
            begun = await server.post(f"{here}/batches", {"repeats": 3})
            path = f"{here}/batches/{begun['id']}"
            await provider.wait_for_requests(5)
            await server.post(f"{path}/cancel")
            cancelled = await _batch(server, path, "cancelled")
            provider.add(*[Answer("same")] * 3)
            await server.post(f"{path}/resume")
            finished = await _batch(server, path, "finished")
            compared = await server.get(f"{path}/comparison")
            listed = await server.get("/experiments", limit=10)
            exported = await server.get(f"{here}/export")
            foreign = await server.http.get(f"/api/v1/experiments/nope/batches/{begun['id']}")
            unknown = await server.http.get("/api/v1/experiments", params={"lmit": 1})
            neither = await server.http.post("/api/v1/experiments", json={})
            queried = await server.post(
                "/experiments", {"query": "kind:model own:include", "limit": 2}
            )
            deleted = await server.http.delete(f"/api/v1{here}")
            gone = await server.http.get(f"/api/v1{here}")
            health = await server.get("/health")
    assert wrong.status_code == 422
    assert wrong.json()["error"]["problems"] == [
        {"field": "model", "message": "It should be a text."}
    ]
    assert checked["problems"][0]["field"] == "headers.Host"
    assert changed.json()["versions"][0]["note"] == "longer"
    assert changed.json()["items"][0]["original"]["messages"][0]["content"] == "Be brief."
    assert changed.json()["items"][0]["current"]["messages"][0]["content"] == "Be long."
    assert (begun["state"], begun["variants"]) == ("running", ["original", "v1"])
    assert cancelled["progress"]["done"] == 3
    assert finished["progress"]["done"] == 6
    assert finished["runs"][:3] == cancelled["runs"]
    assert [each["variant"] for each in compared["variants"]] == ["v1"]
    assert compared["variants"][0]["same_outputs"] == 3
    assert listed["pagination"] == {"offset": 0, "limit": 10, "total": 1}
    last = listed["data"][0]["last_batch"]
    assert (last["id"], last["state"], last["done"]) == (begun["id"], "finished", 6)
    assert (last["failed"], last["total"]) == (0, 6)
    assert unrun["last_batch"] is None
    assert exported["batches"][0]["comparison"] == compared
    assert (foreign.status_code, unknown.status_code, neither.status_code) == (404, 422, 422)
    assert len(queried["items"]) == 2
    assert (deleted.status_code, gone.status_code) == (204, 404)
    # The calls went through the server's own gateway, which counts them.
    assert health["gateway"]["calls"] == len(provider.requests)


@pytest.mark.slow
async def test_batch_is_resumed_after_the_server_ended(repo: Path) -> None:
    async with FakeProvider([Answer("x"), Script(before=(Pause(),))]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "k" * 12}
        async with serving(repo, **env) as server:
            made = await _made(server)
            begun = await server.post(f"/experiments/{made['id']}/batches", {"repeats": 1})
            await provider.wait_for_requests(2)
        provider.add(Answer("late"))
        async with serving(repo, **env) as server:
            path = f"/experiments/{made['id']}/batches/{begun['id']}"
            left = await server.get(path)
            await server.post(f"{path}/resume")
            finished = await _batch(server, path, "finished")
    assert left["state"] == "cancelled"
    assert left["reason"] == "The program that ran it was terminated."
    assert [run["content"] for run in finished["runs"]] == ["late"]
