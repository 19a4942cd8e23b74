"""Live spans: published for all processes, within a bounded time and number."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.server.exports import export, span
from tests.server.serving import Served, serving
from tests.spans.runs import span as small_span
from treadle.events import EventBus
from treadle.server.event_log import EventLog
from treadle.server.live_spans import MAX_SPANS, LiveSpans
from treadle.traces import TraceStore
from treadle.traces.store.results import Changes, SpanChange

Told = tuple[str, str, dict[str, Any]]
"""Type, id and data of a server-sent event."""


async def follow(served: Served, **parameters: Any) -> AsyncIterator[Told]:
    """The event stream. Comments are signs of life."""
    headers = parameters.pop("headers", {})
    path = "/api/v1/events"
    async with served.http.stream("GET", path, params=parameters, headers=headers) as answer:
        assert answer.status_code == 200
        fields: dict[str, str] = {}
        async for line in answer.aiter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            else:
                if "data" in fields:
                    data = json.loads(fields["data"])
                    yield fields.get("event", ""), fields.get("id", ""), data
                fields = {}


async def first(
    served: Served, wanted: Callable[[Told], bool], act: Callable[[], Any] | None = None, **how: Any
) -> Told:
    """The first matching event after `act`, which runs once the stream is open."""
    async with asyncio.timeout(60):
        stream = follow(served, **how)
        waiting = asyncio.ensure_future(_first(stream, wanted))
        await asyncio.sleep(0.3)
        if act is not None:
            await act()
        return await waiting


async def _first(stream: AsyncIterator[Told], wanted: Callable[[Told], bool]) -> Told:
    async for told in stream:
        if wanted(told):
            return told
    raise AssertionError("the stream ended")


async def send(served: Served, *numbers: int) -> None:
    body = export(*(span(number) for number in numbers))
    answer = await served.http.post("/v1/traces", json=body)
    assert answer.status_code == 200


async def test_spans_of_all_processes_are_published(repo: Path) -> None:
    async with serving(repo) as served:
        kind, number, told = await first(
            served, lambda told: told[0].startswith("Span"), lambda: send(served, 1)
        )
        assert kind == "SpanEnded"
        assert (told["trace_id"], told["span_id"]) == (f"{1:032x}", f"{1:016x}")
        assert told["revision"] > 0
        assert told["seq"] == int(number)

        async def write_elsewhere() -> None:
            store = TraceStore.open(repo.parent / "home" / "data" / "traces.db")
            store.write([small_span("other", end_us=None)]).result()
            store.close()

        kind, _, told = await first(
            served, lambda told: told[0].startswith("Span"), write_elsewhere, after=number
        )
        assert (kind, told["trace_id"], told["span_id"]) == ("SpanStarted", "trace", "other")


async def test_client_resumes_or_receives_a_gap(repo: Path) -> None:
    async with serving(repo) as served:
        _, seen, _ = await first(
            served, lambda told: told[0] == "SpanEnded", lambda: send(served, 1)
        )
        await send(served, 2)
        again: Any = {"headers": {"Last-Event-ID": seen}}
        _, _, told = await first(served, lambda told: told[0] == "SpanEnded", **again)
        assert told["span_id"] == f"{2:016x}"
    async with serving(repo) as served:  # a new log: earlier events are not saved
        kind, _, told = await first(served, lambda _: True, **again)
        assert kind == "gap"
        assert told["after"] == int(seen) < told["next"]


async def test_changes_of_a_person_are_published(repo: Path) -> None:
    async with FakeProvider([Answer("Hello.")]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "sk-local"}
        async with serving(repo, **env) as served:
            await send(served, 1, 2)

            async def delete() -> None:
                await served.http.delete(f"/api/v1/traces/{1:032x}")

            _, _, told = await first(served, lambda told: told[0] == "SpansDeleted", delete)
            assert (told["spans"], told["traces"]) == (2, 1)
            begun = await served.post("/turns", {"text": "Hi"})
            await served.ended(begun["request_id"])
            session = f"/api/v1/sessions/{begun['session_id']}"

            async def name_and_delete() -> None:
                await served.http.patch(session, json={"title": "Named"})
                await served.http.delete(session)

            seen: list[bool] = []

            def is_last(told: Told) -> bool:
                if told[0] == "ConversationChanged":
                    assert told[2]["conversation_id"] == begun["session_id"]
                    seen.append(told[2]["gone"])
                return seen[-1:] == [True]

            await first(served, is_last, name_and_delete)
            assert seen == [False, True]


class FakeStore:
    """A store that reports many spans of one write."""

    def __init__(self, count: int) -> None:
        self.count = count

    def changes(self, after: int | None, *, limit: int = 1000) -> Changes:
        if after is None:
            return Changes(self.count, (), more=False)
        told = min(self.count - after, limit)
        spans = tuple(
            SpanChange("t", f"s{number}", after + number, ended=True)
            for number in range(1, told + 1)
        )
        return Changes(after + told, spans, more=after + told < self.count)

    def on_commit(self, listener: Callable[[int], None]) -> None:
        self.listener = listener


async def test_flood_is_published_in_part_and_the_rest_counted() -> None:
    bus = EventBus()
    store = FakeStore(0)
    async with EventLog(bus) as log, LiveSpans(store, bus):
        store.count = 100_000
        store.listener(store.count)
        kinds: list[str] = []
        async with asyncio.timeout(10):
            async for told in log.follow(after=0):
                kinds.append(getattr(told, "type", "gap"))
                if kinds[-1] == "SpansLeftOut":
                    break
        assert kinds == ["SpanEnded"] * MAX_SPANS + ["SpansLeftOut"]
        last = json.loads(told.text)  # type: ignore[union-attr]
        assert last["count"] == 100_000 - MAX_SPANS
        assert last["revision"] == 100_000


@pytest.mark.parametrize("steps", range(6))
async def test_feed_ends_during_a_write(steps: int) -> None:
    store = FakeStore(0)
    async with asyncio.timeout(10) as limit:
        async with LiveSpans(store, EventBus()):
            await asyncio.sleep(0.01)  # it waits
            store.listener(1)
            for _ in range(steps):
                await asyncio.sleep(0)
    assert not limit.expired()


@pytest.mark.slow
async def test_unread_events_do_not_accumulate(repo: Path) -> None:
    async with serving(repo) as served:
        host, _, port = served.address.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1_000)
        writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        await reader.readexactly(20)
        for number in range(1, 6_000, 500):
            await send(served, *range(number, number + 500))
        assert (await served.get("/health"))["ok"]  # other clients are served meanwhile
        writer.close()
