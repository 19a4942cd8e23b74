"""Publishes new spans of all processes on the server's bus, with bounded delay and volume."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Protocol, Self
from uuid import NAMESPACE_OID, UUID, uuid5

from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.events.changes import SpanEnded, SpansLeftOut, SpanStarted
from treadle.events.types import Event
from treadle.ids import NO_REQUEST
from treadle.server.store_changes import SharedStore, StoreChanges
from treadle.traces.store.results import Changes, SpanChange

TICK_SECONDS = 0.1
"""The minimum time in seconds between two publications.

All changes of a span in this time are published as one event.
"""
POLL_SECONDS = 0.25
"""Seconds between two checks for spans that other processes wrote."""
MAX_SPANS = 100
"""The maximum number of spans in one publication. For further spans, only a count is published."""


class Changing(Protocol):
    """The methods of a store that report changed spans. `TraceStore` documents them."""

    def changes(self, after: int | None, *, limit: int = 1000) -> Changes: ...

    def on_commit(self, listener: Callable[[int], None]) -> None: ...


class LiveSpans:
    """Publishes the changed spans of a store until its context ends."""

    def __init__(
        self,
        store: Changing,
        bus: EventBus,
        changes: StoreChanges | None = None,
        *,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        """Read the store after each signal of `changes`, and every `poll_seconds`."""
        self._store = store
        self._bus = bus
        changes = changes or StoreChanges()
        self._report = changes.reporter(SharedStore.SPANS)
        self._wait = changes.wait(SharedStore.SPANS, poll_seconds)

    async def __aenter__(self) -> Self:
        self._store.on_commit(lambda _: self._report())
        self._seen = (await asyncio.to_thread(self._store.changes, None)).newest
        self._task = asyncio.create_task(self._follow(), name="live spans")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _follow(self) -> None:
        while True:
            await self._wait()
            # After an error, `_seen` is unchanged, so the next iteration repeats the read.
            with contextlib.suppress(StoreError):
                await self._publish()
            await asyncio.sleep(TICK_SECONDS)

    async def _publish(self) -> None:
        changes = await asyncio.to_thread(self._store.changes, self._seen, limit=MAX_SPANS)
        for change in changes.spans:
            await self._bus.publish(_event(change))
        self._seen = changes.newest
        if changes.more:
            await self._skip()

    async def _skip(self) -> None:
        """Skip to the newest revision, and publish the number of skipped changes."""
        before = self._seen
        newest: Changes = await asyncio.to_thread(self._store.changes, None)
        self._seen = newest.newest
        count = self._seen - before
        await self._bus.publish(
            SpansLeftOut(request_id=NO_REQUEST, count=count, revision=self._seen)
        )


def _event(change: SpanChange) -> Event:
    kind = SpanEnded if change.ended else SpanStarted
    return kind(
        request_id=_request(change.trace_id),
        trace_id=change.trace_id,
        span_id=change.span_id,
        revision=change.revision,
    )


def _request(trace_id: str) -> UUID:
    """Return a trace's id as a UUID. If it is not a UUID, return a UUID derived from it."""
    try:
        return UUID(hex=trace_id)
    except ValueError:
        return uuid5(NAMESPACE_OID, trace_id)
