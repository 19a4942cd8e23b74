"""The gateway of `treadle serve`, behind its guard, with its breakpoints."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, Cut, Pause, delta, sse
from tests.server.serving import Served, serving

HI: Any = [{"role": "user", "content": "Hi"}]
TOOL: Any = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {}}},
}


def configure(repo: Path, provider: FakeProvider) -> None:
    folder = repo.parent / "home" / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        f'[providers.fake]\nbase_url = "{provider.base_url}"\nmodels = ["m"]\nmax_retries = 0\n'
    )


def client(served: Served, key: str = "any") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{served.address}/v1", api_key=key, max_retries=0)


async def test_call_of_a_program_is_recorded(repo: Path) -> None:
    reply = Answer("Hello", calls=[Call("add", {"a": 1})])
    async with FakeProvider([reply, sse(delta(content="a"), Pause(0.1), Cut())]) as provider:
        configure(repo, provider)
        async with serving(repo) as served, client(served) as own:
            models = [model.id async for model in own.models.list()]
            stream = await own.chat.completions.create(
                model="m", messages=HI, tools=[TOOL], stream=True
            )
            text = "".join([c.choices[0].delta.content or "" async for c in stream])
            cut = await own.chat.completions.create(model="m", messages=HI, stream=True)
            with pytest.raises((httpx2.HTTPError, openai.APIError)):
                _ = [chunk async for chunk in cut]
            health = await served.get("/health")
    assert "fake/m" in models
    assert text == "Hello"
    assert health["gateway"] == {"path": "/v1", "calls": 2, "unrecorded": 0, "reason": None}
    with sqlite3.connect(repo.parent / "home" / "data" / "traces.db") as file:
        rows = file.execute("SELECT kind, status, output_tokens FROM spans ORDER BY id").fetchall()
    file.close()
    assert rows == [("model", "ok", 5), ("model", "error", None)]


@pytest.mark.slow
async def test_the_guard_covers_the_gateway(repo: Path) -> None:
    async with FakeProvider([Answer("Hello")]) as provider:
        configure(repo, provider)
        async with serving(
            repo, "--host", "0.0.0.0", TREADLE_SERVE_TOKEN="t0ken-t0ken-t0ken"
        ) as served:
            port = served.address.rsplit(":", 1)[1]
            address = f"http://127.0.0.1:{port}/v1"
            body = {"model": "m", "messages": HI}
            async with httpx2.AsyncClient() as http:
                without = await http.post(f"{address}/chat/completions", json=body)
                bearer = {"authorization": "Bearer t0ken-t0ken-t0ken"}
                strange = await http.post(
                    f"{address}/chat/completions", json=body, headers={**bearer, "host": "evil.com"}
                )
                page = await http.post(
                    f"{address}/chat/completions",
                    json=body,
                    headers={**bearer, "origin": "http://evil.com"},
                )
                right = await http.post(f"{address}/chat/completions", json=body, headers=bearer)
    statuses = [answer.status_code for answer in (without, strange, page, right)]
    assert statuses == [401, 421, 403, 200]
    assert "authorization" not in provider.requests[0].headers


async def _waiting(served: Served) -> Any:
    """The waiting call, as soon as there is one."""
    for _ in range(600):
        if data := (await served.get("/breakpoints/held", state="waiting"))["data"]:
            return data[0]
        await asyncio.sleep(0.05)
    raise AssertionError("nothing is held")


async def test_breakpoints_over_http(repo: Path) -> None:
    async with FakeProvider([Answer("one"), Answer("two")]) as provider:
        configure(repo, provider)
        async with serving(repo) as served, client(served) as own:
            point = await served.post("/breakpoints", {"model": "m", "timeout": 60})
            calling = asyncio.create_task(own.chat.completions.create(model="m", messages=HI))
            waiting = await _waiting(served)
            shown = await served.get(f"/breakpoints/held/{waiting['id']}")
            body = json.loads(shown["body"])
            body["messages"][0]["content"] = "Edited"
            await served.post(f"/breakpoints/held/{waiting['id']}/continue", {"body": body})
            assert (await calling).choices[0].message.content == "one"
            again = await served.http.post(f"/api/v1/breakpoints/held/{waiting['id']}/continue")
            calling = asyncio.create_task(own.chat.completions.create(model="m", messages=HI))
            waiting = await _waiting(served)
            await served.post(f"/breakpoints/held/{waiting['id']}/refuse", {"reason": "no"})
            with pytest.raises(openai.PermissionDeniedError, match="refused"):
                await calling
            changed = await served.http.patch(
                f"/api/v1/breakpoints/{point['id']}", json={"enabled": False}
            )
            reply = await own.chat.completions.create(model="m", messages=HI)
            odd = await served.http.post("/api/v1/breakpoints", json={"modle": "m"})
            gone = await served.http.delete(f"/api/v1/breakpoints/{point['id']}")
            missing = await served.http.delete(f"/api/v1/breakpoints/{point['id']}")
            left = await served.get("/breakpoints")
            states = [h["state"] for h in (await served.get("/breakpoints/held"))["data"]]
    assert provider.requests[0].messages[0]["content"] == "Edited"
    assert again.status_code == 422
    assert changed.json() == {**point, "enabled": False}
    assert reply.choices[0].message.content == "two"
    assert (odd.status_code, gone.status_code, missing.status_code) == (422, 204, 404)
    assert left == {"data": [], "broken": None}
    assert states == ["refused", "edited"]


@pytest.mark.slow
async def test_held_calls_of_a_killed_server_are_lost(repo: Path) -> None:
    async with FakeProvider() as provider:
        configure(repo, provider)
        async with serving(repo) as served, client(served) as own:
            await served.post("/breakpoints", {"labels": ["l"]})
            calling = asyncio.create_task(
                own.chat.completions.create(model="m", messages=HI, extra_headers={"x-label": "l"})
            )
            waiting = await _waiting(served)
            calling.cancel()
        database = repo.parent / "home" / "data" / "breakpoints.db"
        with sqlite3.connect(database) as file:  # as it was while it waited
            data = file.execute("SELECT data FROM held").fetchone()[0]
            value = json.dumps({**json.loads(data), "state": "waiting", "decided_us": None})
            file.execute("UPDATE held SET state = 'waiting', data = ?", (value,))
        file.close()
        async with serving(repo) as served:
            (point,) = (await served.get("/breakpoints"))["data"]
            (after,) = (await served.get("/breakpoints/held"))["data"]
    assert point["labels"] == ["l"]
    assert (after["id"], after["state"]) == (waiting["id"], "lost")


@pytest.mark.slow
async def test_calls_continue_without_a_trace_store(repo: Path) -> None:
    home = repo.parent / "home"
    (home / "data" / "traces.db").mkdir(parents=True)
    async with FakeProvider([Answer("Hello")]) as provider:
        configure(repo, provider)
        opened = serving(repo, warning="Nothing is recorded")
        async with opened as served, client(served) as own:
            reply = await own.chat.completions.create(model="m", messages=HI)
            health = await served.get("/health")
            for _ in range(600):
                if health["gateway"]["unrecorded"]:
                    break
                await asyncio.sleep(0.05)
                health = await served.get("/health")
    assert reply.choices[0].message.content == "Hello"
    assert health["gateway"]["unrecorded"] == 1
    assert health["gateway"]["reason"]
