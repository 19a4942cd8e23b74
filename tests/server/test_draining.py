"""The end of a server that receives SIGTERM, and the probes of load balancers."""

import asyncio
import contextlib
import json
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.command import start
from tests.database.notes import NOTES, add
from tests.engines import free_port
from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Pause, delta, sse
from tests.server.exports import export, span
from tests.server.serving import serving
from treadle.app.stores import Stores
from treadle.database import open_database
from treadle.errors import StoreError
from treadle.server.readiness import Readiness, checks_of
from treadle.traces import TraceStore

NOTICE = {"TREADLE_SERVER__DRAIN_NOTICE": "1"}


async def test_server_that_drains_is_not_ready_but_answers(repo: Path) -> None:
    async with serving(repo, **NOTICE) as served:
        before = await served.http.get("/readyz")
        assert before.status_code == 200
        assert {"name": "traces", "ready": True, "problem": None} in before.json()["parts"]
        await served.terminate()
        after = await served.http.get("/readyz")
        assert (after.status_code, after.json()["draining"]) == (503, True)
        assert (await served.http.get("/healthz")).json() == {"ok": True}
        stored = await served.http.post("/v1/traces", json=export(span(1)))
        assert stored.status_code == 200
        assert stored.headers["connection"] == "close"
    store = TraceStore.open(repo.parent / "home" / "data" / "traces.db")
    try:
        assert len(store.trace(f"{1:032x}").spans) == 1
    finally:
        store.close()


async def test_running_turn_completes_before_the_end(repo: Path) -> None:
    released = asyncio.Event()
    reply = sse(
        delta(content="It "), Pause(event=released), delta(content="adds.", finish_reason="stop")
    )
    async with FakeProvider([reply]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "sk-none-0123456789"}
        async with serving(repo, **env) as served:
            begun = await served.post("/turns", {"text": "How does add work?"})
            while not provider.requests:  # noqa: ASYNC110  (the provider has no event for it)
                await asyncio.sleep(0.01)
            await served.terminate()
            released.set()
            ended = await served.ended(begun["request_id"])
            assert (ended["state"], ended["final"]["text"]) == ("done", "It adds.")


async def test_streams_of_mcp_stay_open_until_the_server_refuses_connections(repo: Path) -> None:
    parameters = {"protocolVersion": "2025-06-18", "capabilities": {}}
    parameters["clientInfo"] = {"name": "tests", "version": "1"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}
    headers = {"Accept": "application/json, text/event-stream"}
    async with serving(repo, **NOTICE) as served:
        begun = await served.http.post("/mcp", headers=headers, json=message)
        headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
        async with served.http.stream("GET", "/mcp", headers=headers) as answer:
            assert answer.status_code == 200
            await served.terminate()
            with contextlib.suppress(httpx2.RemoteProtocolError):  # MCP breaks it off
                [line async for line in answer.aiter_lines()]
        with pytest.raises(httpx2.ConnectError):
            await served.http.get("/healthz", headers={"Connection": "close"})


async def test_event_stream_ends_with_a_hint_to_reconnect(repo: Path) -> None:
    async with serving(repo, **NOTICE) as served:
        async with served.http.stream("GET", "/api/v1/events", params={"after": 0}) as answer:
            await served.terminate()
            lines = [line async for line in answer.aiter_lines()]
        assert lines[-2:] == ["retry: 500", ""]


async def test_second_signal_ends_the_server_at_once(repo: Path) -> None:
    env = {"TREADLE_SERVER__DRAIN_NOTICE": "600", "TREADLE_SERVER__DRAIN_LIMIT": "600"}
    process = await start(
        "serve", "--port", "0", "--json", home=repo.parent / "home", repo=repo, **env
    )
    assert process.stdout is not None
    ready = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
    async with httpx2.AsyncClient(base_url=ready["address"]) as http:
        process.send_signal(signal.SIGTERM)
        while (await http.get("/readyz")).status_code == 200:  # noqa: ASYNC110  (a process)
            await asyncio.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == -signal.SIGTERM


async def test_probes_reveal_nothing_to_strangers(repo: Path) -> None:
    async with serving(repo, "--require-token") as served:
        headers = {"Host": "10.0.0.7:7070"}
        alive = await served.http.get("/healthz", headers=headers)
        ready = await served.http.get("/readyz", headers=headers)
        assert (alive.json(), ready.json()) == (
            {"ok": True},
            {"ready": True, "draining": False, "parts": []},
        )
        other = await served.http.get("/api/v1/health", headers=headers)
        assert other.status_code == 421


@pytest.mark.parametrize("fault", [StoreError("The disk is full."), OSError("The disk is full.")])
async def test_part_that_fails_is_named(fault: Exception) -> None:
    async def fail() -> Any:
        raise fault

    async def work() -> None: ...

    states = await Readiness({"traces": fail, "bus": work}).states()
    assert [(state.name, state.ready) for state in states] == [("traces", False), ("bus", True)]
    assert "The disk is full." in str(states[0].problem)


async def test_part_that_does_not_answer_is_not_ready() -> None:
    clock = FakeClock()
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    asking = asyncio.create_task(Readiness({"traces": hang}, clock).states())
    await begun.wait()
    await clock.advance(10)
    (state,) = await asking
    assert not state.ready


async def test_parts_are_examined_at_most_once_in_a_second() -> None:
    clock, count = FakeClock(), 0

    async def examine() -> None:
        nonlocal count
        count += 1

    readiness = Readiness({"traces": examine}, clock)
    for _ in range(3):
        await readiness.states()
    assert count == 1
    await clock.advance(1.5)
    await readiness.states()
    assert count == 2


async def test_stores_that_can_be_written_are_ready(both_stores: Stores) -> None:
    both_stores.folder.mkdir()
    with open_database(both_stores.ui, NOTES) as database:
        add(database, "one")
    states = await Readiness(checks_of(both_stores, None)).states()
    assert states
    assert [state for state in states if not state.ready] == []


async def test_damaged_file_is_not_ready(tmp_path: Path) -> None:
    stores = Stores(tmp_path)
    (tmp_path / "traces.db").write_bytes(b"no database" * 1_000)
    states = await Readiness(checks_of(stores, None)).states()
    assert [state.name for state in states if not state.ready] == ["traces"]


async def test_database_server_that_is_away_is_not_ready(tmp_path: Path) -> None:
    url = f"postgresql://treadle@127.0.0.1:{free_port()}/treadle"
    (state,) = await Readiness(checks_of(Stores(tmp_path, url), None)).states()
    assert (state.name, state.ready) == ("postgresql", False)
    assert "treadle@" not in str(state.problem)
