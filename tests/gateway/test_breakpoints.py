"""Calls that are held until a person decides, and their state after a restart."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.fakes.clock import FakeClock, settle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.gateway.running import MESSAGES, Running, eventually, running, settings
from treadle.app.stores import Stores
from treadle.database import PostgresAddress, open_database
from treadle.errors import NotFoundError, UsageError
from treadle.events.types import Notice
from treadle.gateway.breakpoint_store import SCHEMA, BreakpointStore, Held, HeldState


async def held(gateway: Running) -> Held:
    """The one waiting call."""
    await eventually(lambda: len(gateway.gateway.breakpoints.held(HeldState.WAITING)) == 1)
    return gateway.gateway.breakpoints.held(HeldState.WAITING)[0]


async def test_a_held_call_continues(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("Hello")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        notices = gateway.bus.subscribe(Notice)
        point = await gateway.gateway.breakpoints.add()
        calling = asyncio.create_task(gateway.chat(headers={"x-thread-id": "t"}))
        waiting = await held(gateway)
        told = await asyncio.wait_for(anext(notices), 10)
        notices.close()
        assert provider.requests == []
        assert (waiting.breakpoint_id, waiting.model) == (point.id, "fake/m")
        assert json.loads(waiting.body)["messages"] == MESSAGES
        await gateway.gateway.breakpoints.go_on(waiting.id)
        answer = await calling
        spans = await gateway.spans(answer.headers["x-trace-id"], 3)
        with pytest.raises(UsageError, match="is no longer held: its state is continued"):
            await gateway.gateway.breakpoints.go_on(waiting.id)
    assert answer.status_code == 200
    assert answer.headers["x-treadle-held"] == "continued"
    assert isinstance(told.event, Notice)
    assert waiting.id in told.event.text
    step = next(span for span in spans if span.parent_id is None)
    assert answer.headers["x-span-id"] == step.span_id
    kinds = sorted((s.kind, s.status) for s in spans if s.parent_id == step.span_id)
    assert kinds == [("approval", "ok"), ("model", "ok")]


async def test_an_edited_call_is_sent_edited_and_recorded_with_both(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("Hello")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        await gateway.gateway.breakpoints.add()
        calling = asyncio.create_task(gateway.chat())
        waiting = await held(gateway)
        with pytest.raises(UsageError, match="not a JSON object"):
            await gateway.gateway.breakpoints.go_on(waiting.id, b"no json")
        edited = json.loads(waiting.body)
        edited["messages"] = [{"role": "user", "content": "Edited"}]
        content = json.dumps(edited).encode()
        await gateway.gateway.breakpoints.go_on(waiting.id, content)
        answer = await calling
        spans = await gateway.spans(answer.headers["x-trace-id"], 3)
    assert provider.requests[0].messages == [{"role": "user", "content": "Edited"}]
    model = next(span for span in spans if span.kind == "model")
    approval = next(span for span in spans if span.kind == "approval")
    assert json.loads(model.input or "")[0]["content"] == "Edited"
    assert json.loads(approval.input or "")["messages"] == MESSAGES
    original = str(approval.attributes["treadle.breakpoint.original_request"])
    assert json.loads(original)["messages"] == MESSAGES
    assert approval.output == "edited"


async def test_a_refused_call_gets_the_reason(tmp_path: Path) -> None:
    async with FakeProvider() as provider, running(tmp_path, settings(provider)) as gateway:
        await gateway.gateway.breakpoints.add()
        calling = asyncio.create_task(gateway.chat())
        waiting = await held(gateway)
        await gateway.gateway.breakpoints.refuse(waiting.id, "too dear")
        answer = await calling
        spans = await gateway.spans(answer.headers["x-trace-id"], 2)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "refused_at_breakpoint"
    assert "too dear" in answer.json()["error"]["message"]
    assert {(span.kind, span.status) for span in spans} == {
        ("agent", "denied"), ("approval", "denied"),
    }  # fmt: skip


@pytest.mark.parametrize(("expiry", "status"), [("continue", 200), ("refuse", 403)])
async def test_an_expired_call_is_decided_by_the_setting(
    tmp_path: Path, expiry: str, status: int
) -> None:
    clock = FakeClock()
    points = {"timeout": "10s", "on_expiry": expiry}
    async with FakeProvider([Answer("a")] * (status == 200)) as provider:
        config = settings(provider, breakpoints=points)
        async with running(tmp_path, config, clock=clock) as gateway:
            await gateway.gateway.breakpoints.add()
            calling = asyncio.create_task(gateway.chat())
            waiting = await held(gateway)
            await eventually(lambda: clock.sleeping == 1)
            await clock.advance(9)
            assert not calling.done()
            await clock.advance(2)
            answer = await calling
            await eventually(
                lambda: gateway.gateway.breakpoints.one_held(waiting.id).state == "expired"
            )
    assert answer.status_code == status
    assert waiting.expires_us - waiting.at_us == 10_000_000


@pytest.mark.parametrize(
    ("rule", "call", "holds"),
    [
        ({}, {}, True),
        ({"enabled": False}, {}, False),
        ({"labels": ("a*",)}, {"headers": {"x-label": "b,ab"}}, True),
        ({"labels": ("a*",)}, {"headers": {"x-label": "b"}}, False),
        ({"thread_id": "t"}, {"headers": {"x-thread-id": "t"}}, True),
        ({"thread_id": "t"}, {}, False),
        ({"model": "fake/*"}, {}, True),
        ({"model": "gpt-*"}, {}, False),
        ({"model": "fake/*", "thread_id": "t"}, {}, False),
    ],
)
async def test_breakpoints_hold_matching_calls(
    tmp_path: Path, rule: dict[str, Any], call: dict[str, Any], holds: bool
) -> None:
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        await gateway.gateway.breakpoints.add(**rule)
        calling = asyncio.create_task(gateway.chat(**call))
        if holds:
            await gateway.gateway.breakpoints.go_on((await held(gateway)).id)
        assert (await calling).status_code == 200
        assert len(gateway.gateway.breakpoints.held()) == holds


async def test_breakpoints_survive_a_restart_unlike_held_calls(
    tmp_path: Path,
) -> None:
    async with FakeProvider() as provider, httpx2.AsyncClient() as own:
        config = settings(provider)
        async with running(tmp_path, config) as gateway:
            points = gateway.gateway.breakpoints
            kept = await points.add(labels=("l",), timeout=60.0, on_expiry="refuse")
            gone = await points.add(model="x")
            await points.remove(gone.id)
            changed = await points.change(kept.id, thread_id="t")
            secret = "sk-proj-" + "Ab1" * 14
            calling = asyncio.create_task(
                own.post(
                    f"{gateway.url}/chat/completions",
                    json={"model": "m", "messages": [{"role": "user", "content": secret}]},
                    headers={"x-label": "l", "x-thread-id": "t"},
                )
            )
            waiting = await held(gateway)
            assert secret in waiting.body
            with pytest.raises(NotFoundError):
                await points.remove(gone.id)
        await asyncio.gather(calling, return_exceptions=True)
        async with running(tmp_path, config) as gateway:
            assert gateway.gateway.breakpoints.all() == [changed]
            (after,) = gateway.gateway.breakpoints.held()
            with pytest.raises(UsageError, match="is no longer held: its state is lost"):
                await gateway.gateway.breakpoints.go_on(after.id)
    assert (after.id, after.state, after.on_expiry) == (waiting.id, HeldState.LOST, "refuse")
    assert secret not in after.body
    assert after.decided_us is not None


async def test_a_call_whose_client_leaves_is_cancelled(tmp_path: Path) -> None:
    async with FakeProvider() as provider, running(tmp_path, settings(provider)) as gateway:
        await gateway.gateway.breakpoints.add()
        calling = asyncio.create_task(gateway.chat())
        waiting = await held(gateway)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        points = gateway.gateway.breakpoints
        await eventually(lambda: points.one_held(waiting.id).state == "cancelled")
        await eventually(lambda: bool(gateway.store.spans().data))
        spans = await gateway.spans(waiting.trace_id, 2)
    assert {(span.kind, span.status) for span in spans} == {
        ("agent", "cancelled"), ("approval", "cancelled"),
    }  # fmt: skip


async def test_an_unreadable_file_does_not_stop_the_gateway(tmp_path: Path) -> None:
    (tmp_path / "breakpoints.db").write_bytes(b"no database" * 100)
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        assert gateway.gateway.breakpoints.broken
        await gateway.gateway.breakpoints.add(model="other")
        assert (await gateway.chat()).status_code == 200
        await settle()


BAD_ROWS = (
    "not JSON",
    "[]",
    '{"id": "b"}',
    '{"id": "b", "labels": 5}',
    '{"id": "b", "labels": [], "model": {}}',
    '{"state": "unknown", "labels": []}',
    "[" * 100_000,
)


async def test_an_unreadable_row_does_not_hide_the_others(
    tmp_path: Path, both_stores: Stores
) -> None:
    address = both_stores.breakpoints
    async with FakeProvider([Answer("a")]) as provider:
        config = settings(provider)
        async with running(tmp_path, config, breakpoints=address) as gateway:
            await gateway.gateway.breakpoints.add(model="other")
            old = await gateway.gateway.breakpoints.add(model="x", labels=("a",))
            calling = asyncio.create_task(gateway.chat(model="fake/other"))
            await gateway.gateway.breakpoints.add(model="fake/other")
            await gateway.gateway.breakpoints.go_on((await held(gateway)).id)
            await calling
        with open_database(address, SCHEMA) as opened, opened.transaction() as database:
            half = json.dumps({"id": old.id, "labels": ["\ud800"], "model": "x"})
            database.execute("UPDATE breakpoints SET data = ? WHERE id = ?", (half, old.id))
            for number, row in enumerate(BAD_ROWS):
                database.execute("INSERT INTO breakpoints VALUES (?, ?)", (f"bad{number}", row))
                values = (f"bad{number}", "waiting", row)
                database.execute("INSERT INTO held VALUES (?, ?, ?)", values)
        async with running(tmp_path, config, breakpoints=address) as gateway:
            points = gateway.gateway.breakpoints
            assert points.broken is None
            kept = {each.model: each.labels for each in points.all() if each.id != "b"}
            assert kept == {"other": (), "x": ("?",), "fake/other": ()}
            assert [each.model for each in points.held()] == ["fake/other"]


def kept_bytes(folder: Path) -> bytes:
    """All data of breakpoints and held calls on disk."""
    return b"".join(path.read_bytes() for path in folder.glob("breakpoints.db*"))


async def test_no_key_of_a_held_call_is_stored(tmp_path: Path) -> None:
    secret, own = "sk-proj-" + "Ab1" * 14, "brought-key-9f8e7d6c"
    headers = {"x-label": secret, "x-thread-id": secret, "authorization": f"Bearer {own}"}
    async with (
        FakeProvider([Answer("Hello")], strict=False) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        await gateway.gateway.breakpoints.add()
        asking = gateway.chat(model=f"fake/{secret}", user=own, headers=headers)
        calling = asyncio.create_task(asking)
        waiting = await held(gateway)
        await gateway.gateway.breakpoints.go_on(waiting.id, b'{"model": "fake/m"}')
        answer = await calling
        spans = await gateway.spans(answer.headers["x-trace-id"], 3)
    assert own in waiting.body
    for text in (secret, own):
        assert not any(text in str(span.to_json()) for span in spans)
        assert text.encode() not in kept_bytes(tmp_path)


async def test_memory_has_a_limited_number_of_ended_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle.gateway.breakpoints.KEPT", 2)
    async with (
        FakeProvider([Answer("Hello")] * 3) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        await gateway.gateway.breakpoints.add()
        ids = []
        for _ in range(3):
            calling = asyncio.create_task(gateway.chat())
            waiting = await held(gateway)
            ids.append(waiting.id)
            await gateway.gateway.breakpoints.go_on(waiting.id)
            await calling
        assert [each.id for each in gateway.gateway.breakpoints.held()] == [ids[2], ids[1]]


WAITING = Held("decided", "b", HeldState.WAITING, "chat", "m", 1, 5, "refuse", "t")


def test_calls_that_another_server_may_hold_are_not_lost(both_stores: Stores) -> None:
    store = BreakpointStore.open(both_stores.breakpoints)
    for held_id, expires_us in (("expired", 5), ("waiting", 20)):
        store.save_held(replace(WAITING, id=held_id, expires_us=expires_us))
    store.save_held(replace(WAITING, state=HeldState.REFUSED))
    store.save_held(WAITING)  # the task that stores the beginning of a call can be late
    store.lose_waiting(10)
    states = store.held_states()
    store.close()
    shared = isinstance(both_stores.breakpoints, PostgresAddress)
    assert states == {
        "decided": HeldState.REFUSED,
        "expired": HeldState.LOST,
        "waiting": HeldState.WAITING if shared else HeldState.LOST,
    }
