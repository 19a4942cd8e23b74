"""Publishes new spans of all processes, within a bounded time and in bounded batches."""

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
from treadle.traces.store.results import Changes, SpanChange

TICK_SECONDS = 0.1
"""The feed publishes the spans of this period together, and each span once."""
POLL_SECONDS = 0.25
"""The seconds between two checks of the feed for spans of other processes."""
MAX_SPANS = 100
"""The maximum number of spans published in one tick. Further spans are only counted."""


class Changing(Protocol):
    """The changes that a store reports; see `SqliteTraceStore`."""

    def changes(self, after: int | None, *, limit: int = 1000) -> Changes: ...

    def on_commit(self, listener: Callable[[int], None]) -> None: ...


class LiveSpans:
    """Follows the revisions of the store until its context ends."""

    def __init__(self, store: Changing, bus: EventBus) -> None:
        self._store = store
        self._bus = bus
        self._written = asyncio.Event()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()

        def wake(_revision: int) -> None:
            with contextlib.suppress(RuntimeError):  # the loop ended before the writer
                loop.call_soon_threadsafe(self._written.set)

        self._store.on_commit(wake)
        self._seen = (await asyncio.to_thread(self._store.changes, None)).newest
        self._task = asyncio.create_task(self._follow(), name="live spans")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _follow(self) -> None:
        while True:
            # Not `wait_for`: in Python 3.11 it loses a cancellation that comes at its end.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._written.wait()
            self._written.clear()
            # A failed read is repeated later, since `_seen` has not changed.
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
        """Continue with the newest revision, and publish the number of skipped spans."""
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
    """The request id of a trace: its own id if this is a UUID, or an id derived from it."""
    try:
        return UUID(hex=trace_id)
    except ValueError:
        return uuid5(NAMESPACE_OID, trace_id)
